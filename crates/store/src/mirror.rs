//! A file per private session that other programs can look at.
//!
//! `DIR/<user>/<session>/.private_data` says in JSON what the session holds; where nothing private entered there is no
//! file. The store stays the truth: the mirror is written after it, and a program that must be sure asks the gateway. Files
//! are replaced whole, by rename, so a reader never sees half of one. Every component under DIR is opened by its
//! parent's descriptor without following links, so nobody who can write there leads a file elsewhere.

use std::ffi::CStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use tidegate_core::{Class, Ident, Moment};

use crate::Session;
use crate::placement::{Misplaced, refuse_inside};

/// Writes the mirror of sessions under one directory.
#[derive(Debug)]
pub struct Mirror {
    dir: PathBuf,
}

/// Why a mirror could not be written. The session itself is safe in the store.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError {
    /// A directory or file under the mirror's directory is a link or something else that was not put there by it.
    #[error("something in the mirror's directory is not a plain file or directory")]
    Link,
    /// Another program held the session's directory for too long.
    #[error("another program holds the session's directory in the mirror")]
    Busy,
    /// The system refused.
    #[error("the mirror cannot be written: {0}")]
    Io(std::io::ErrorKind),
}

const FILE: &CStr = c".private_data";
const NEW: &CStr = c".private_data.new";
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// A full list of datasets with the longest names stays well below this.
const LARGEST_FILE: u64 = 4 << 20;

