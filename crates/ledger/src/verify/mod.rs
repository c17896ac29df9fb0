//! The verifier: reads the files anew and believes none of them.
//!
//! It shares the layout with the writer and nothing else: no index, no recovery, no cached state. Every record's hash
//! is computed once, and is at the same time the leaf of the tree whose root the signatures cover. It keeps the last
//! hash of every chain in memory: about 150 bytes for each session in the ledger.

mod bad;
mod walk;

use std::io;
use std::path::Path;

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

/// Checks a ledger's directory.
///
/// # Errors
/// The first thing that is not as it was written, or what the system reports.
pub fn verify(dir: &Path, trust: Trust<'_>) -> Result<Report, VerifyError> {
    let key = public_key(dir, trust)?;
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
    let head = match std::fs::read(dir.join(HEAD_FILE)) {
        Ok(head) => Some(head),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
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
