//! The desk at which records are linked, written and acknowledged. Whoever holds it commits.

use std::fs::File;
use std::io;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::heads::Heads;
use super::indexer::Indexer;
use super::log::Log;
use super::recover::Opened;
use super::{AppendError, CloseError, Options, Receipt};
use crate::index::{Head, IndexError};
use crate::record::{self, Chain, Hash, NO_HASH, Place};

/// Events of one chain that are recorded together or not at all.
pub(super) struct Pending {
    pub(super) chain: Chain,
    pub(super) events: Vec<Vec<u8>>,
    pub(super) at_ms: i64,
    pub(super) reply: Reply,
}

impl Pending {
    /// How many bytes its events have.
    pub(super) fn bytes(&self) -> usize {
        self.events.iter().map(Vec::len).sum()
    }

    /// The most that its records take.
    fn room(&self) -> usize {
        /// More than the envelope of any record takes.
        const ENVELOPE: usize = 320;
        self.bytes() + self.events.len() * ENVELOPE
    }
}

/// Where each record stands, in the order in which the events were handed over.
type Receipts = Result<Vec<Receipt>, AppendError>;

/// How the one who waits is told.
pub(super) enum Reply {
    Future(oneshot::Sender<Receipts>),
    Thread(SyncSender<Receipts>),
}

impl Reply {
    /// Whoever no longer waits misses nothing that matters: the record is durable either way.
    pub(super) fn send(self, result: Receipts) {
        match self {
            Self::Future(reply) => drop(reply.send(result)),
            Self::Thread(reply) => drop(reply.try_send(result)),
        }
    }
}

/// The files of a ledger, and what is known of what is in them.
pub(super) struct Desk {
    log: Log,
    heads: Heads,
    indexer: Indexer,
    checkpoint_records: u64,
    checkpoint_interval: Duration,
    /// When the next checkpoint is due.
    due: Option<Instant>,
    /// Whether the last commit was for one caller: then the next is likely to be, too.
    was_lone: bool,
    /// Held for as long as the ledger is open.
    lock: Option<File>,
}

impl Desk {
    pub(super) fn new(opened: Opened, options: &Options) -> Self {
        let Opened { log, heads, lock } = opened;
        Self {
            indexer: Indexer::start(&log.dir),
            log,
            heads,
            checkpoint_records: options.checkpoint_records,
            checkpoint_interval: options.checkpoint_interval,
            due: None,
            was_lone: true,
            lock: Some(lock),
        }
    }

    /// Whether somebody who comes alone may record this on the spot. A new segment takes longer than a record, and callers
    /// that come together share a commit: both are the thread's to do.
    pub(super) fn suits_one(&self, pending: &Pending) -> bool {
        self.lock.is_some() && self.was_lone && self.log.has_room(pending.room())
    }

    /// Records a batch, all or none, and tells everyone who waits.
    pub(super) fn record(&mut self, batch: Vec<Pending>) {
        self.was_lone = batch.len() == 1;
        let before = self.log.segment();
        append(&mut self.log, &mut self.heads, batch);
        if self.log.segment() != before {
            self.indexer.poke();
        }
        self.due = deadline(self.log.unsigned(), self.due, self.checkpoint_interval);
    }

    /// When there is something to do beside recording.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether there is something to do beside recording that takes long and does not wait for its time.
    pub(super) fn has_chores(&self) -> bool {
        self.heads.are_many()
    }

    /// Does what is to be done beside recording.
    pub(super) fn do_chores(&mut self) {
        // Memory over its bound for a while is better than a refusal; the next commit tries again.
        let _ = self.heads.trim();
        self.sign_if_due();
    }