impl Mirror {
    /// A mirror under `dir`, which is created (mode 0700) when it is not there.
    ///
    /// # Errors
    /// When the directory cannot be created or read.
    pub fn new(dir: impl Into<PathBuf>) -> Result<Self, MirrorError> {
        let dir = dir.into();
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir);
        made.map_err(|error| MirrorError::Io(error.kind()))?;
        let dir = dir
            .canonicalize()
            .map_err(|error| MirrorError::Io(error.kind()))?;
        Ok(Self { dir })
    }

    /// Refuses a mirror that an agent's tools can reach: inside a workspace, or around one.
    ///
    /// # Errors
    /// When it lies inside one of `workspaces`, or one of them inside it, or one cannot be resolved.
    pub fn refuse_inside(&self, workspaces: &[impl AsRef<Path>]) -> Result<(), Misplaced> {
        refuse_inside(&self.dir, workspaces)
    }

    /// Writes what the session holds. It never takes anything back: when calls for one session overtake each other, the
    /// higher state stands. A session with nothing private changes nothing.
    ///
    /// # Errors
    /// When the file cannot be written; then the old one is as it was.
    pub fn write(&self, session: &Session) -> Result<(), MirrorError> {
        if !session.context.label().is_private() {
            return Ok(());
        }
        let dir = self.locked(session)?;
        let written = Mirrored::of(session);
        if existing(&dir)?.is_some_and(|known| known.reach() > written.reach()) {
            return Ok(());
        }
        replace(&dir, &written)
    }

    /// Writes the session as it is after a reset, which may be lower: without private data there is no file.
    ///
    /// # Errors
    /// When the file cannot be removed or written.
    pub fn reset(&self, session: &Session) -> Result<(), MirrorError> {
        let dir = self.locked(session)?;
        if session.context.label().is_private() {
            return replace(&dir, &Mirrored::of(session));
        }
        match rustix::fs::unlinkat(&dir, FILE, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => rustix::fs::fsync(&dir).map_err(failed),
            Err(error) => Err(failed(error)),
        }
    }

    /// The session's directory, held against other processes.
    fn locked(&self, session: &Session) -> Result<OwnedFd, MirrorError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let base = rustix::fs::open(&self.dir, flags, Mode::empty()).map_err(failed)?;
        let user = enter(&base, &session.user)?;
        let dir = enter(&user, &session.id)?;
        let since = Instant::now();
        loop {
            match rustix::fs::flock(&dir, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(dir),
                Err(Errno::WOULDBLOCK) if since.elapsed() < LONGEST_WAIT => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(Errno::WOULDBLOCK) => return Err(MirrorError::Busy),
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

/// The file's content. The names are read by other programs: fields may be added, these stay.
#[derive(Serialize, Deserialize)]
struct Mirrored {
    user_id: String,
    session_id: String,
    has_private_data: bool,
    sensitivity: String,
    private_datasets: Vec<String>,
    datasets: Vec<MirroredDataset>,
    contaminated_at: Option<String>,
    contamination_source: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct MirroredDataset {
    name: String,
    sensitivity: String,
}

impl Mirrored {
    fn of(session: &Session) -> Self {
        let context = &session.context;
        let private = context.datasets().iter().filter(|set| set.class > Class::Public);
        let datasets = context.datasets().iter().map(|set| MirroredDataset {
            name: set.name.as_str().to_owned(),
            sensitivity: set.class.as_str().to_owned(),
        });
        Self {
            user_id: session.user.as_str().to_owned(),
            session_id: session.id.as_str().to_owned(),
            has_private_data: context.label().is_private(),
            sensitivity: context.label().class().as_str().to_owned(),
            private_datasets: private.map(|set| set.name.as_str().to_owned()).collect(),
            datasets: datasets.collect(),
            contaminated_at: context.contaminated_at().and_then(date),
            contamination_source: context
                .contamination_source()
                .map(|name| name.as_str().to_owned()),
        }
    }

    /// How much it says: between two resets a later state of a session never says less.
    fn reach(&self) -> (Option<Class>, usize, Vec<Option<Class>>) {
        let classes = self.datasets.iter().map(|set| set.sensitivity.parse().ok());
        (
            self.sensitivity.parse().ok(),
            self.datasets.len(),
            classes.collect(),
        )
    }
}

fn date(at: Moment) -> Option<String> {
    jiff::Timestamp::from_millisecond(at.0)
        .ok()
        .map(|at| at.to_string())
}

/// The directory of that name, created when it is not there. A link in its place is refused.
fn enter(parent: &OwnedFd, name: &Ident) -> Result<OwnedFd, MirrorError> {
    match rustix::fs::mkdirat(parent, name.as_str(), Mode::RWXU) {
        Ok(()) => rustix::fs::fsync(parent).map_err(failed)?,
        Err(Errno::EXIST) => {}
        Err(error) => return Err(failed(error)),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name.as_str(), flags, Mode::empty()).map_err(failed)
}

/// What the file says now; nothing when there is none or it is not one of ours, which is then replaced.
fn existing(dir: &OwnedFd) -> Result<Option<Mirrored>, MirrorError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(dir, FILE, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut text = Vec::new();
    let read = file.take(LARGEST_FILE).read_to_end(&mut text);
    read.map_err(|error| MirrorError::Io(error.kind()))?;
    Ok(serde_json::from_slice(&text).ok())
}

/// Atomic and durable: the new content is on disk before it has the name.
fn replace(dir: &OwnedFd, content: &Mirrored) -> Result<(), MirrorError> {
    let mut text =
        serde_json::to_vec(content).map_err(|_| MirrorError::Io(std::io::ErrorKind::InvalidData))?;
    text.push(b'\n');
    // What a process that was killed here before left behind; the lock says that nobody writes it now.
    match rustix::fs::unlinkat(dir, NEW, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(failed(error)),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(dir, NEW, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?);
    file.write_all(&text)
        .and_then(|()| file.sync_all())
        .map_err(|error| MirrorError::Io(error.kind()))?;
    rustix::fs::renameat(dir, NEW, dir, FILE).map_err(failed)?;
    rustix::fs::fsync(dir.as_fd()).map_err(failed)
}

fn failed(error: Errno) -> MirrorError {
    match error {
        Errno::LOOP | Errno::NOTDIR => MirrorError::Link,
        error => MirrorError::Io(error.kind()),
    }
}
