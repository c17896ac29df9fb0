//! Appending: one desk with the files, and many callers who share its commits.
//!
//! A caller hands its record over and waits; the thread takes everything that has gathered, links and hashes it,
//! writes it as one frame and waits for the disk once. So the disk's slowness is shared by all who wait, and nobody is
//! told "recorded" before it is so. What waits is bounded: a full queue answers at once, and the caller, who fails
//! closed, releases nothing. A caller who comes alone finds the desk free and commits there itself: waking another thread
//! and being woken by it would cost as much again as the disk.
//!
//! INVARIANT (in their order): what one caller hands over is recorded in that order. So nobody commits on the spot while
//! anything is queued, and what is queued counts as waiting until it is recorded.

mod desk;
mod heads;
mod indexer;
mod log;
mod recover;
mod signer;
mod thread;

use std::io;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, SystemTime};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::disk::{Disk, RealDisk};
use crate::key_file::KeyFileError;
use crate::name::{DigestKey, KeyedDigest};
use crate::record::{self, Chain, Hash};
use crate::{Event, PublicKey};
use desk::{Desk, Pending, Reply};
use thread::Job;

/// How a ledger is kept. Start from [`Options::new`].
#[derive(Clone)]
pub struct Options {
    /// The secret key that signs checkpoints; created on first start.
    pub signing_key: PathBuf,
    /// A checkpoint is signed after this many records ...
    pub checkpoint_records: u64,
    /// ... or this long after the first record that no checkpoint covers.
    pub checkpoint_interval: Duration,
    /// A new segment begins when one would grow past this; the room is reserved at once.
    pub segment_bytes: u64,
    /// How many appends may wait; the next is refused.
    pub queue: usize,
    /// How many chains' last hashes are kept in memory; those of others are looked up in the index.
    pub heads: usize,
    /// The file operations.
    pub disk: Arc<dyn Disk>,
}

impl Options {
    /// The usual choices for a ledger in this directory. The signing key lies beside it, not in it, so that the
    /// directory can be handed to an auditor as it is.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        let mut signing_key = dir.as_os_str().to_owned();
        signing_key.push(".key");
        Self {
            signing_key: signing_key.into(),
            checkpoint_records: 4096,
            checkpoint_interval: Duration::from_secs(1),
            segment_bytes: 16 << 20,
            queue: 4096,
            heads: 65_536,
            disk: Arc::new(RealDisk),
        }
    }
}

/// Proof for the caller that its record is durable, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Among all records of the ledger.
    pub index: u64,
    /// In its chain.
    pub seq: u64,
    /// The record's hash.
    pub hash: Hash,
}

/// Why a ledger could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process or handle writes to it.
    #[error("the ledger is in use by another writer")]
    InUse,
    /// The signing key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The directory belongs to another key, or the key is gone.
    #[error("the ledger was signed with another key than {path} holds")]
    WrongKey {
        /// The key file that was tried.
        path: String,
    },
    /// Not a torn tail, which is repaired, but damage: nothing is written behind it.
    #[error("the ledger is damaged in segment {segment} at byte {position}: run the verifier")]
    Damaged {
        /// The segment.
        segment: u64,
        /// The first byte that is not as it should be.
        position: u64,
    },
    /// The newest checkpoint on record is not in the segments.
    #[error("the ledger is shorter than its newest checkpoint says: run the verifier")]
    Shortened,
    /// The index beside the ledger cannot be used.
    #[error("the ledger's index cannot be used: {reason}")]
    Index {
        /// What it reports.
        reason: String,
    },
    /// The system refused.
    #[error("the ledger cannot be opened: {0}")]
    Io(#[from] io::Error),
}

/// Why nothing was recorded. Whoever waits for the record must not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// Too many appends wait already. Try again later.
    #[error("the ledger is overloaded")]
    Overloaded,
    /// The event is larger than any event should be.
    #[error("the event is too large to be recorded")]
    TooLarge,
    /// The disk refused. Each later append tries anew, so it recovers by itself.
    #[error("the ledger cannot write: {0}")]
    Unavailable(io::ErrorKind),
    /// The ledger was closed.
    #[error("the ledger is closed")]
    Closed,
}

/// The ledger was not closed in order; the next opening repairs it.
#[derive(Debug, thiserror::Error)]
#[error("the ledger could not be closed in order: {0}")]
pub struct CloseError(pub(crate) io::ErrorKind);

/// A ledger open for appending. Dropping it closes it.
pub struct Ledger {
    queue: SyncSender<Job>,
    writing: Arc<Writing>,
    thread: Mutex<Option<std::thread::JoinHandle<Result<(), CloseError>>>>,
    digests: DigestKey,
    public: PublicKey,
}

/// What callers and the thread share.
struct Writing {
    desk: Mutex<Desk>,
    /// How many appends are queued and not recorded yet.
    waiting: AtomicUsize,
}

impl Ledger {
    /// The largest event in bytes of JSON.
    pub const MAX_EVENT_BYTES: usize = 16 << 10;

    /// The most events that are handed over at once.
    pub const MAX_EVENTS: usize = 1024;

