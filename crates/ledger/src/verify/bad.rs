//! What the verifier says when something is wrong.

use std::fmt;

use crate::record::{Chain, RecordView};

/// The first thing in a ledger that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstBad {
    /// What is wrong.
    pub what: What,
    /// In which segment, if in one.
    pub segment: Option<u64>,
    /// At which byte of it, if that is known.
    pub position: Option<u64>,
    /// The first bad record's place among all records, if a record is bad.
    pub record: Option<u64>,
    /// Its chain and place there, as far as they can be read.
    pub chain: Option<(Chain, u64)>,
}

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A record's bytes are not those that were hashed.
    Changed,
    /// A record is gone, and others follow.
    Missing,
    /// A record stands in another's place.
    Reordered,
    /// A record does not continue its chain.
    Unlinked,
    /// The end is gone: a checkpoint that was signed is not there, or not all it covers.
    Truncated,
    /// The records are not those that were signed: some were rewritten together with their hashes.
    NotAsSigned,
    /// A checkpoint that the key did not sign, or that does not continue the one before.
    ForgedCheckpoint,
    /// A frame's own bytes are not those that were written.
    FrameChanged,
    /// A segment's header is not the one that was written, or not of this ledger.
    HeaderChanged,
    /// A segment is gone, and others follow.
    SegmentMissing,
    /// A segment is longer or shorter than its successor says, or than its closing checkpoint does.
    WrongLength,
    /// The file that names the newest checkpoint is gone or changed.
    HeadChanged,
    /// A checkpoint seen earlier is not part of this ledger: an older copy was put back, or it is another one.
    SeenCheckpointMissing,
    /// There is no readable public key in the directory.
    NoPublicKey,
    /// The directory's public key is not the trusted one.
    OtherKey,
}

impl What {
    const fn text(self) -> &'static str {
        match self {
            Self::Changed => "a record was changed",
            Self::Missing => "a record is missing",
            Self::Reordered => "records were reordered",
            Self::Unlinked => "a record does not continue its chain",
            Self::Truncated => "the ledger was truncated",
            Self::NotAsSigned => "the records are not those that were signed",
            Self::ForgedCheckpoint => "a checkpoint is forged",
            Self::FrameChanged => "a frame was changed",
            Self::HeaderChanged => "a segment's header was changed",
            Self::SegmentMissing => "a segment is missing",
            Self::WrongLength => "a segment does not have its recorded length",
            Self::HeadChanged => "the record of the newest checkpoint was changed",
            Self::SeenCheckpointMissing => "a checkpoint seen earlier is not in this ledger",
            Self::NoPublicKey => "the ledger has no readable public key",
            Self::OtherKey => "the ledger is signed with another key than the trusted one",
        }
    }
}

impl FirstBad {
    pub(super) const fn of_ledger(what: What) -> Self {
        Self {
            what,
            segment: None,
            position: None,
            record: None,
            chain: None,
        }
    }

    pub(super) fn in_segment(segment: u64, what: What) -> Self {
        Self {
            segment: Some(segment),
            ..Self::of_ledger(what)
        }
    }

    pub(super) fn at(segment: u64, position: usize, what: What) -> Self {
        Self {
            position: Some(position as u64),
            ..Self::in_segment(segment, what)
        }
    }

    pub(super) const fn record(mut self, index: u64) -> Self {
        self.record = Some(index);
        self
    }

    /// Names the record by what its own bytes claim.
    pub(super) fn named(mut self, record: &RecordView<'_>) -> Self {
        self.chain = Chain::decode(record.chain).map(|chain| (chain, record.seq));
        self
    }
}

impl std::error::Error for FirstBad {}

impl fmt::Display for FirstBad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what.text())?;
        if let Some(record) = self.record {
            write!(f, ", record {record}")?;
        }
        if let Some((chain, seq)) = &self.chain {
            write!(f, " ({chain}, number {seq})")?;
        }
        if let Some(segment) = self.segment {
            write!(f, ", segment {segment}")?;
        }
        if let Some(position) = self.position {
            write!(f, ", byte {position}")?;
        }
        Ok(())
    }
}