    /// Signs what no checkpoint covers, if there is enough of it or it has waited long enough.
    pub(super) fn sign_if_due(&mut self) {
        let is_due = |due| self.log.unsigned() >= self.checkpoint_records || Instant::now() >= due;
        if self.due.is_some_and(is_due) {
            // Unsigned records are durable all the same; it is tried again after the interval.
            let signed = self.log.write_checkpoint(false);
            self.due = signed.is_err().then(|| Instant::now() + self.checkpoint_interval);
        }
    }

    /// Signs a last checkpoint and gives the directory free. Nothing is recorded here any more.
    pub(super) fn close(&mut self) -> Result<(), CloseError> {
        let closed = self.log.close().map_err(|error| CloseError(error.kind()));
        self.indexer.stop();
        self.lock = None;
        closed
    }
}

/// When the next checkpoint is due. With nothing to sign there is none: a new segment begins with a checkpoint of its own,
/// and a deadline left over from before it would pass again and again without anything to do.
fn deadline(unsigned: u64, due: Option<Instant>, interval: Duration) -> Option<Instant> {
    (unsigned > 0).then(|| due.unwrap_or_else(|| Instant::now() + interval))
}

fn append(log: &mut Log, heads: &mut Heads, batch: Vec<Pending>) {
    let mut linked = Linked::default();
    let result = commit(log, heads, &batch, &mut linked);
    if result.is_err() {
        // Backwards, so that a chain with several records ends where it began.
        for (chain, before) in linked.undo.iter().rev() {
            heads.replace(chain, *before);
        }
    }
    match result {
        Ok(()) => {
            let mut receipts = linked.receipts.into_iter();
            for pending in batch {
                let own = receipts.by_ref().take(pending.events.len()).collect();
                pending.reply.send(Ok(own));
            }
        }
        Err(kind) => batch
            .into_iter()
            .for_each(|pending| pending.reply.send(Err(AppendError::Unavailable(kind)))),
    }
}

/// A batch with its places in the ledger.
#[derive(Default)]
struct Linked {
    payload: Vec<u8>,
    receipts: Vec<Receipt>,
    leaves: Vec<Hash>,
    /// The heads as they were.
    undo: Vec<(Chain, Option<Head>)>,
}

fn commit(
    log: &mut Log,
    heads: &mut Heads,
    batch: &[Pending],
    linked: &mut Linked,
) -> Result<(), io::ErrorKind> {
    let room = batch.iter().map(Pending::room).sum();
    // First, since it cuts off what an earlier failure left behind; only then do index and segments agree.
    log.make_room(room).map_err(|error| error.kind())?;
    linked.payload.reserve(room);
    let mut index = log.tree.size();
    for pending in batch {
        let before = heads.of(&pending.chain).map_err(|error| index_kind(&error))?;
        let mut head = before;
        for event in &pending.events {
            let place = Place {
                index,
                seq: head.map_or(0, |head| head.seq + 1),
                prev: head.map_or(NO_HASH, |head| head.hash),
            };
            let hash = record::encode(&pending.chain, place, pending.at_ms, event, &mut linked.payload);
            head = Some(Head { seq: place.seq, hash });
            linked.receipts.push(Receipt {
                index,
                seq: place.seq,
                hash,
            });
            linked.leaves.push(hash);
            index += 1;
        }
        linked.undo.push((pending.chain.clone(), before));
        heads.replace(&pending.chain, head);
    }
    let count = u32::try_from(linked.leaves.len()).unwrap_or(u32::MAX);
    log.commit(count, &linked.payload, &linked.leaves)
        .map_err(|error| error.kind())
}

fn index_kind(error: &IndexError) -> io::ErrorKind {
    match error {
        IndexError::Io(error) => error.kind(),
        IndexError::Sqlite(_) | IndexError::Damaged { .. } => io::ErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_ends_with_what_it_was_for() {
        let interval = Duration::from_secs(3600);
        let passed = Some(Instant::now());
        assert_eq!(deadline(0, passed, interval), None);
        assert_eq!(deadline(3, passed, interval), passed);
        assert!(deadline(3, None, interval) > passed);
    }
}
