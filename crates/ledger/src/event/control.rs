//! What the gateway decided, and what people did to it.

use serde::{Deserialize, Serialize};
use tidegate_core::{Class, Kinds, Role};

use super::wire;
use super::{DestructionCause, EvidencePointer, GateOutcome, Verdict};
use crate::{KeyedDigest, Name, PublicDigest, Reason};

/// A call was allowed, denied or held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The tool that was to be called.
    pub tool: Name,
    /// What was decided.
    pub decision: Verdict,
    /// The rule that decided.
    pub rule: Name,
    /// The session's label at that moment.
    #[serde(with = "wire::spelled")]
    pub label: Class,
    /// The highest class found in the arguments, when they were looked at.
    #[serde(with = "wire::optional", skip_serializing_if = "Option::is_none", default)]
    pub argument_class: Option<Class>,
    /// What first raised the session's label.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contamination_source: Option<Name>,
    /// The policy the decision was made under.
    pub policy_version: Name,
}

/// A connection that belongs to no session was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionRefused {
    /// Where it was to lead, when that was read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub destination: Option<Name>,
    /// The rule that refused it.
    pub rule: Name,
}

/// A call that was allowed brought no answer in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallUnanswered {
    /// The tool that was called.
    pub tool: Name,
    /// Why: the client left or took the call back, or the server gave no answer. The call may have had its effect.
    pub cause: Name,
}

/// What a server says of something it offers is held until a person approves it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DefinitionHeld {
    /// The server.
    pub server: Name,
    /// What it offers: a tool, a resource, a template, a prompt.
    pub kind: Name,
    /// What that is called, when it has a name that can be shown.
    pub offered: Name,
    /// Why: it changed after it was first seen, or it gives orders to whoever reads it.
    pub cause: Name,
}

/// A session's label rose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rise {
    /// The label before.
    #[serde(with = "wire::spelled")]
    pub from: Class,
    /// The label after.
    #[serde(with = "wire::spelled")]
    pub to: Class,
    /// What raised it.
    pub source: Name,
    /// The kinds of sensitive data in the session now.
    #[serde(with = "wire::kinds")]
    pub kinds: Kinds,
}

/// A session began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionOpened {
    /// For whom.
    pub user: Name,
    /// Which agent works in it.
    pub agent: Name,
    /// Who asked, as the token says.
    pub principal: Name,
}

/// A private dataset was registered with a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatasetAdded {
    /// The dataset's name.
    pub dataset: Name,
    /// The class it was registered at.
    #[serde(with = "wire::spelled")]
    pub class: Class,
    /// Who registered it.
    pub by: Name,
}

/// An administrator lowered a session's label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reset {
    /// The label before.
    #[serde(with = "wire::spelled")]
    pub from: Class,
    /// The label after.
    #[serde(with = "wire::spelled")]
    pub to: Class,
    /// Why, in the administrator's words.
    pub reason: Reason,
    /// Who did it.
    pub by: Name,
}

/// A call waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateOpened {
    /// The gate.
    pub gate_id: Name,
    /// What sort of question it asks.
    pub kind: Name,
    /// The tool of the held call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<Name>,
    /// The exact arguments, under the ledger's key.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub argument_digest: Option<KeyedDigest>,
    /// The policy the call was held under.
    pub policy_version: Name,
    /// When silence becomes a denial, in milliseconds since 1970.
    pub expires_at_ms: i64,
}

/// A person answered, or nobody did in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateDecided {
    /// The gate.
    pub gate_id: Name,
    /// What came of it.
    pub decision: GateOutcome,
    /// Who answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<Name>,
    /// In which role.
    #[serde(with = "wire::optional", skip_serializing_if = "Option::is_none", default)]
    pub role: Option<Role>,
    /// Why, in the reviewer's words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<Reason>,
    /// How many more people must approve before an approval counts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approvals_missing: Option<u32>,
}

/// An approval was used up: what it stood for went on, this once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateSpent {
    /// The gate.
    pub gate_id: Name,
    /// What sort of question it had asked.
    pub kind: Name,
    /// The tool of the released call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tool: Option<Name>,
}

/// A reviewer was shown raw what a gate is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateRevealed {
    /// The gate.
    pub gate_id: Name,
    /// Who was shown it.
    pub by: Name,
    /// In which role.
    #[serde(with = "wire::spelled")]
    pub role: Role,
    /// The class of what was shown.
    #[serde(with = "wire::spelled")]
    pub data_class: Class,
    /// Why, in the reviewer's words.
    pub reason: Reason,
    /// Where it lies.
    pub evidence_pointer: EvidencePointer,
}

/// Somebody should look at the class that a source is assigned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassReviewOpened {
    /// The review.
    pub review_id: Name,
    /// The source: a tool, a connector, a destination, or one word for what callers name themselves.
    pub source: Name,
    /// Why: it is new, it changed, or data above what may be given was on its way out.
    pub cause: Name,
    /// The class of what it returns, when it was assigned one.
    #[serde(with = "wire::optional", skip_serializing_if = "Option::is_none", default)]
    pub class: Option<Class>,
    /// The highest class that it may be given, when it was assigned one.
    #[serde(with = "wire::optional", skip_serializing_if = "Option::is_none", default)]
    pub ceiling: Option<Class>,
}

/// A person looked at the class that a source is assigned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassReviewSettled {
    /// The review.
    pub review_id: Name,
    /// The source.
    pub source: Name,
    /// What they found: it was assigned right, or the configuration was changed.
    pub verdict: Name,
    /// Who looked.
    pub by: Name,
    /// In which role.
    #[serde(with = "wire::spelled")]
    pub role: Role,
    /// Why, in their words.
    pub reason: Reason,
}

/// Another policy took effect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyChanged {
    /// The policy now.
    pub digest: PublicDigest,
    /// The policy before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous: Option<PublicDigest>,
    /// The version that decisions name.
    pub policy_version: Name,
    /// Who changed it.
    pub by: Name,
}

/// An administrator's token was used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TokenUsedByAdmin {
    /// Which token; its public id, never the token.
    pub token_id: Name,
    /// Whose token.
    pub principal: Name,
    /// What for.
    pub action: Name,
    /// The session it was used on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<Name>,
}

/// Evidence was destroyed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvidenceDestroyed {
    /// The pointer that leads nowhere from now on.
    pub evidence_pointer: EvidencePointer,
    /// Why.
    pub cause: DestructionCause,
    /// Who asked for it, when somebody did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<Name>,
}

/// A narrow exit let a finding pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExitUsed {
    /// The run in which it was used.
    pub run_id: Name,
    /// The exit's name in the configuration.
    pub exit: Name,
    /// The rule that fired and did not count.
    pub rule: Name,
    /// The tool whose arguments or answer it was.
    pub tool: Name,
}

/// The gateway started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GatewayStarted {
    /// The program's version.
    pub version: Name,
    /// The policy it started with.
    pub policy_digest: PublicDigest,
}

/// The gateway stopped in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GatewayStopped {
    /// What made it stop: a signal's name, say.
    pub cause: Name,
}
