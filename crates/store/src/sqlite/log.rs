//! Room in the log, so that a change waits for its own bytes and not for the file to grow.
//!
//! SQLite writes its log over again after each copying back, but a file that grows makes the disk wait for more than the
//! bytes: for its new length and where they lie. So the log is given, once, the length that the changes between two
//! copyings take, in zeros: a frame that begins with zeros is none, wherever the log is read.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::failure::{failed, io};
use crate::StoreError;

/// The most that the changes between two copyings take, if they come one by one.
const ROOM: u64 = 4 << 20;

static ZEROS: [u8; 256 << 10] = [0; 256 << 10];

/// The log of the database at `path`.
pub(super) fn of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push("-wal");
    name.into()
}

/// Lengthens the log if it is short. When there is no room for that, it stays as it was.
pub(super) fn make_room(conn: &mut Connection, log: &Path) -> Result<(), StoreError> {
    // Whoever holds the right to write is the only one who appends to the log, in whatever process.
    let alone = Transaction::new(conn, TransactionBehavior::Immediate).map_err(failed)?;
    let lengthened = lengthen(log);
    alone.rollback().map_err(failed)?;
    lengthened.map_err(|error| io("the log cannot be lengthened", &error))
}

fn lengthen(log: &Path) -> std::io::Result<()> {
    // SQLite's locks are on the database and on the log's index, so that closing this descriptor drops none of them.
    let file = OpenOptions::new().write(true).open(log)?;
    let length = file.metadata()?.len();
    let mut end = length;
    let mut written = Ok(());
    while written.is_ok() && end < ROOM {
        let missing = usize::try_from(ROOM - end).unwrap_or(usize::MAX);
        let zeros = ZEROS.get(..missing).unwrap_or(&ZEROS);
        written = file.write_all_at(zeros, end);
        end += zeros.len() as u64;
    }
    if end == length {
        return Ok(());
    }
    if written.is_err() {
        file.set_len(length)?;
    }
    file.sync_all()?;
    written
}
