//! The verifier: reads the files anew and believes none of them.
//!
//! It shares the layout with the writer and nothing else: no index, no recovery, no cached state. Every record's hash
//! is computed once, and is at the same time the leaf of the tree whose root the signatures cover. It keeps the last
//! hash of every chain in memory: about 150 bytes for each session in the ledger.

mod bad;
mod hashes;
mod walk;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::SystemTime;

pub use bad::{FirstBad, What};

use crate::checkpoint::{PublicKey, SignedCheckpoint};
use crate::record::Hash;
use crate::segment::{self, HEAD_FILE, PUBLIC_KEY_FILE};
use walk::Walk;

/// What the verifier is told from outside the ledger. The less it is told, the more an attacker who holds the whole
/// directory can do unseen: without a key, sign anew with a key of their own; without a known checkpoint, put back an
/// older copy of everything.
#[derive(Clone, Copy, Debug)]
pub struct Trust<'a> {
    /// The key the ledger must be signed with. Without one, the key in the directory is believed.
    pub key: Option<&'a PublicKey>,
    /// A checkpoint seen earlier, which must still be part of the ledger.
    pub seen: Option<&'a SignedCheckpoint>,
}

impl Trust<'_> {
    /// Believe the key in the directory, and remember nothing.
    pub const DIRECTORY: Self = Self {
        key: None,
        seen: None,
    };
}

/// What was found when everything holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How many records there are.
    pub records: u64,
    /// How many chains they form.
    pub chains: u64,
    /// How many segments hold them.
    pub segments: u64,
    /// How many checkpoints were checked.
    pub checkpoints: u64,
    /// How many bytes were read.
    pub bytes: u64,
    /// Records after the newest checkpoint: linked by hashes, and not yet signed.
    pub unsigned: u64,
    /// Whether the ledger was closed in order. Until it is, what lies after the newest checkpoint can be cut off
    /// unseen.
    pub closed: bool,
    /// Bytes of an unfinished frame at the very end: a write that was under way, or was torn by a crash.
    pub unfinished_bytes: u64,
    /// The newest checkpoint. Keep it: with it, [`Trust::seen`] notices when an older copy was put back.
    pub newest: Option<SignedCheckpoint>,
    /// The root over all records, signed or not.
    pub root: Hash,
}

/// Why there is no clean report.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Something is not as it was written.
    #[error(transparent)]
    Bad(#[from] FirstBad),
    /// The files cannot be read.
    #[error("the ledger cannot be read: {0}")]
    Io(#[from] io::Error),
}

/// Checks a ledger's directory, also while it is being written.
///
/// # Errors
/// The first thing that is not as it was written, or what the system reports.
pub fn verify(dir: &Path, trust: Trust<'_>) -> Result<Report, VerifyError> {
    /// A file that changes while it is read can look broken. Damage stays; a passing sight does not.
    const ATTEMPTS: usize = 5;
    let mut state = state(dir)?;
    for _ in 1..ATTEMPTS {
        let verdict = attempt(dir, trust);
        let now = self::state(dir)?;
        if verdict.is_ok() || now == state {
            return verdict;
        }
        state = now;
    }
    attempt(dir, trust)
}

/// Name, length and time of change of every file.
fn state(dir: &Path) -> io::Result<BTreeSet<(OsString, u64, Option<SystemTime>)>> {
    std::fs::read_dir(dir)?
        .map(|entry| {
            let entry = entry?;
            let metadata = entry.metadata()?;
            Ok((entry.file_name(), metadata.len(), metadata.modified().ok()))
        })
        // A file that was replaced between listing and looking is a change like any other.
        .filter(|file| !matches!(file, Err(error) if io::Error::kind(error) == io::ErrorKind::NotFound))
        .collect()
}

fn attempt(dir: &Path, trust: Trust<'_>) -> Result<Report, VerifyError> {
    let key = public_key(dir, trust)?;
    // Before the segments: a checkpoint that it names must be in them by then.
    let head = match std::fs::read(dir.join(HEAD_FILE)) {
        Ok(head) => Some(head),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let mut walk = Walk::new(key, trust.seen.copied());
    let mut bytes = Vec::new();
    let numbers = segment::numbers(dir)?;
    let last = numbers.last().copied();
    for (number, expected) in numbers.into_iter().zip(1..) {
        if number != expected {
            return Err(FirstBad::in_segment(expected, What::SegmentMissing).into());
        }
        segment::read(dir, number, &mut bytes)?;
        walk.segment(number, &bytes, Some(number) == last)?;
    }
    Ok(walk.finish(head.as_deref())?)
}

fn public_key(dir: &Path, trust: Trust<'_>) -> Result<PublicKey, VerifyError> {
    let text = std::fs::read_to_string(dir.join(PUBLIC_KEY_FILE)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::InvalidData => FirstBad::of_ledger(What::NoPublicKey).into(),
        _ => VerifyError::Io(error),
    })?;
    let recorded = PublicKey::parse(&text).ok_or(FirstBad::of_ledger(What::NoPublicKey))?;
    match trust.key {
        Some(trusted) if *trusted != recorded => Err(FirstBad::of_ledger(What::OtherKey).into()),
        _ => Ok(recorded),
    }
}
