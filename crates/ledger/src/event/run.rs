//! What a run kept, cited, left out and handed on.

use serde::{Deserialize, Serialize};
use tidegate_core::Class;

use super::wire;
use super::{CitationOutcome, MemoryAct, MemoryKind};
use crate::{KeyedDigest, Name};

/// A chunk was kept out of a context for where it came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChunkBlocked {
    /// The run whose context it would have entered.
    pub run_id: Name,
    /// Where it was said to come from.
    pub source_id: Name,
    /// The chunk, under the ledger's key.
    pub chunk_hash: KeyedDigest,
    /// The rule that kept it out.
    pub blocking_rule: Name,
}

/// A citation was looked up in its source of record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CitationChecked {
    /// The run that was to rely on it.
    pub run_id: Name,
    /// What sort of citation it is, as configured.
    pub citation_kind: Name,
    /// The citation, under the ledger's key.
    pub citation_hash: KeyedDigest,
    /// What the source of record said.
    pub outcome: CitationOutcome,
    /// Where the text that cites came from; absent for a model's output.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source_id: Option<Name>,
}

/// A scratchpad or an agent's memory was read, written, refused or cleared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryAccess {
    /// The run that asked.
    pub run_id: Name,
    /// Which of the two.
    pub memory: MemoryKind,
    /// What was done.
    pub action: MemoryAct,
    /// The class of what was read or written.
    #[serde(with = "wire::spelled")]
    pub data_class: Class,
    /// Whether the memory is designated as a sink for that class.
    pub authorized_sink_verified: bool,
}

/// A run ended; its scratchpad is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The label at its end.
    #[serde(with = "wire::spelled")]
    pub label: Class,
    /// Who ended it.
    pub by: Name,
}

/// A run started a run of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildOpened {
    /// The new session.
    pub child: Name,
    /// Whether it began with its parent's label.
    pub inherited: bool,
    /// The label it began with.
    #[serde(with = "wire::spelled")]
    pub label: Class,
    /// The most bits that its declared answer can carry.
    pub answer_bits: u32,
}

/// A child's answer was handed to its parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildReturned {
    /// The child.
    pub child: Name,
    /// The child's label.
    #[serde(with = "wire::spelled")]
    pub data_class: Class,
    /// The bits that passed below that label; 0 when the parent's label covers it.
    pub released_bits: u32,
}
