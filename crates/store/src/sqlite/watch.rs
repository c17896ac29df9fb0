//! Whether anything was committed, by any process, for the price of one system call.
//!
//! In WAL mode every commit ends by rewriting the header of the log's index, the file `-shm` that all processes map into
//! memory: two copies, the second first, with a counter of commits, the log's length, its salts and a checksum. SQLite
//! itself compares these bytes to learn whether a snapshot is old. Here they are read with one `pread`, from memory
//! (a mapped file and `pread` see the same pages), and only ever compared for equality, so their layout does not matter.
//! `PRAGMA data_version` would tell the same, but takes and releases a lock of the file system to do so.
//!
//! When the file cannot be read, or its two copies differ since a commit is on its way, the answer is "perhaps", and the
//! reader looks at the file itself.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

/// A state of the log that can be told from every other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark([u8; COPY]);

/// One copy of the header.
const COPY: usize = 48;

/// Looks at one file's log.
pub(super) struct Watch {
    index: Option<Arc<File>>,
}

/// Every index this process has open, by device and number.
type Indexes = HashMap<(u64, u64), Weak<File>>;

/// Held while a store is opened.
pub(super) type Opening = MutexGuard<'static, Indexes>;

/// Closing any descriptor of a file drops this process's POSIX locks on it, SQLite's among them. So each index is opened
/// once per process however many stores use it, it is closed after the last connection, and nothing is opened while that
/// happens.
static OPEN: LazyLock<Mutex<Indexes>> = LazyLock::new(Mutex::default);

pub(super) fn opening() -> Opening {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    /// Watches the log of the database at `path`, which is open already.
    pub(super) fn of(path: &Path, open: &mut Opening) -> Self {
        let mut name = OsString::from(path);
        name.push("-shm");
        let index = std::fs::metadata(&name).ok().and_then(|meta| {
            let key = (meta.dev(), meta.ino());
            open.retain(|_, file| file.strong_count() > 0);
            if let Some(file) = open.get(&key).and_then(Weak::upgrade) {
                return Some(file);
            }
            let file = Arc::new(File::open(&name).ok()?);
            open.insert(key, Arc::downgrade(&file));
            Some(file)
        });
        Self { index }
    }

    /// The state of the log now, if it is certain.
    pub(super) fn mark(&self) -> Option<Mark> {
        let mut header = [0; 2 * COPY];
        let read = self.index.as_ref()?.read_at(&mut header, 0).ok()?;
        let (first, second) = header.split_first_chunk::<COPY>()?;
        (read == header.len() && first.as_slice() == second).then_some(Mark(*first))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _nothing_opens = opening();
        self.index = None;
    }
}
