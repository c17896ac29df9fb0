//! What a client is told when something did not pass: rule, reason, remedy, and whether to try again.
//!
//! For a tool call that is a tool's result marked as an error, which an agent reads and acts on; for everything else it
//! is an error with the same facts beside it. It is never silence.

use serde_json::{Value, json};
use tidegate_connect::Failure;
use tidegate_core::{Ident, Refusal};
use tidegate_engine::{AccessError, DeliverError, VeilError};
use tidegate_store::Gate;

use crate::mcp::message::{Envelope, code};
use crate::mcp::object::raw;
use crate::mcp::shell::NotRun;
use crate::mcp::strict::Unreadable;
use crate::mcp::upstream::UpstreamError;

/// Something that did not pass.
#[derive(Debug)]
pub(crate) struct Stopped {
    rule: &'static str,
    reason: String,
    remedy: String,
    retryable: bool,
    code: i32,
    /// The gate where a person decides about it.
    gate: Option<Ident>,
}

/// The rule of what was not stopped but taken back.
const TAKEN_BACK: &str = "taken-back";

impl Stopped {
    /// The client took the request back, so it wants no answer.
    pub(super) fn taken_back() -> Self {
        Self::by(TAKEN_BACK, "the request was taken back", "nothing is to be done")
    }

    /// Whether the client wants no answer.
    pub(super) fn is_taken_back(&self) -> bool {
        self.rule == TAKEN_BACK
    }

    /// Whether it is told to the agent as a tool's result; what is wrong with the request itself is told to its client.
    pub(super) const fn is_for_agents(&self) -> bool {
        self.code != code::INVALID_PARAMS
    }

    /// By a rule of the gateway's own wire.
    pub(super) fn by(rule: &'static str, reason: impl Into<String>, remedy: &str) -> Self {
        Self {
            rule,
            reason: reason.into(),
            remedy: remedy.to_owned(),
            retryable: false,
            code: code::BLOCKED,
            gate: None,
        }
    }

    /// A call that still waits for a person.
    pub(super) fn held(refusal: &Refusal, gate: Option<&Gate>) -> Self {
        let Some(gate) = gate else {
            return refusal.into();
        };
        let id = &gate.id;
        Self {
            reason: format!("pending: {} (gate {id})", refusal.reason()),
            remedy: format!(
                "make the very same call again later to see whether gate {id} was approved; changed arguments are a new \
                 question; or go on with other steps"
            ),
            gate: Some(id.clone()),
            ..refusal.into()
        }
    }

    /// With another code, for what is an error in the protocol's own words.
    #[must_use]
    pub(super) const fn coded(mut self, code: i32) -> Self {
        self.code = code;
        self
    }

    /// A server that gave no answer.
    pub(super) fn at_server(server: &str, why: &UpstreamError) -> Self {
        if *why == UpstreamError::Unasked {
            let remedy = "make the call again without a requestState";
            return Self::by(
                "input-required",
                "no call waits for this input, or not for so long",
                remedy,
            );
        }
        if matches!(why, UpstreamError::TakenBack | UpstreamError::Left) {
            return Self::taken_back();
        }
        Self {
            rule: "server-unavailable",
            reason: format!("the server \"{server}\" gave no answer: {why}"),
            remedy: "try again later, or go on without this server; the other servers are not affected"
                .into(),
            retryable: true,
            code: code::UPSTREAM,
            gate: None,
        }
    }

    /// A connector whose source gave nothing.
    pub(super) fn at_source(failure: &Failure) -> Self {
        Self {
            rule: failure.rule(),
            reason: failure.to_string(),
            remedy: failure.remedy().to_owned(),
            retryable: failure.retryable(),
            code: code::UPSTREAM,
            gate: None,
        }
    }

    /// A command that was not run.
    pub(super) fn not_run(why: &NotRun) -> Self {
        Self {
            retryable: why.retryable,
            ..Self::by(
                "not-run",
                why.reason.clone(),
                "whoever runs the gateway can see with `tidegate doctor` what is missing",
            )
        }
    }

    fn facts(&self) -> Value {
        let mut facts = json!({
            "blocked": true,
            "rule": self.rule,
            "reason": self.reason,
            "remedy": self.remedy,
            "retryable": self.retryable,
        });
        if let (Some(gate), Some(facts)) = (&self.gate, facts.as_object_mut()) {
            facts.insert("pending".to_owned(), true.into());
            facts.insert("gate_id".to_owned(), gate.as_str().into());
        }
        facts
    }

    /// As the result of a tool call.
    pub(super) fn as_result(&self, id: &str) -> Envelope {
        let again = if self.retryable {
            "It may pass later."
        } else {
            "The same call will not pass in this session."
        };
        let text = format!("{}\nRemedy: {}\n{again}", self.reason, self.remedy);
        let result = json!({
            "content": [{"type": "text", "text": text}],
            "structuredContent": self.facts(),
            "isError": true,
        });
        Envelope::answer(id, raw(&result))
    }

    /// As an error.
    pub(super) fn as_error(&self, id: &str) -> Envelope {
        Envelope::refusal_with(id, self.code, &self.reason, &self.facts())
    }
}

impl From<&Refusal> for Stopped {
    fn from(refusal: &Refusal) -> Self {
        Self {
            rule: refusal.rule().as_str(),
            reason: refusal.reason(),
            remedy: refusal.remedy().to_owned(),
            retryable: refusal.retryable(),
            code: code::BLOCKED,
            gate: None,
        }
    }
}

impl From<VeilError> for Stopped {
    fn from(error: VeilError) -> Self {
        Self {
            retryable: true,
            ..Self::by(
                "unresolved",
                format!("the call was not made: {error}"),
                "call the tool that gave the stub or handle again, or pass less of it",
            )
        }
    }
}

impl From<AccessError> for Stopped {
    fn from(error: AccessError) -> Self {
        Self {
            retryable: matches!(
                error,
                AccessError::Store(_) | AccessError::Record(_) | AccessError::Authority(_)
            ),
            ..Self::by(
                "no-decision",
                format!("no decision can be made, so nothing passes: {error}"),
                "try again later; if it stays so, ask whoever runs the gateway",
            )
        }
    }
}

impl From<DeliverError> for Stopped {
    fn from(error: DeliverError) -> Self {
        Self {
            retryable: true,
            ..Self::by(
                "not-delivered",
                format!(
                    "the answer is withheld, because what it does to the session cannot be kept: {error}"
                ),
                "the call was made; look at its effect before you repeat it",
            )
        }
    }
}

impl From<Unreadable> for Stopped {
    fn from(error: Unreadable) -> Self {
        Self::by(
            "unreadable",
            error.to_string(),
            "name each member once and nest less deep",
        )
    }
}
