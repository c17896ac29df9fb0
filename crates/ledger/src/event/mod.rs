//! What a record can say. One struct for each event, with the field names auditors were promised.
//!
//! Names and classes, never values: every field is a class, a bounded name, a flag, a number, a digest or a pointer
//! into the vault. The places where a person's own words are kept are typed [`Reason`].

mod access;
mod control;
mod parts;
mod run;
mod wire;

use serde::{Deserialize, Serialize};
use tidegate_core::Class;

pub use access::{
    ContextAssembly, InjectionDetectionHit, OutputDelivery, PiiEgressBlock, ToolArgumentConstruction,
};
pub use control::{
    CallUnanswered, ClassReviewOpened, ClassReviewSettled, ConnectionRefused, DatasetAdded, Decision,
    DefinitionHeld, EvidenceDestroyed, ExitUsed, GateDecided, GateOpened, GateRevealed, GateSpent,
    GatewayStarted, GatewayStopped, PolicyChanged, Reset, Rise, SessionOpened, TokenUsedByAdmin,
};
pub use parts::{
    CitationOutcome, DestructionCause, Disposition, EvidencePointer, FieldNames, GateOutcome, MemoryAct,
    MemoryKind, Origin, PiiLeakRisk, Score, Verdict,
};
pub use run::{ChildOpened, ChildReturned, ChunkBlocked, CitationChecked, MemoryAccess, SessionEnded};

use crate::Name;
#[cfg(doc)]
use crate::Reason;

macro_rules! events {
    ($($variant:ident => $name:literal: $doc:literal),+ $(,)?) => {
        /// One thing that happened.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "type")]
        pub enum Event {
            $(#[doc = $doc] #[serde(rename = $name)] $variant($variant),)+
        }

        impl Event {
            /// The name of every type of event.
            pub const TYPES: &'static [&'static str] = &[$($name),+];

            /// The type's name, as records spell it.
            #[must_use]
            pub const fn type_name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }
        }

        $(impl From<$variant> for Event {
            fn from(event: $variant) -> Self {
                Self::$variant(event)
            }
        })+
    };
}

events! {
    ContextAssembly => "context_assembly": "A chunk was assembled into a context.",
    ToolArgumentConstruction => "tool_argument_construction": "Arguments were put together for a tool.",
    InjectionDetectionHit => "injection_detection_hit": "Content carried instructions it had no right to give.",
    PiiEgressBlock => "pii_egress_block": "Data was stopped before it reached a destination.",
    OutputDelivery => "output_delivery": "An output was shown to someone.",
    Decision => "decision": "A call was allowed, denied or held.",
    CallUnanswered => "call_unanswered": "A call that was allowed brought no answer in.",
    DefinitionHeld => "definition_held": "What a server says of something it offers waits for a person.",
    ConnectionRefused => "connection_refused": "A connection that belongs to no session was refused.",
    Rise => "rise": "A session's label rose.",
    SessionOpened => "session_opened": "A session began.",
    DatasetAdded => "dataset_added": "A private dataset was registered with a session.",
    Reset => "reset": "An administrator lowered a session's label.",
    GateOpened => "gate_opened": "A call waits for a person.",
    GateDecided => "gate_decided": "A person answered, or nobody did in time.",
    GateSpent => "gate_spent": "An approval was used up.",
    GateRevealed => "gate_revealed": "A reviewer was shown raw what a gate is about.",
    ClassReviewOpened => "class_review_opened": "Somebody should look at the class that a source is assigned.",
    ClassReviewSettled => "class_review_settled": "A person looked at the class that a source is assigned.",
    PolicyChanged => "policy_changed": "Another policy took effect.",
    TokenUsedByAdmin => "token_used_by_admin": "An administrator's token was used.",
    EvidenceDestroyed => "evidence_destroyed": "Evidence was destroyed.",
    ExitUsed => "exit_used": "A narrow exit let a finding pass.",
    ChunkBlocked => "chunk_blocked": "A chunk was kept out of a context for where it came from.",
    CitationChecked => "citation_checked": "A citation was looked up in its source of record.",
    MemoryAccess => "memory_access": "A scratchpad or an agent's memory was read, written, refused or cleared.",
    SessionEnded => "session_ended": "A run ended; its scratchpad is gone.",
    ChildOpened => "child_opened": "A run started a run of its own.",
    ChildReturned => "child_returned": "A child's answer was handed to its parent.",
    GatewayStarted => "gateway_started": "The gateway started.",
    GatewayStopped => "gateway_stopped": "The gateway stopped in order.",
}

