//! The thread that commits for all who wait, and does what is to be done beside that.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Instant;

use super::desk::Pending;
use super::{CloseError, Writing};

/// The most that one commit takes.
const MAX_BATCH_RECORDS: usize = 2048;
const MAX_BATCH_BYTES: usize = 2 << 20;

pub(super) enum Job {
    Append(Pending),
    /// There may be something to do beside recording.
    Chores,
    Close,
}

pub(super) fn run(writing: &Writing, jobs: &Receiver<Job>) -> Result<(), CloseError> {
    let mut due = None;
    loop {
        let (batch, open) = gather(jobs, due);
        let taken = batch.len();
        // Whoever panicked at the desk left it in no state that anybody knows: nothing is recorded any more.
        let Ok(mut desk) = writing.desk.lock() else {
            return Err(CloseError(io::ErrorKind::Other));
        };
        if !batch.is_empty() {
            desk.record(batch);
        }
        // INVARIANT (in their order): what is queued counts as waiting until it is recorded.
        writing.waiting.fetch_sub(taken, Ordering::SeqCst);
        desk.do_chores();
        due = desk.due();
        if !open {
            return desk.close();
        }
    }
}

/// Waits for a job, then takes what has gathered. Says whether more can come.
fn gather(jobs: &Receiver<Job>, due: Option<Instant>) -> (Vec<Pending>, bool) {
    let first = match due {
        None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
        Some(due) => jobs.recv_timeout(due.saturating_duration_since(Instant::now())),
    };
    let mut next = match first {
        Ok(job) => job,
        Err(RecvTimeoutError::Timeout) => return (Vec::new(), true),
        Err(RecvTimeoutError::Disconnected) => return (Vec::new(), false),
    };
    let (mut batch, mut records, mut bytes) = (Vec::new(), 0, 0);
    loop {
        match next {
            Job::Close => return (batch, false),
            Job::Chores => {}
            Job::Append(pending) => {
                records += pending.events.len();
                bytes += pending.bytes();
                batch.push(pending);
            }
        }
        if records >= MAX_BATCH_RECORDS || bytes >= MAX_BATCH_BYTES {
            return (batch, true);
        }
        next = match jobs.try_recv() {
            Ok(job) => job,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return (batch, true),
        };
    }
}
