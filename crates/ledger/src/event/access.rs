//! Every access to data: what auditors need to see that the class rules were enforced, not merely declared.

use serde::{Deserialize, Serialize};
use tidegate_core::{Class, Role};

use super::wire;
use super::{Disposition, EvidencePointer, FieldNames, Origin, PiiLeakRisk, Score};
use crate::{KeyedDigest, Name};

/// A chunk was assembled into a context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextAssembly {
    /// The run whose context it entered.
    pub run_id: Name,
    /// The class of what entered in the clear.
    #[serde(with = "wire::spelled")]
    pub data_class: Class,
    /// Where it came from.
    pub source_id: Name,
    /// Whether anything was taken out first.
    pub redaction_applied: bool,
    /// The chunk, under the ledger's key.
    pub chunk_hash: KeyedDigest,
    /// What the chunk may be used as.
    pub origin: Origin,
    /// Where the raw content is kept, if it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub evidence_pointer: Option<EvidencePointer>,
}

/// Arguments were put together for a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolArgumentConstruction {
    /// The run that calls.
    pub run_id: Name,
    /// The tool to be called.
    pub tool_id: Name,
    /// The highest class found in the arguments.
    #[serde(with = "wire::spelled")]
    pub data_class: Class,
    /// The names of the arguments, never their values.
    pub argument_field_names: FieldNames,
    /// Whether the tool was found to be an authorized sink for them.
    pub authorized_sink_verified: bool,
}

/// Content carried instructions it had no right to give.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InjectionDetectionHit {
    /// The run it would have entered.
    pub run_id: Name,
    /// The chunk that was looked at.
    pub chunk_id: Name,
    /// The name of the pattern, never the matched text.
    pub injection_pattern_matched: Name,
    /// What was done with the chunk.
    pub disposition: Disposition,
    /// How sure the detector is.
    pub confidence_score: Score,
    /// Where the chunk came from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source_id: Option<Name>,
    /// Where the raw content is kept, if it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub evidence_pointer: Option<EvidencePointer>,
}

/// Data was stopped before it reached a destination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PiiEgressBlock {
    /// The run that tried.
    pub run_id: Name,
    /// The class of what was stopped.
    #[serde(with = "wire::spelled")]
    pub data_class: Class,
    /// Where it would have gone: a tool, or a host and port.
    pub destination: Name,
    /// The rule that stopped it.
    pub blocking_rule: Name,
    /// Always `pii-leak-risk`.
    pub failure_id: PiiLeakRisk,
    /// Where the raw content is kept, if it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub evidence_pointer: Option<EvidencePointer>,
}

/// An output was shown to someone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputDelivery {
    /// The run that produced it.
    pub run_id: Name,
    /// The class of what was shown.
    #[serde(with = "wire::spelled")]
    pub output_class: Class,
    /// Whom it was shown to.
    #[serde(with = "wire::spelled")]
    pub recipient_role: Role,
    /// Whether anything was taken out first.
    pub redaction_applied: bool,
}