impl Event {
    /// The class the event is about: of the data, or of the session after it.
    #[must_use]
    pub fn class(&self) -> Option<Class> {
        match self {
            Self::ContextAssembly(event) => Some(event.data_class),
            Self::ToolArgumentConstruction(event) => Some(event.data_class),
            Self::PiiEgressBlock(event) => Some(event.data_class),
            Self::OutputDelivery(event) => Some(event.output_class),
            Self::Decision(event) => Some(event.label),
            Self::Rise(event) => Some(event.to),
            Self::DatasetAdded(event) => Some(event.class),
            Self::Reset(event) => Some(event.to),
            Self::EvidenceDestroyed(event) => Some(event.evidence_pointer.class()),
            Self::MemoryAccess(event) => Some(event.data_class),
            Self::SessionEnded(event) => Some(event.label),
            Self::ChildOpened(event) => Some(event.label),
            Self::ChildReturned(event) => Some(event.data_class),
            Self::GateRevealed(event) => Some(event.data_class),
            Self::InjectionDetectionHit(_)
            | Self::CallUnanswered(_)
            | Self::DefinitionHeld(_)
            | Self::ConnectionRefused(_)
            | Self::SessionOpened(_)
            | Self::GateOpened(_)
            | Self::GateDecided(_)
            | Self::GateSpent(_)
            | Self::ClassReviewOpened(_)
            | Self::ClassReviewSettled(_)
            | Self::PolicyChanged(_)
            | Self::TokenUsedByAdmin(_)
            | Self::ExitUsed(_)
            | Self::ChunkBlocked(_)
            | Self::CitationChecked(_)
            | Self::GatewayStarted(_)
            | Self::GatewayStopped(_) => None,
        }
    }

    /// The tool the event is about.
    #[must_use]
    pub fn tool(&self) -> Option<&Name> {
        match self {
            Self::ToolArgumentConstruction(event) => Some(&event.tool_id),
            Self::Decision(event) => Some(&event.tool),
            Self::CallUnanswered(event) => Some(&event.tool),
            Self::GateOpened(event) => event.tool.as_ref(),
            Self::GateSpent(event) => event.tool.as_ref(),
            Self::ExitUsed(event) => Some(&event.tool),
            Self::ClassReviewOpened(event) => Some(&event.source),
            Self::ClassReviewSettled(event) => Some(&event.source),
            Self::ContextAssembly(_)
            | Self::InjectionDetectionHit(_)
            | Self::PiiEgressBlock(_)
            | Self::OutputDelivery(_)
            | Self::DefinitionHeld(_)
            | Self::ConnectionRefused(_)
            | Self::Rise(_)
            | Self::SessionOpened(_)
            | Self::DatasetAdded(_)
            | Self::Reset(_)
            | Self::GateDecided(_)
            | Self::GateRevealed(_)
            | Self::PolicyChanged(_)
            | Self::TokenUsedByAdmin(_)
            | Self::EvidenceDestroyed(_)
            | Self::ChunkBlocked(_)
            | Self::CitationChecked(_)
            | Self::MemoryAccess(_)
            | Self::SessionEnded(_)
            | Self::ChildOpened(_)
            | Self::ChildReturned(_)
            | Self::GatewayStarted(_)
            | Self::GatewayStopped(_) => None,
        }
    }
}