    /// Opens a ledger, creating it and its key on first start and repairing what a crash left behind.
    ///
    /// # Errors
    /// When it is in use, damaged, signed by another key, or the system refuses.
    pub fn open(dir: &Path, options: Options) -> Result<Self, OpenError> {
        let opened = recover::open(dir, &options)?;
        let (digests, public) = (opened.log.digest_key(), opened.log.public_key());
        let (queue, jobs): (_, Receiver<Job>) = sync_channel(options.queue.max(1));
        let writing = Arc::new(Writing {
            desk: Mutex::new(Desk::new(opened, &options)),
            waiting: AtomicUsize::new(0),
        });
        let shared = Arc::clone(&writing);
        let thread = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || thread::run(&shared, &jobs))?;
        Ok(Self {
            queue,
            writing,
            thread: Mutex::new(Some(thread)),
            digests,
            public,
        })
    }

    /// Hands an event over for recording. The future resolves once the record is durable; the event is recorded
    /// whether or not the future is polled.
    pub fn append(
        &self,
        chain: Chain,
        event: &Event,
        at: SystemTime,
    ) -> impl Future<Output = Result<Receipt, AppendError>> + Send + use<> {
        let receipts = self.append_all(chain, slice::from_ref(event), at);
        async move { receipts.await?.into_iter().next().ok_or(AppendError::Closed) }
    }

    /// Hands several events of one chain over for recording, in this order: all of them or none, in one commit, so
    /// that whoever waits for them waits for the disk once.
    pub fn append_all(
        &self,
        chain: Chain,
        events: &[Event],
        at: SystemTime,
    ) -> impl Future<Output = Result<Vec<Receipt>, AppendError>> + Send + use<> {
        let (reply, receipts) = oneshot::channel();
        let queued = self.enqueue(chain, events, at, Reply::Future(reply));
        async move {
            queued?;
            receipts.await.unwrap_or(Err(AppendError::Closed))
        }
    }

    /// Records an event and waits for the disk. Not for use in asynchronous code.
    ///
    /// # Errors
    /// When nothing was recorded.
    pub fn append_blocking(
        &self,
        chain: Chain,
        event: &Event,
        at: SystemTime,
    ) -> Result<Receipt, AppendError> {
        let (reply, receipt) = sync_channel(1);
        self.enqueue(chain, slice::from_ref(event), at, Reply::Thread(reply))?;
        let receipts = receipt.recv().unwrap_or(Err(AppendError::Closed))?;
        receipts.into_iter().next().ok_or(AppendError::Closed)
    }

    /// The digest of some content under this ledger's key, for `chunk_hash` and argument digests.
    #[must_use]
    pub fn keyed_digest(&self, content: &[u8]) -> KeyedDigest {
        self.digests.digest(content)
    }

    /// The key that checks this ledger.
    #[must_use]
    pub const fn public_key(&self) -> PublicKey {
        self.public
    }

    /// Writes what is queued, signs a last checkpoint and gives the directory free.
    ///
    /// # Errors
    /// When the last checkpoint could not be written. Everything acknowledged is durable all the same.
    pub fn close(&self) -> Result<(), CloseError> {
        // A thread that is gone already has closed.
        let _ = self.queue.send(Job::Close);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        match thread.map(std::thread::JoinHandle::join) {
            None => Ok(()),
            Some(Ok(closed)) => closed,
            Some(Err(_)) => Err(CloseError(io::ErrorKind::Other)),
        }
    }

    fn enqueue(
        &self,
        chain: Chain,
        events: &[Event],
        at: SystemTime,
        reply: Reply,
    ) -> Result<(), AppendError> {
        if events.is_empty() {
            reply.send(Ok(Vec::new()));
            return Ok(());
        }
        if events.len() > Self::MAX_EVENTS {
            return Err(AppendError::TooLarge);
        }
        let events = events.iter().map(encoded).collect::<Result<_, _>>()?;
        let pending = Pending {
            chain,
            events,
            at_ms: record::to_ms(at),
            reply,
        };
        if may_wait_here(&pending.reply)
            && let Some(mut desk) = self.free_desk(&pending)
        {
            let knew = desk.due().is_some();
            desk.record(vec![pending]);
            desk.sign_if_due();
            if knew != desk.due().is_some() || desk.has_chores() {
                // When the queue is full the thread has work already, and does this after it.
                let _ = self.queue.try_send(Job::Chores);
            }
            return Ok(());
        }
        self.hand_over(pending)
    }

    fn hand_over(&self, pending: Pending) -> Result<(), AppendError> {
        self.writing.waiting.fetch_add(1, Ordering::SeqCst);
        self.queue.try_send(Job::Append(pending)).map_err(|refused| {
            self.writing.waiting.fetch_sub(1, Ordering::SeqCst);
            match refused {
                TrySendError::Full(_) => AppendError::Overloaded,
                TrySendError::Disconnected(_) => AppendError::Closed,
            }
        })
    }

    /// The desk, if nobody is at it, nobody waits for it, and one caller may use it for this.
    fn free_desk(&self, pending: &Pending) -> Option<MutexGuard<'_, Desk>> {
        let desk = match self.writing.desk.try_lock() {
            Ok(desk) => desk,
            Err(TryLockError::Poisoned(_) | TryLockError::WouldBlock) => return None,
        };
        // INVARIANT (in their order).
        let nobody_waits = self.writing.waiting.load(Ordering::SeqCst) == 0;
        (nobody_waits && desk.suits_one(pending)).then_some(desk)
    }
}

/// Whether this thread may wait for the disk: whoever waits as a thread does anyway, and a runtime with another worker goes on
/// meanwhile.
fn may_wait_here(reply: &Reply) -> bool {
    match reply {
        Reply::Thread(_) => true,
        Reply::Future(_) => Handle::try_current().is_ok_and(|runtime| runtime.metrics().num_workers() > 1),
    }
}

fn encoded(event: &Event) -> Result<Vec<u8>, AppendError> {
    let event = serde_json::to_vec(event).map_err(|_| AppendError::TooLarge)?;
    if event.len() > Ledger::MAX_EVENT_BYTES {
        return Err(AppendError::TooLarge);
    }
    Ok(event)
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Whoever wants to know how it went calls `close`.
        let _ = self.close();
    }
}
