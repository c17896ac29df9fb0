//! The shapes of gates on the wire. Fields may be added; these stay.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tidegate_core::Ident;
use tidegate_engine::{GatePage, GateView};
use utoipa::{IntoParams, ToSchema};

use super::rfc3339;

/// Which gates to list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct GatesQuery {
    /// open (when left out), decided or all.
    pub(crate) state: Option<String>,
    /// tool-approval, injection-halt, pii-leak-risk, tool-changed or lower-label.
    pub(crate) kind: Option<String>,
    /// Only of this session.
    pub(crate) session: Option<String>,
    /// Where to go on, as the page before said in `next`.
    pub(crate) cursor: Option<String>,
    /// The most gates on the page: 1 to 200.
    pub(crate) limit: Option<usize>,
}

/// How long to wait for an answer.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitQuery {
    /// The most seconds to wait for a decision; never more than the gateway's own bound.
    pub(crate) wait: Option<u64>,
}

/// A page of gates.
#[derive(Serialize, ToSchema)]
pub(crate) struct GatesAnswer {
    pub(crate) gates: Vec<GateAnswer>,
    /// Where the next page begins; null on the last one.
    pub(crate) next: Option<String>,
}

/// A question to a person.
#[derive(Serialize, ToSchema)]
pub(crate) struct GateAnswer {
    pub(crate) gate_id: String,
    /// tool-approval, injection-halt, pii-leak-risk, tool-changed or lower-label.
    pub(crate) kind: &'static str,
    pub(crate) session_id: String,
    pub(crate) user: String,
    pub(crate) agent: String,
    /// Whose token asked.
    pub(crate) asked_by: String,
    pub(crate) tool: Option<String>,
    /// The class of what is at stake.
    pub(crate) class: &'static str,
    /// The session's label when it was asked.
    pub(crate) label: &'static str,
    /// The rule that asks.
    pub(crate) rule: String,
    /// Why it asks.
    pub(crate) reason: String,
    /// What whoever asked for it wrote.
    pub(crate) note: Option<String>,
    /// In plain words, to the agent.
    pub(crate) for_agent: String,
    /// In plain words, to the person who decides.
    pub(crate) for_person: String,
    /// What it is about, redacted to whoever looks.
    #[schema(value_type = Object)]
    pub(crate) arguments: Value,
    /// Which rules found what in it, each with class and count.
    #[schema(value_type = Object)]
    pub(crate) findings: Value,
    /// The policy under which it asks.
    pub(crate) policy_version: String,
    pub(crate) opened_at: String,
    /// When silence becomes a denial, or an approval that was not used is void.
    pub(crate) expires_at: String,
    /// open, approved, denied, expired or spent.
    pub(crate) state: &'static str,
    pub(crate) decided_by: Option<String>,
    pub(crate) decided_at: Option<String>,
    pub(crate) decision_reason: Option<String>,
    pub(crate) approvals: Vec<ApprovalAnswer>,
    /// How many people must approve.
    pub(crate) approvals_needed: u32,
}

/// One person's yes.
#[derive(Serialize, ToSchema)]
pub(crate) struct ApprovalAnswer {
    pub(crate) by: String,
    pub(crate) role: &'static str,
    pub(crate) at: String,
}

/// An answer to a gate.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecideBody {
    /// approve or deny.
    pub(crate) decision: String,
    /// Why, in 1 to 500 characters, without values.
    pub(crate) reason: String,
}

/// Why somebody wants to see what a gate is about.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RevealBody {
    /// Why, in 1 to 500 characters, without values.
    pub(crate) reason: String,
}

/// What a gate is about, raw.
#[derive(Serialize, ToSchema)]
pub(crate) struct RevealAnswer {
    pub(crate) gate_id: String,
    pub(crate) class: &'static str,
    #[schema(value_type = Object)]
    pub(crate) arguments: Value,
}

/// Something to ask a person for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskBody {
    /// lower-label or injection-halt.
    pub(crate) kind: String,
    /// Why, in 1 to 500 characters, without values.
    pub(crate) reason: String,
}

impl From<GatePage> for GatesAnswer {
    fn from(page: GatePage) -> Self {
        Self {
            gates: page.gates.into_iter().map(GateAnswer::from).collect(),
            next: page.next.map(|place| place.to_string()),
        }
    }
}

impl From<GateView> for GateAnswer {
    fn from(view: GateView) -> Self {
        let gate = view.gate;
        let end = gate.end.as_ref();
        let approvals = gate.approvals.iter().map(|given| ApprovalAnswer {
            by: given.by.to_string(),
            role: given.role.as_str(),
            at: rfc3339(given.at),
        });
        Self {
            kind: gate.kind.as_str(),
            state: view.state.as_str(),
            class: gate.class.as_str(),
            label: view.label.as_str(),
            reason: view.reason,
            note: view.note,
            for_agent: view.for_agent,
            for_person: view.for_person,
            arguments: view.arguments,
            findings: view.findings,
            opened_at: rfc3339(gate.opened_at),
            expires_at: rfc3339(gate.expires_at),
            decided_by: end.and_then(|end| end.by.as_ref()).map(Ident::to_string),
            decided_at: end.map(|end| rfc3339(end.at)),
            decision_reason: end.map(|end| end.reason.clone()),
            approvals: approvals.collect(),
            approvals_needed: gate.needed,
            gate_id: gate.id.to_string(),
            session_id: gate.session.to_string(),
            user: gate.user.to_string(),
            agent: gate.agent.to_string(),
            asked_by: gate.asked_by.to_string(),
            tool: gate.tool.map(|tool| tool.to_string()),
            rule: gate.rule,
            policy_version: gate.policy,
        }
    }
}
