//! The thread that owns the files.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::heads::Heads;
use super::log::Log;
use super::recover::Opened;
use super::{AppendError, CloseError, Options, Receipt};
use crate::index::{Head, Index, IndexError};
use crate::record::{self, Chain, Hash, NO_HASH, Place};

/// The most that one commit takes.
const MAX_BATCH_RECORDS: usize = 2048;
const MAX_BATCH_BYTES: usize = 2 << 20;

pub(super) enum Job {
    Append(Pending),
    Close,
}

/// Events of one chain that are recorded together or not at all.
pub(super) struct Pending {
    pub(super) chain: Chain,
    pub(super) events: Vec<Vec<u8>>,
    pub(super) at_ms: i64,
    pub(super) reply: Reply,
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

pub(super) fn run(opened: Opened, options: &Options, jobs: &Receiver<Job>) -> Result<(), CloseError> {
    let Opened {
        mut log,
        mut heads,
        lock,
    } = opened;
    let indexer = Indexer::start(&log.dir);
    let mut due: Option<Instant> = None;
    loop {
        let (batch, open) = gather(jobs, due);
        if !batch.is_empty() {
            let before = log.segment();
            append(&mut log, &mut heads, batch);
            if log.segment() != before {
                indexer.poke();
            }
            // Memory over its bound for a while is better than a refusal; the next commit tries again.
            let _ = heads.trim();
        }
        due = deadline(log.unsigned(), due, options.checkpoint_interval);
        if due.is_some_and(|due| log.unsigned() >= options.checkpoint_records || Instant::now() >= due) {
            // Unsigned records are durable all the same; it is tried again after the interval.
            let signed = log.write_checkpoint(false);
            due = signed
                .is_err()
                .then(|| Instant::now() + options.checkpoint_interval);
        }
        if !open {
            break;
        }
    }
    let closed = log.close().map_err(|error| CloseError(error.kind()));
    indexer.stop();
    drop(lock);
    closed
}

/// When the next checkpoint is due. With nothing to sign there is none: a new segment begins with a checkpoint of its own,
/// and a deadline left over from before it would pass again and again without anything to do.
fn deadline(unsigned: u64, due: Option<Instant>, interval: Duration) -> Option<Instant> {
    (unsigned > 0).then(|| due.unwrap_or_else(|| Instant::now() + interval))
}

/// How long the index is left to others after each catching up. Whoever waits for SQLite's lock asks for it again every
/// tenth of a second, and would never find it free while segments fill faster than they are taken in.
const INDEX_PAUSE: Duration = Duration::from_millis(150);

/// Keeps the index at most a segment or two behind, so that opening stays quick. It is a convenience: whoever needs
/// the index catches up first, so its failures are not its own to report.
struct Indexer {
    pokes: SyncSender<()>,
    thread: io::Result<std::thread::JoinHandle<()>>,
}

impl Indexer {
    fn start(dir: &Path) -> Self {
        let (pokes, poked) = sync_channel(1);
        let dir = dir.to_owned();
        let thread = std::thread::Builder::new()
            .name("ledger-index".to_owned())
            .spawn(move || {
                let mut wanted = poked.recv().is_ok();
                while wanted {
                    let _ = Index::open(&dir).and_then(|mut index| index.catch_up());
                    wanted =
                        pause(&poked).is_some_and(|poked_meanwhile| poked_meanwhile || poked.recv().is_ok());
                }
            });
        Self { pokes, thread }
    }

    /// A poke that finds another waiting adds nothing to it.
    fn poke(&self) {
        let _ = self.pokes.try_send(());
    }

    fn stop(self) {
        drop(self.pokes);
        let _ = self.thread.map(std::thread::JoinHandle::join);
    }
}

/// Leaves the index to others for a while. Says whether there was a poke meanwhile; nothing when the ledger closes.
fn pause(poked: &Receiver<()>) -> Option<bool> {
    let end = Instant::now() + INDEX_PAUSE;
    let mut poked_meanwhile = false;
    loop {
        match poked.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(()) => poked_meanwhile = true,
            Err(RecvTimeoutError::Timeout) => return Some(poked_meanwhile),
            Err(RecvTimeoutError::Disconnected) => return None,
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
            Job::Append(pending) => {
                records += pending.events.len();
                bytes += pending.events.iter().map(Vec::len).sum::<usize>();
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

/// Records a batch, all or none, and tells everyone who waits.
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
    /// More than the envelope of any record takes.
    const ENVELOPE: usize = 320;
    let events = || batch.iter().flat_map(|pending| &pending.events);
    let room = events().map(|event| event.len() + ENVELOPE).sum();
    // First, since it cuts off what an earlier failure left behind; only then do index and segments agree.
    log.make_room(room).map_err(|error| error.kind())?;
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
