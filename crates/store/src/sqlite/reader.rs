//! Reading: from memory when memory is level with the file, from the file when it is not.
//!
//! INVARIANT (reads are linearizable): a read shows every change that was acknowledged, in any process, before it began.
//!
//! Each reader has a connection of its own and remembers in `level` that connection's `PRAGMA data_version` of a
//! snapshot whose every change was in force in the cache. SQLite changes that number for a connection as soon as any
//! other connection, in any process, has committed; it learns this from the index of the log, which is shared memory,
//! so asking costs no read of the file. A read asks first. If the number is the same, nothing was committed
//! since that snapshot, so the cache shows all there is. If it moved, the reader takes a snapshot, drops from the cache every
//! row that changed since `applied` (an index lists them), and remembers the snapshot's number. What is then
//! not in the cache is read from the file, in a snapshot that is later still. A commit is acknowledged only after it
//! is in the log and its index, so "before it began" is before the question was asked. That the cache itself holds no
//! older row is argued in [`super::cache`].

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::cache::{Cache, Stamp};
use super::failure::failed;
use super::{SqliteOptions, connect, rows};
use crate::{Session, StoreError, TokenDigest, TokenRecord};
use tidegate_core::Ident;

/// A few readers; a thread takes the one it used last if it is free, so that many threads rarely wait for each other.
pub(super) struct Readers {
    cache: Arc<Cache>,
    readers: Vec<Mutex<Reader>>,
}

struct Reader {
    conn: Connection,
    /// The `data_version` of a snapshot that the cache is level with.
    level: Option<i64>,
}

/// When more rows than this changed since the last look, it is cheaper to forget them all than to name them.
const MOST_DROPPED: i64 = 10_000;

impl Readers {
    pub(super) fn open(path: &Path, options: &SqliteOptions, cache: Arc<Cache>) -> Result<Self, StoreError> {
        let open = |_| {
            let conn = connect::reader(path, options)?;
            Ok(Mutex::new(Reader { conn, level: None }))
        };
        let readers = (0..options.readers.max(1))
            .map(open)
            .collect::<Result<_, StoreError>>()?;
        Ok(Self { cache, readers })
    }

    pub(super) fn session(&self, id: &Ident) -> Result<Option<Arc<Session>>, StoreError> {
        let mut reader = self.reader()?;
        reader.catch_up(&self.cache)?;
        if let Some(session) = self.cache.sessions.find(id) {
            return Ok(Some(session));
        }
        reader.snapshot(|conn| {
            let Some(stored) = rows::session(conn, id)? else {
                return Ok(None);
            };
            let stamp = Stamp {
                row: stored.revision,
                snapshot: rows::revision(conn)?,
            };
            let session = Arc::new(stored.value);
            self.cache.sessions.keep(id, &session, stamp);
            Ok(Some(session))
        })
    }

    pub(super) fn token(&self, digest: &TokenDigest) -> Result<Option<Arc<TokenRecord>>, StoreError> {
        let mut reader = self.reader()?;
        reader.catch_up(&self.cache)?;
        if let Some(token) = self.cache.tokens.find(digest) {
            return Ok(Some(token));
        }
        reader.snapshot(|conn| {
            let Some(stored) = rows::token(conn, digest)? else {
                return Ok(None);
            };
            let stamp = Stamp {
                row: stored.revision,
                snapshot: rows::revision(conn)?,
            };
            let token = Arc::new(stored.value);
            self.cache.tokens.keep(digest, &token, stamp);
            Ok(Some(token))
        })
    }

    /// Reads several rows of one moment from the file.
    pub(super) fn snapshot<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.reader()?.snapshot(read)
    }

    fn reader(&self) -> Result<MutexGuard<'_, Reader>, StoreError> {
        let home = home() % self.readers.len().max(1);
        let (before, after) = self.readers.split_at(home);
        let free = after
            .iter()
            .chain(before)
            .find_map(|reader| reader.try_lock().ok());
        free.or_else(|| {
            Some(
                self.readers
                    .get(home)?
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner),
            )
        })
        .ok_or_else(|| StoreError::Backend("there is no connection to read by".to_owned()))
    }
}

impl Reader {
    /// Makes the cache level with what was committed before this call.
    fn catch_up(&mut self, cache: &Cache) -> Result<(), StoreError> {
        if self.level == Some(data_version(&self.conn)?) {
            return Ok(());
        }
        // Read before the snapshot is taken: whatever is applied by then need not be dropped again.
        let applied = cache.applied();
        let level = self.snapshot(|conn| {
            let revision = rows::revision(conn)?;
            if revision > applied {
                cache.follow(revision, |cache| drop_changed(conn, cache, applied))?;
            }
            data_version(conn)
        })?;
        self.level = Some(level);
        Ok(())
    }

    fn snapshot<T>(
        &mut self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let tx = Transaction::new(&mut self.conn, TransactionBehavior::Deferred).map_err(failed)?;
        let value = read(&tx)?;
        tx.finish().map_err(failed)?;
        Ok(value)
    }
}

fn data_version(conn: &Connection) -> Result<i64, StoreError> {
    conn.prepare_cached("PRAGMA data_version")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(failed)
}

fn drop_changed(conn: &Connection, cache: &Cache, applied: i64) -> Result<(), StoreError> {
    let all = conn
        .prepare_cached("SELECT id, revision FROM session WHERE revision > ?1 LIMIT ?2")
        .and_then(|mut statement| {
            let mut rows = statement.query(params![applied, MOST_DROPPED])?;
            let mut count = 0;
            while let Some(row) = rows.next()? {
                cache.sessions.drop_older(row.get_ref(0)?.as_str()?, row.get(1)?);
                count += 1;
            }
            Ok(count < MOST_DROPPED)
        })
        .map_err(failed)?;
    if !all {
        cache.sessions.drop_all();
    }
    let all = conn
        .prepare_cached("SELECT digest, revision FROM token WHERE revision > ?1 LIMIT ?2")
        .and_then(|mut statement| {
            let mut rows = statement.query(params![applied, MOST_DROPPED])?;
            let mut count = 0;
            while let Some(row) = rows.next()? {
                cache.tokens.drop_older(&TokenDigest(row.get(0)?), row.get(1)?);
                count += 1;
            }
            Ok(count < MOST_DROPPED)
        })
        .map_err(failed)?;
    if !all {
        cache.tokens.drop_all();
    }
    Ok(())
}

/// A number of this thread's own.
fn home() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static HOME: Cell<Option<usize>> = const { Cell::new(None) };
    }
    HOME.with(|home| {
        home.get().unwrap_or_else(|| {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            home.set(Some(number));
            number
        })
    })
}
