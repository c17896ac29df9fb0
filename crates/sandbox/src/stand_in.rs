//! A file that takes a name in the workspace for as long as programs run there, so that none of them makes a file of that name.
//!
//! A mount needs a file to lie on, and that file is the host's. It is there with its whole text or not at all, and goes with the
//! last one that holds it. One that was left behind, because its holder was killed, is taken over by the next.
//!
//! Removing the file takes the mount on it away wherever it is mounted. Commands end with their holder, so nothing is mounted on
//! what was left behind. A container does not: whoever makes one marks the file by its mode, and what is marked stays until
//! somebody has seen that no container is left.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a name is tried that others take and leave at the same time.
const TRIES: usize = 100;

/// How long before the next try where somebody keeps the file to himself. Holders do so for a moment only.
const PAUSE: Duration = Duration::from_millis(20);

/// The mode of a stand-in, and of one on which a container may have a mount.
const MODE: u32 = 0o644;
const MARKED: u32 = 0o444;

/// A name that is taken.
#[derive(Debug)]
pub(crate) struct StandIn {
    place: PathBuf,
    text: String,
    file: File,
    /// Whether nobody else held it when it was taken.
    pub(crate) is_alone: bool,
}

impl StandIn {
    /// Takes a name; nothing where there is a file that is none of these.
    pub(crate) fn take(place: &Path, text: &str) -> io::Result<Option<Self>> {
        let mut is_locked = false;
        for _ in 0..TRIES {
            if is_locked {
                std::thread::sleep(PAUSE);
            }
            let file = match open(place) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    make(place, text)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if !says(&file, text)? {
                return Ok(None);
            }
            let held = hold(&file)?;
            is_locked = held.is_none();
            let taken = held.map(|is_alone| Self {
                place: place.to_owned(),
                text: text.to_owned(),
                file,
                is_alone,
            });
            if let Some(taken) = taken.filter(Self::is_there) {
                return Ok(Some(taken));
            }
        }
        Err(io::Error::other(if is_locked {
            "another program keeps it locked"
        } else {
            "others take and leave it all the time"
        }))
    }

    /// Where it is.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// Says that a container may have a mount on it, or that none has any more.
    pub(crate) fn mark(&self, is_contained: bool) -> io::Result<()> {
        let mode = if is_contained { MARKED } else { MODE };
        self.file.set_permissions(Permissions::from_mode(mode))
    }

    fn is_marked(&self) -> bool {
        let is_marked = |there: fs::Metadata| there.mode() & MODE == MARKED;
        self.file.metadata().map_or(true, is_marked)
    }

    /// Whether the file that is held is the one that has the name.
    fn is_there(&self) -> bool {
        let which = |there: fs::Metadata| (there.dev(), there.ino());
        let held = self.file.metadata().map(which);
        let there = fs::symlink_metadata(&self.place).map(which);
        matches!((held, there), (Ok(held), Ok(there)) if held == there)
    }
}

impl Drop for StandIn {
    /// Whoever takes it meanwhile tries again and then sees that it is gone. What somebody wrote into it stays.
    fn drop(&mut self) {
        let is_last = self.file.try_lock().is_ok();
        let is_unchanged = || {
            open(&self.place)
                .and_then(|file| says(&file, &self.text))
                .unwrap_or(false)
        };
        if is_last && !self.is_marked() && self.is_there() && is_unchanged() {
            let _ = fs::remove_file(&self.place);
        }
    }
}

/// Holds a file together with others, and says whether nobody else did; nothing while somebody keeps it to himself.
fn hold(file: &File) -> io::Result<Option<bool>> {
    let locked = |tried: Result<(), TryLockError>| match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    };
    let is_alone = locked(file.try_lock())?;
    Ok(locked(file.try_lock_shared())?.then_some(is_alone))
}

fn open(place: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags).open(place)
}

fn says(file: &File, text: &str) -> io::Result<bool> {
    let (mut said, most) = (Vec::new(), text.len().saturating_add(1));
    file.take(u64::try_from(most).unwrap_or(u64::MAX))
        .read_to_end(&mut said)?;
    Ok(said == text.as_bytes())
}

fn make(place: &Path, text: &str) -> io::Result<()> {
    let directory = place.parent().unwrap_or(Path::new("/"));
    let mut made = tempfile::Builder::new()
        .prefix(".tidegate-")
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(directory)?;
    made.write_all(text.as_bytes())?;
    match made.persist_noclobber(place) {
        Err(refused) if refused.error.kind() != ErrorKind::AlreadyExists => Err(refused.error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# nothing\n";

    #[test]
    fn a_name_is_taken_until_the_last_leaves_and_what_others_wrote_stays() {
        let own = tempfile::tempdir().unwrap();
        let place = own.path().join("name");
        let take = || StandIn::take(&place, TEXT).unwrap();
        let (first, second) = (take(), take());
        assert!(first.is_some() && second.is_some());
        drop(first);
        assert_eq!(fs::read_to_string(&place).unwrap(), TEXT);
        drop(second);
        assert_eq!(fs::read_dir(own.path()).unwrap().count(), 0);

        fs::write(&place, TEXT).unwrap();
        drop(take().unwrap());
        assert!(!place.exists(), "one that was left behind goes with the next");

        for replaced in [false, true] {
            let held = take().unwrap();
            if replaced {
                fs::remove_file(&place).unwrap();
            }
            fs::write(&place, "somebody's").unwrap();
            drop(held);
            assert_eq!(fs::read_to_string(&place).unwrap(), "somebody's");
            assert!(take().is_none());
            fs::remove_file(&place).unwrap();
        }
    }

    #[test]
    fn what_a_container_uses_stays_until_it_is_known_that_none_does() {
        let own = tempfile::tempdir().unwrap();
        let place = own.path().join("name");
        let take = || StandIn::take(&place, TEXT).unwrap().unwrap();
        let (contained, beside) = (take(), take());
        assert!(contained.is_alone && !beside.is_alone);
        contained.mark(true).unwrap();
        drop(contained);
        drop(beside);
        drop(take());
        assert!(place.exists(), "nobody has looked for the container");
        let next = take();
        assert!(next.is_alone);
        next.mark(false).unwrap();
        drop(next);
        assert!(!place.exists());
    }

    #[test]
    fn a_name_that_somebody_keeps_locked_is_not_waited_for_without_end() {
        let own = tempfile::tempdir().unwrap();
        let place = own.path().join("name");
        fs::write(&place, TEXT).unwrap();
        let other = open(&place).unwrap();
        other.lock().unwrap();
        let refused = StandIn::take(&place, TEXT).unwrap_err();
        assert!(refused.to_string().contains("keeps it locked"), "{refused}");
        other.unlock().unwrap();
        assert!(StandIn::take(&place, TEXT).unwrap().is_some());
    }

    #[test]
    fn those_who_come_and_go_at_once_always_hold_what_is_there() {
        let own = tempfile::tempdir().unwrap();
        let place = own.path().join("name");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let held = StandIn::take(&place, TEXT).unwrap().unwrap();
                        assert!(held.is_there());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(own.path()).unwrap().count(), 0);
    }
}
