//! Writing: one thread, one transaction for all that waits, one sync of the disk for all of them.
//!
//! INVARIANT (durable before acknowledged): a caller hears of its change only after the transaction it was in has been
//! committed with `synchronous = FULL`, and after the cache shows it. If the commit fails, every caller of the
//! batch hears the error and nothing was changed. A change that is refused for itself is undone by its savepoint and
//! leaves its neighbours as they are.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use super::cache::Cache;
use super::failure::{failed, io};
use super::{SqliteOptions, rows};
use crate::{Session, StoreError, TokenRecord};

/// The way to the thread that writes.
pub(super) struct Writer {
    queue: Option<SyncSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

/// An open transaction, and what has been changed in it.
pub(super) struct Batch<'conn> {
    pub(super) conn: &'conn Connection,
    /// What the changed rows are stamped with.
    pub(super) revision: i64,
    changed: RefCell<Changed>,
}

#[derive(Default)]
struct Changed {
    sessions: Vec<Arc<Session>>,
    tokens: Vec<Arc<TokenRecord>>,
    /// Something is to be committed that is no row of a session or a token.
    beside: bool,
}

impl Writer {
    pub(super) fn start(
        conn: Connection,
        options: &SqliteOptions,
        cache: Arc<Cache>,
    ) -> Result<Self, StoreError> {
        let (queue, jobs) = sync_channel(options.queue.max(1));
        let batch = options.batch.max(1);
        let thread = std::thread::Builder::new()
            .name("tidegate-store".to_owned())
            .spawn(move || work(conn, &jobs, &cache, batch))
            .map_err(|error| io("the writing thread cannot be started", &error))?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Makes a change, durably, and gives its answer.
    pub(super) async fn run<T, E>(
        &self,
        change: impl FnOnce(&Batch<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let stopped = || StoreError::Backend("the store has been closed".to_owned());
        let (reply, answer) = oneshot::channel();
        let job = Pending {
            change: Some(change),
            result: None,
            reply,
        };
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        queue.try_send(Box::new(job)).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Overloaded,
            TrySendError::Disconnected(_) => stopped(),
        })?;
        answer.await.unwrap_or_else(|_| Err(stopped().into()))
    }
}

impl Drop for Writer {
    /// What is queued is still written; then the thread ends and closes its connection.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Batch<'_> {
    /// A session's row was written.
    pub(super) fn wrote_session(&self, session: &Arc<Session>) {
        self.changed.borrow_mut().sessions.push(session.clone());
    }

    /// A token's row was written.
    pub(super) fn wrote_token(&self, token: TokenRecord) {
        self.changed.borrow_mut().tokens.push(Arc::new(token));
    }

    /// Writes something without meaning, to see whether writing works.
    pub(super) fn probe(&self) -> Result<(), StoreError> {
        let sql = "UPDATE store SET probes = probes + 1";
        self.conn
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute([]))
            .map_err(failed)?;
        self.wrote_beside();
        Ok(())
    }

    /// Something was written that no cache holds.
    pub(super) fn wrote_beside(&self) {
        self.changed.borrow_mut().beside = true;
    }

    /// Applies one change or leaves no trace of it.
    fn apply(&self, job: &mut dyn Job) -> Result<(), StoreError> {
        let before = {
            let changed = self.changed.borrow();
            (changed.sessions.len(), changed.tokens.len())
        };
        self.execute("SAVEPOINT change")?;
        if !job.apply(self) {
            // A full disk makes SQLite give up the whole transaction; then there is no savepoint to go back to.
            if self.conn.is_autocommit() {
                return Err(StoreError::Backend("the transaction was given up".to_owned()));
            }
            self.execute("ROLLBACK TO change")?;
            let mut changed = self.changed.borrow_mut();
            changed.sessions.truncate(before.0);
            changed.tokens.truncate(before.1);
        }
        self.execute("RELEASE change")
    }

    fn execute(&self, sql: &str) -> Result<(), StoreError> {
        self.conn
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute([]))
            .map_err(failed)?;
        Ok(())
    }
}

/// A change on its way: applied inside a transaction, settled after it.
trait Job: Send {
    /// Whether it went through. When not, it keeps its own error to answer with.
    fn apply(&mut self, batch: &Batch<'_>) -> bool;
    /// Answers the caller: with the change's own result, or with why the batch was not committed.
    fn settle(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Pending<T, E, F> {
    change: Option<F>,
    result: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<T, E, F> Job for Pending<T, E, F>
where
    T: Send,
    E: From<StoreError> + Send,
    F: FnOnce(&Batch<'_>) -> Result<T, E> + Send,
{
    fn apply(&mut self, batch: &Batch<'_>) -> bool {
        self.result = self.change.take().map(|change| change(batch));
        matches!(self.result, Some(Ok(_)))
    }

    fn settle(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { result, reply, .. } = *self;
        let answer = match (result, committed) {
            // Its own refusal says more than the batch's failure, and promises nothing.
            (Some(Err(error)), _) => Err(error),
            (_, Err(error)) => Err(error.into()),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Backend("the change was not applied".to_owned()).into()),
        };
        // A caller that has gone away does not unmake the change.
        let _ = reply.send(answer);
    }
}

/// Copy the log back into the file after this many changes, when nobody waits for the answer to them any more.
const CHECKPOINT_AFTER: usize = 512;

fn work(mut conn: Connection, queue: &Receiver<Box<dyn Job>>, cache: &Cache, batch: usize) {
    let mut since_checkpoint = 0;
    while let Ok(first) = queue.recv() {
        let mut jobs = vec![first];
        jobs.extend(queue.try_iter().take(batch - 1));
        since_checkpoint += jobs.len();
        let committed = commit(&mut conn, &mut jobs, cache);
        for job in jobs {
            job.settle(committed.clone());
        }
        if since_checkpoint >= CHECKPOINT_AFTER {
            since_checkpoint = 0;
            // What it cannot copy now stays in the log, durable, until the next time.
            let _ = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }
}

fn commit(conn: &mut Connection, jobs: &mut [Box<dyn Job>], cache: &Cache) -> Result<(), StoreError> {
    if !conn.is_autocommit() {
        conn.execute_batch("ROLLBACK").map_err(failed)?;
    }
    let tx = Transaction::new(conn, TransactionBehavior::Immediate).map_err(failed)?;
    let batch = Batch {
        conn: &tx,
        revision: rows::revision(&tx)? + 1,
        changed: RefCell::default(),
    };
    for job in jobs {
        batch.apply(job.as_mut())?;
    }
    let Batch {
        revision, changed, ..
    } = batch;
    let Changed {
        sessions,
        tokens,
        beside,
    } = changed.into_inner();
    if sessions.is_empty() && tokens.is_empty() {
        return if beside { tx.commit() } else { tx.rollback() }.map_err(failed);
    }
    tx.prepare_cached("UPDATE store SET revision = ?1")
        .and_then(|mut statement| statement.execute([revision]))
        .map_err(failed)?;
    tx.commit().map_err(failed)?;
    // INVARIANT (durable before acknowledged): only what is committed gets into the cache.
    cache.publish(revision, &sessions, &tokens);
    Ok(())
}
