//! Writing: one transaction for all that waits, one sync of the disk for all of them.
//!
//! Whoever finds nobody writing writes at once, on its own thread: waking another and being woken by it would cost as much
//! again as the disk. Whoever comes meanwhile queues for the thread that commits for all who wait.
//!
//! INVARIANT (durable before acknowledged): a caller hears of its change only after the transaction it was in has been
//! committed with `synchronous = FULL`, and after the cache shows it. If the commit fails, every caller of the
//! batch hears the error and nothing was changed. A change that is refused for itself is undone by its savepoint and
//! leaves its neighbours as they are.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::cache::Cache;
use super::failure::io;
use super::turn::{Turn, execute};
use super::{SqliteOptions, changes, log};
use crate::{Session, StoreError, TokenRecord};

/// The ways to the connection that writes.
pub(super) struct Writer {
    desk: Arc<Mutex<Desk>>,
    queue: Option<SyncSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

/// The connection that writes. Whoever holds it commits.
struct Desk {
    conn: Connection,
    cache: Arc<Cache>,
    /// Changes since the log was last copied back into the file.
    since_checkpoint: usize,
    /// Where the log is, until it has been given room.
    short_log: Option<PathBuf>,
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
        path: &Path,
        options: &SqliteOptions,
        cache: Arc<Cache>,
    ) -> Result<Self, StoreError> {
        let (queue, jobs) = sync_channel(options.queue.max(1));
        let batch = options.batch.max(1);
        let desk = Arc::new(Mutex::new(Desk {
            conn,
            cache,
            since_checkpoint: 0,
            short_log: Some(log::of(path)),
        }));
        let shared = Arc::clone(&desk);
        let thread = std::thread::Builder::new()
            .name("tidegate-store".to_owned())
            .spawn(move || work(&shared, &jobs, batch))
            .map_err(|error| io("the writing thread cannot be started", &error))?;
        Ok(Self {
            desk,
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
        let job = Box::new(Pending {
            change: Some(change),
            result: None,
            reply,
        });
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        if let Some(mut desk) = self.free_desk() {
            desk.serve(vec![job]);
            if desk.has_chores() {
                // The thread does it where nobody waits. When the queue is full it has work already, and does it after that.
                let _ = queue.try_send(Box::new(Nothing));
            }
        } else {
            queue.try_send(job).map_err(|error| match error {
                TrySendError::Full(_) => StoreError::Overloaded,
                TrySendError::Disconnected(_) => stopped(),
            })?;
        }
        answer.await.unwrap_or_else(|_| Err(stopped().into()))
    }

    /// The desk, if nobody is at it and this thread may wait for the disk: where a runtime has no second worker, tasks that
    /// could share a commit would never get as far as the queue.
    fn free_desk(&self) -> Option<MutexGuard<'_, Desk>> {
        let workers = Handle::try_current().map_or(1, |runtime| runtime.metrics().num_workers());
        if workers < 2 {
            return None;
        }
        // One who panicked left a transaction open at worst, and the next commit rolls that back.
        match self.desk.try_lock() {
            Ok(desk) => Some(desk),
            Err(TryLockError::Poisoned(desk)) => Some(desk.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
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
        execute(self.conn, "UPDATE store SET probes = probes + 1")?;
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
        execute(self.conn, "SAVEPOINT change")?;
        if !job.apply(self) {
            // A full disk makes SQLite give up the whole transaction; then there is no savepoint to go back to.
            if self.conn.is_autocommit() {
                return Err(StoreError::Backend("the transaction was given up".to_owned()));
            }
            execute(self.conn, "ROLLBACK TO change")?;
            let mut changed = self.changed.borrow_mut();
            changed.sessions.truncate(before.0);
            changed.tokens.truncate(before.1);
        }
        execute(self.conn, "RELEASE change")
    }
}

/// A change on its way: applied inside a transaction, settled after it.
trait Job: Send {
    /// Whether it went through. When not, it keeps its own error to answer with.
    fn apply(&mut self, batch: &Batch<'_>) -> bool;
    /// Answers the caller: with the change's own result, or with why the batch was not committed.
    fn settle(self: Box<Self>, committed: Result<(), StoreError>);
}

/// What wakes the thread and changes nothing.
struct Nothing;

impl Job for Nothing {
    fn apply(&mut self, _batch: &Batch<'_>) -> bool {
        true
    }

    fn settle(self: Box<Self>, _committed: Result<(), StoreError>) {}
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

/// A process that has made this many changes will make more, so that room in the log is worth its while.
const ROOM_AFTER: usize = 16;

fn work(desk: &Mutex<Desk>, queue: &Receiver<Box<dyn Job>>, batch: usize) {
    while let Ok(first) = queue.recv() {
        let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
        // Gathered only now: more may have come while another was at the desk.
        let mut jobs = vec![first];
        jobs.extend(queue.try_iter().take(batch - 1));
        desk.serve(jobs);
        desk.do_chores();
    }
}

impl Desk {
    /// Commits changes and answers everyone who waits for them.
    fn serve(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        self.since_checkpoint += jobs.len();
        let committed = commit(&mut self.conn, &mut jobs, &self.cache);
        for job in jobs {
            job.settle(committed.clone());
        }
    }

    /// Whether there is something to do for the changes to come.
    const fn has_chores(&self) -> bool {
        self.since_checkpoint >= CHECKPOINT_AFTER
            || (self.short_log.is_some() && self.since_checkpoint >= ROOM_AFTER)
    }

    fn do_chores(&mut self) {
        if self.since_checkpoint >= ROOM_AFTER
            && let Some(log) = self.short_log.take()
        {
            // Without room every change is as durable, only slower.
            let _ = log::make_room(&mut self.conn, &log);
        }
        if self.since_checkpoint >= CHECKPOINT_AFTER {
            self.since_checkpoint = 0;
            // What it cannot copy now stays in the log, durable, until the next time.
            let _ = self
                .conn
                .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }
}

fn commit(conn: &mut Connection, jobs: &mut [Box<dyn Job>], cache: &Cache) -> Result<(), StoreError> {
    let turn = Turn::begin(conn)?;
    let batch = Batch {
        conn: &turn,
        revision: changes::revision(&turn)? + 1,
        changed: RefCell::default(),
    };
    match jobs {
        // Alone it needs no savepoint: when it is refused, the whole transaction is given up.
        [only] => {
            if !only.apply(&batch) {
                return Ok(());
            }
        }
        several => several.iter_mut().try_for_each(|job| batch.apply(job.as_mut()))?,
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
        return if beside { turn.commit() } else { Ok(()) };
    }
    changes::note(&turn, revision, &sessions)?;
    turn.commit()?;
    // INVARIANT (durable before acknowledged): only what is committed gets into the cache.
    cache.publish(revision, &sessions, &tokens);
    Ok(())
}
