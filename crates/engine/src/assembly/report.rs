//! What is to be said of an assembly: of each chunk, of the whole, and of why there is none.

use std::sync::Arc;

use tidegate_core::{Class, Confined, Name};
use tidegate_detect::Finding;
use tidegate_ledger::event::{CitationOutcome, Origin};
use tidegate_store::{MirrorError, Session, StoreError};

use super::{Citation, MOST_CHUNKS};
use crate::{AccessError, Interrupted, RecordError};

/// How much a reader may rely on what was assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Band {
    /// Nothing of use entered, or much was left out.
    Low,
    /// Something was left out or looks odd.
    Medium,
    /// All of it entered and nothing looks odd.
    High,
}

impl Band {
    /// The name used on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    pub(super) const fn lowered(self) -> Self {
        match self {
            Self::High => Self::Medium,
            Self::Medium | Self::Low => Self::Low,
        }
    }
}

/// What became of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It entered as it is.
    Admitted,
    /// It entered with stubs in place of what must not be seen.
    Redacted,
    /// It gives orders: it was put away and did not enter.
    Quarantined,
    /// It did not enter for where it came from.
    Blocked,
}

impl Disposition {
    /// The name used on every wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admitted => "admitted",
            Self::Redacted => "redacted",
            Self::Quarantined => "quarantined",
            Self::Blocked => "blocked",
        }
    }
}

/// What is to be said of one chunk.
#[derive(Debug)]
pub struct ChunkReport {
    /// Where it came from.
    pub source: Name,
    /// What it may be used as.
    pub origin: Origin,
    /// What became of it.
    pub disposition: Disposition,
    /// The rule that kept it out, where one did.
    pub rule: Option<&'static str>,
    /// The class of what entered in the clear; nothing when nothing entered.
    pub class: Option<Class>,
    /// How much a reader may rely on it; nothing when it did not enter.
    pub band: Option<Band>,
    /// What was found in it: places and rules, never values.
    pub findings: Vec<Finding>,
    /// Its citations, and what their records said.
    pub citations: Vec<Citation>,
}

/// A context, ready for a model.
#[derive(Debug)]
pub struct Assembled {
    /// Everything that entered, in frames.
    pub text: Confined<String>,
    /// The number that the frames of this assembly carry.
    pub nonce: String,
    /// How much a reader may rely on the whole.
    pub band: Band,
    /// The session after it, durably.
    pub session: Arc<Session>,
    /// What became of each chunk, in the order they were given.
    pub chunks: Vec<ChunkReport>,
}

/// Why nothing was assembled.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// The caller cannot have the session.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// More chunks than one context takes.
    #[error("a context takes at most {MOST_CHUNKS} chunks; send fewer")]
    TooMany,
    /// Nothing passes in this session.
    #[error("the session is halted or has ended, so nothing enters its context")]
    Halted,
    /// The mirror could not be written, so nothing is released.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
}

impl From<Interrupted> for AssembleError {
    fn from(error: Interrupted) -> Self {
        Self::Access(error.into())
    }
}

impl From<RecordError> for AssembleError {
    fn from(error: RecordError) -> Self {
        Self::Access(error.into())
    }
}

impl From<StoreError> for AssembleError {
    fn from(error: StoreError) -> Self {
        Self::Access(error.into())
    }
}

/// What a reader of a chunk is warned of, in its mark.
pub(super) fn notice(report: &ChunkReport) -> Option<String> {
    let count = |outcome| {
        let of_it = report
            .citations
            .iter()
            .filter(|citation| citation.outcome == outcome);
        of_it.count()
    };
    let (unknown, unchecked) = (
        count(CitationOutcome::HallucinatedCitation),
        count(CitationOutcome::Unverified),
    );
    (unknown + unchecked > 0)
        .then(|| format!(" hallucinated_citations={unknown} unverified_citations={unchecked}"))
}

/// The lowest band of what entered, one lower when something was left out, low when that was half of it or more.
pub(super) fn band(reports: &[ChunkReport]) -> Band {
    let bands: Vec<_> = reports.iter().filter_map(|report| report.band).collect();
    let left_out = reports.len() - bands.len();
    match bands.into_iter().min() {
        Some(_) if 2 * left_out >= reports.len() => Band::Low,
        Some(lowest) if left_out > 0 => lowest.lowered(),
        Some(lowest) => lowest,
        None => Band::Low,
    }
}
