//! A file that takes a name in the workspace for as long as programs run there, so that none of them makes a file of that name.
//!
//! A mount needs a file to lie on, and that file is the host's. It is there with its whole text or not at all, and goes with the
//! last one that holds it. One that was left behind, because its holder was killed, is taken over by the next.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// How often a name is tried that others take and leave at the same time.
const TRIES: usize = 100;

/// A name that is taken.
#[derive(Debug)]
pub(crate) struct StandIn {
    place: PathBuf,
    text: String,
    file: File,
}

impl StandIn {
    /// Takes a name; nothing where there is a file that is none of these.
    pub(crate) fn take(place: &Path, text: &str) -> io::Result<Option<Self>> {
        for _ in 0..TRIES {
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
            file.lock_shared()?;
            let taken = Self {
                place: place.to_owned(),
                text: text.to_owned(),
                file,
            };
            if taken.is_there() {
                return Ok(Some(taken));
            }
        }
        Err(io::Error::other("others take and leave it all the time"))
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
    /// Whoever takes it meanwhile waits for the lock and then sees that it is gone. What somebody wrote into it stays.
    fn drop(&mut self) {
        let is_last = self.file.try_lock().is_ok();
        let is_unchanged = || {
            open(&self.place)
                .and_then(|file| says(&file, &self.text))
                .unwrap_or(false)
        };
        if is_last && self.is_there() && is_unchanged() {
            let _ = fs::remove_file(&self.place);
        }
    }
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
        .permissions(Permissions::from_mode(0o644))
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
