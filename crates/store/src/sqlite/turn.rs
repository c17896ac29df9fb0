//! One turn at writing: begun, and then committed or given up.
//!
//! It is rusqlite's transaction with statements that are prepared once. Preparing `BEGIN` and `COMMIT` anew for each change is a
//! good part of what a change costs beside the disk.

use std::ops::Deref;

use rusqlite::Connection;

use super::failure::failed;
use crate::StoreError;

/// The right to write, and what was written with it. Dropped, it leaves no trace.
pub(super) struct Turn<'conn> {
    conn: &'conn Connection,
}

impl<'conn> Turn<'conn> {
    /// Waits for the right to write. A turn that a panic left open is given up first.
    pub(super) fn begin(conn: &'conn mut Connection) -> Result<Self, StoreError> {
        if !conn.is_autocommit() {
            execute(conn, "ROLLBACK")?;
        }
        execute(conn, "BEGIN IMMEDIATE")?;
        Ok(Self { conn })
    }

    pub(super) fn commit(self) -> Result<(), StoreError> {
        execute(self.conn, "COMMIT")
    }
}

impl Deref for Turn<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.conn
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // SQLite gives some turns up by itself. If this fails, the next turn tries again before it begins.
        if !self.conn.is_autocommit() {
            let _ = execute(self.conn, "ROLLBACK");
        }
    }
}

/// Runs a statement that gives no rows.
pub(super) fn execute(conn: &Connection, sql: &str) -> Result<(), StoreError> {
    conn.prepare_cached(sql)
        .and_then(|mut statement| statement.execute([]))
        .map_err(failed)?;
    Ok(())
}
