//! Reading: from memory when memory is level with the file, from the file when it is not.
//!
//! INVARIANT (reads are linearizable): a read shows every change that was acknowledged, in any process, before it began.
//!
//! `level` is a mark of the log ([`super::watch`]) such that every change up to it is in force in the cache. A read takes
//! the log's mark first. If it is `level`, nothing was committed since, so the cache shows all there is. If not, a reader
//! takes a snapshot of the file, drops from the cache every row that changed since `applied` (an index lists them), and
//! makes the mark it took *before* the snapshot the new `level`: a commit between the two moves the mark again, and the
//! next read looks again. What is not in the cache is then read from the file, in a snapshot that is later still.
//! A commit is acknowledged only after its mark is set, so what was acknowledged before the read began has moved the mark that
//! the read took. That the cache itself holds no older row is argued in [`super::cache`].

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::cache::{Cache, Stamp};
use super::failure::failed;
use super::watch::{Mark, Opening, Watch};
use super::{SqliteOptions, changes, connect, rows};
use crate::{Session, StoreError, TokenDigest, TokenRecord};
use tidegate_core::Ident;

/// The cache, and a few connections for what is not in it; a thread takes the one it used last if it is free.
pub(super) struct Readers {
    cache: Arc<Cache>,
    level: RwLock<Option<Mark>>,
    /// One thread catches up, and those that found the same wait for it instead of doing the same.
    catching_up: Mutex<()>,
    connections: Vec<Mutex<Connection>>,
    // Last: it must close after the connections.
    watch: Watch,
}

impl Readers {
    pub(super) fn open(
        path: &Path,
        options: &SqliteOptions,
        cache: Arc<Cache>,
        opening: &mut Opening,
    ) -> Result<Self, StoreError> {
        let connections =
            (0..options.readers.max(1)).map(|_| Ok(Mutex::new(connect::reader(path, options)?)));
        Ok(Self {
            cache,
            level: RwLock::new(None),
            catching_up: Mutex::new(()),
            connections: connections.collect::<Result<_, StoreError>>()?,
            watch: Watch::of(path, opening),
        })
    }

    /// The session as this process saw it last, which others may have changed since: a hint, never an answer.
    pub(super) fn remembered(&self, id: &Ident) -> Option<Arc<Session>> {
        self.cache.sessions.find(id)
    }

    pub(super) fn session(&self, id: &Ident) -> Result<Option<Arc<Session>>, StoreError> {
        self.catch_up()?;
        if let Some(session) = self.cache.sessions.find(id) {
            return Ok(Some(session));
        }
        self.snapshot(|conn| {
            let Some(stored) = rows::session(conn, id)? else {
                return Ok(None);
            };
            let stamp = Stamp {
                row: stored.revision,
                snapshot: changes::revision(conn)?,
            };
            let session = Arc::new(stored.value);
            self.cache.sessions.keep(id, &session, stamp);
            Ok(Some(session))
        })
    }

    pub(super) fn token(&self, digest: &TokenDigest) -> Result<Option<Arc<TokenRecord>>, StoreError> {
        self.catch_up()?;
        if let Some(token) = self.cache.tokens.find(digest) {
            return Ok(Some(token));
        }
        self.snapshot(|conn| {
            let Some(stored) = rows::token(conn, digest)? else {
                return Ok(None);
            };
            let stamp = Stamp {
                row: stored.revision,
                snapshot: changes::revision(conn)?,
            };
            let token = Arc::new(stored.value);
            self.cache.tokens.keep(digest, &token, stamp);
            Ok(Some(token))
        })
    }

    /// Reads rows of one moment from the file.
    pub(super) fn snapshot<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut conn = self.connection()?;
        let tx = Transaction::new(&mut conn, TransactionBehavior::Deferred).map_err(failed)?;
        let value = read(&tx)?;
        tx.finish().map_err(failed)?;
        Ok(value)
    }

    /// Makes the cache level with everything that was committed before this call.
    fn catch_up(&self) -> Result<(), StoreError> {
        if self.is_level(self.watch.mark()) {
            return Ok(());
        }
        let _alone = self.catching_up.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = self.watch.mark();
        if self.is_level(mark) {
            return Ok(());
        }
        // Read before the snapshot is taken: whatever is applied by now need not be dropped again.
        let applied = self.cache.applied();
        self.snapshot(|conn| {
            let revision = changes::revision(conn)?;
            if revision > applied {
                self.cache
                    .follow(revision, |cache| changes::drop_changed(conn, cache, applied))?;
            }
            Ok(())
        })?;
        *self.level.write().unwrap_or_else(PoisonError::into_inner) = mark;
        Ok(())
    }

    fn is_level(&self, mark: Option<Mark>) -> bool {
        mark.is_some() && *self.level.read().unwrap_or_else(PoisonError::into_inner) == mark
    }

    fn connection(&self) -> Result<MutexGuard<'_, Connection>, StoreError> {
        let home = home() % self.connections.len().max(1);
        let (before, after) = self.connections.split_at(home);
        let free = after.iter().chain(before).find_map(|conn| conn.try_lock().ok());
        free.or_else(|| {
            Some(
                self.connections
                    .get(home)?
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner),
            )
        })
        .ok_or_else(|| StoreError::Backend("there is no connection to read by".to_owned()))
    }
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
