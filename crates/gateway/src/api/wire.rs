//! The shapes on the wire. Fields may be added; these stay.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tidegate_core::{Halt, Manifest, Moment, Name};
use tidegate_detect::Finding;
use tidegate_engine::ContextView;
use tidegate_store::Session;
use utoipa::ToSchema;

use super::context::CitationAnswer;

/// A session to open. What is left out is the token's own, or made up.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenBody {
    /// For whom; the token's principal unless a connector or an administrator says otherwise.
    pub(crate) user: Option<String>,
    /// For which agent.
    pub(crate) agent: Option<String>,
    /// Under which id; asking again for one's own session gives it as it is.
    pub(crate) session_id: Option<String>,
    /// The session that starts this one; it belongs to the same user and agent.
    pub(crate) parent: Option<String>,
    /// Whether a child begins with its parent's label. It does unless this says otherwise.
    pub(crate) inherit: Option<bool>,
    /// What a child may answer: names, each with a boolean, a bounded integer or an enum. Free text cannot be declared.
    #[schema(value_type = Option<Object>)]
    pub(crate) answer: Option<serde_json::Map<String, Value>>,
}

/// A session's handle and what its agent may know before it plans.
#[derive(Serialize, ToSchema)]
pub(crate) struct OpenAnswer {
    pub(crate) session_id: String,
    pub(crate) manifest: ManifestAnswer,
}

/// A session's state.
#[derive(Serialize, ToSchema)]
pub(crate) struct StateAnswer {
    pub(crate) session_id: String,
    pub(crate) user: String,
    pub(crate) agent: String,
    /// The label: public, internal, confidential, pii or secret.
    pub(crate) sensitivity: &'static str,
    pub(crate) has_private_data: bool,
    /// When the label first left public.
    pub(crate) contaminated_at: Option<String>,
    /// What raised the label to where it stands.
    pub(crate) contamination_source: Option<String>,
    /// What sorts of sensitive data entered: pii, internal_ip, credentials.
    pub(crate) kinds: Vec<&'static str>,
    pub(crate) datasets: Vec<DatasetAnswer>,
    /// The tools that the session's state closes.
    pub(crate) blocked_tools: Vec<String>,
    /// Whether nothing passes until a person decides.
    pub(crate) halted: bool,
    /// Whether the run has ended, so that nothing passes any more.
    pub(crate) ended: bool,
    /// Each step up of the label.
    pub(crate) rises: Vec<RiseAnswer>,
    pub(crate) opened_at: String,
}

/// A dataset in a session.
#[derive(Serialize, ToSchema)]
pub(crate) struct DatasetAnswer {
    pub(crate) name: String,
    pub(crate) sensitivity: &'static str,
}

/// One step up of a label.
#[derive(Serialize, ToSchema)]
pub(crate) struct RiseAnswer {
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) source: String,
    pub(crate) at: String,
}

/// What an agent may know before it plans.
#[derive(Serialize, ToSchema)]
pub(crate) struct ManifestAnswer {
    pub(crate) session_id: String,
    pub(crate) tools: Vec<ManifestToolAnswer>,
    pub(crate) ordering_hint: &'static str,
    /// A few lines for a system prompt.
    pub(crate) planning_constraint: String,
}

/// One tool of a manifest.
#[derive(Serialize, ToSchema)]
pub(crate) struct ManifestToolAnswer {
    pub(crate) name: String,
    /// internal_source, external or neutral.
    pub(crate) sensitivity: &'static str,
    /// The class of what it returns.
    pub(crate) class: &'static str,
    /// The highest class it may be given.
    pub(crate) ceiling: &'static str,
    /// What calling it would close, from the session's state now.
    pub(crate) consequence: String,
    /// Whether it is closed now.
    pub(crate) blocked: bool,
    /// When its result is sealed: always, on-request or above:CLASS. Whatever it says, an agent may ask for it.
    pub(crate) seal: String,
    /// Whether stubs and handles resolve in calls to it.
    pub(crate) sink: bool,
    /// Whether its result is split by field.
    pub(crate) split: bool,
}

/// A plan to check.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanBody {
    /// The calls in the order planned.
    pub(crate) planned_calls: Vec<PlannedCallBody>,
}

/// One call of a plan: a tool's name, or the name with the steps whose results it needs.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum PlannedCallBody {
    /// A tool's name.
    Name(String),
    /// A tool's name and what it needs.
    Call(PlannedCallObject),
}

/// A planned call with its dependencies.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedCallObject {
    pub(crate) tool: String,
    /// The steps, counted from zero, whose results this call needs.
    #[serde(default)]
    pub(crate) after: Vec<usize>,
}

/// What the user typed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperatorInputBody {
    pub(crate) text: String,
    /// The class it brings into the session: public, internal, confidential, pii or secret. Left out: the label stays.
    pub(crate) sensitivity: Option<String>,
}

/// What the user typed is known from now on.
#[derive(Serialize, ToSchema)]
pub(crate) struct OperatorInputAnswer {
    pub(crate) known: bool,
}

/// What is to be said of a plan.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlanAnswer {
    pub(crate) valid: bool,
    pub(crate) violations: Vec<ViolationAnswer>,
    /// The tools in an order in which every call passes; null when there is none.
    pub(crate) safe_ordering: Option<Vec<String>>,
    /// The same order as steps of the plan, counted from zero.
    pub(crate) safe_steps: Option<Vec<usize>>,
    /// Where no order is safe: the steps whose results to keep out of this session so that one is.
    pub(crate) proposals: Vec<ProposalAnswer>,
}

/// A step to take in another way.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProposalAnswer {
    pub(crate) at_step: usize,
    pub(crate) tool: String,
    /// seal or child-session.
    pub(crate) way: &'static str,
}

/// A step that would not pass.
#[derive(Serialize, ToSchema)]
pub(crate) struct ViolationAnswer {
    pub(crate) at_step: usize,
    pub(crate) tool: String,
    pub(crate) reason: String,
    pub(crate) suggestion: String,
}

/// A call to be decided.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuthorizeBody {
    pub(crate) tool: String,
    /// The arguments as the tool would get them.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub(crate) arguments: Value,
    /// The most seconds to wait for a person where one has to approve; never more than the gateway's own bound.
    pub(crate) wait_seconds: Option<u64>,
}

/// A decision that an agent can act on.
#[derive(Serialize, ToSchema)]
pub(crate) struct DecisionAnswer {
    /// allow, deny or hold.
    pub(crate) decision: &'static str,
    pub(crate) allowed: bool,
    pub(crate) rule: &'static str,
    pub(crate) reason: String,
    /// What to do instead; null when the call is allowed.
    pub(crate) remedy: Option<&'static str>,
    /// Whether the same call, or one with other arguments, may pass later in this session.
    pub(crate) retryable: bool,
    /// The gate a person decides at, where one was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gate_id: Option<String>,
    /// Whether the arguments hold stubs or handles: a connector then asks for their values and makes the call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unresolved: bool,
}

/// A decision, and the arguments with the values of their stubs and handles in them.
#[derive(Serialize, ToSchema)]
pub(crate) struct ResolveAnswer {
    #[serde(flatten)]
    pub(crate) decision: DecisionAnswer,
    /// The arguments as the tool is to get them; null unless the call is allowed. The agent must not see them.
    #[schema(value_type = Object)]
    pub(crate) arguments: Value,
}

/// A place within a sealed result.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SelectBody {
    /// The handle as it was given.
    pub(crate) handle: String,
    /// A JSON pointer into what is behind it.
    pub(crate) pointer: String,
}

/// A handle to something the agent may not see.
#[derive(Serialize, ToSchema)]
pub(crate) struct HandleAnswer {
    /// How it is written in arguments.
    pub(crate) handle: String,
    pub(crate) class: &'static str,
    /// Names, types and rough counts.
    #[schema(value_type = Object)]
    pub(crate) shape: Value,
}

/// A tool's answer, on its way to the agent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResponseBody {
    pub(crate) tool: String,
    /// Any JSON, or text.
    #[schema(value_type = Object)]
    pub(crate) content: Value,
    /// Whether the agent asks for the content to be sealed: it gets a handle and the label does not rise.
    #[serde(default)]
    pub(crate) seal: bool,
}

/// What the agent may see, and what letting it in did.
#[derive(Serialize, ToSchema)]
pub(crate) struct ResponseAnswer {
    /// The class of what was let in.
    pub(crate) class: &'static str,
    /// The session's label after it.
    pub(crate) sensitivity: &'static str,
    /// What was found in it: places and rules, never values.
    pub(crate) findings: Vec<FindingAnswer>,
    /// What the agent may see.
    #[schema(value_type = Object)]
    pub(crate) content: Value,
    /// Whether stubs or a handle stand in it for what the agent may not see.
    pub(crate) redacted: bool,
    /// Whether nothing passes until a person decides.
    pub(crate) halted: bool,
    /// The gate where a person decides whether a run that was halted by it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gate_id: Option<String>,
}

/// One place where a rule fired. Offsets are bytes of the text, or of the content written as compact JSON.
#[derive(Serialize, ToSchema)]
pub(crate) struct FindingAnswer {
    pub(crate) rule: String,
    /// pii, internal_ip, credentials or injection.
    pub(crate) kind: &'static str,
    pub(crate) class: &'static str,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// From 0 to 1.
    pub(crate) confidence: f32,
}

/// A model's output, about to be shown to someone.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputBody {
    pub(crate) text: String,
    /// The role of whoever is to see it: human-operator, pii-authorized-reviewer, auditor, admin, agent or connector.
    pub(crate) recipient_role: String,
    /// Whether its citations are looked up.
    #[serde(default)]
    pub(crate) verify_citations: bool,
}

/// What is to be done with an output.
#[derive(Serialize, ToSchema)]
pub(crate) struct OutputAnswer {
    /// pass, redact or hold.
    pub(crate) decision: &'static str,
    /// The highest class that was found in it.
    pub(crate) class: &'static str,
    pub(crate) findings: Vec<FindingAnswer>,
    /// What the recipient may see.
    pub(crate) text: String,
    /// The gate where a person decides about it; the same text sent again after an approval is shown, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gate_id: Option<String>,
    /// Its citations and what their records said, where they were to be looked up.
    pub(crate) citations: Vec<CitationAnswer>,
}

/// A dataset to register.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DatasetBody {
    pub(crate) name: String,
    /// public, internal, confidential (or restricted), pii or secret.
    pub(crate) sensitivity: String,
}

/// Why a session is started anew.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResetBody {
    pub(crate) reason: String,
}

impl ManifestAnswer {
    pub(crate) fn new(session_id: &str, manifest: Manifest) -> Self {
        let tools = manifest.tools.into_iter().map(|tool| ManifestToolAnswer {
            name: tool.name.to_string(),
            sensitivity: tool.sensitivity.as_str(),
            class: tool.class.as_str(),
            ceiling: tool.ceiling.as_str(),
            consequence: tool.consequence,
            blocked: tool.blocked,
            seal: tool.seal.to_string(),
            sink: tool.sink,
            split: tool.split,
        });
        Self {
            session_id: session_id.to_owned(),
            tools: tools.collect(),
            ordering_hint: manifest.ordering_hint,
            planning_constraint: manifest.planning_constraint,
        }
    }
}

impl From<Finding> for FindingAnswer {
    fn from(finding: Finding) -> Self {
        Self {
            rule: finding.rule.to_string(),
            kind: finding.kind.as_str(),
            class: finding.class.as_str(),
            start: finding.span.start,
            end: finding.span.end,
            confidence: finding.confidence.as_f32(),
        }
    }
}

impl From<ContextView> for StateAnswer {
    fn from(view: ContextView) -> Self {
        let Session {
            id,
            user,
            agent,
            opened_at,
            context,
        } = &*view.session;
        let datasets = context.datasets().iter();
        let datasets = datasets.map(|set| DatasetAnswer {
            name: set.name.to_string(),
            sensitivity: set.class.as_str(),
        });
        let rises = context.rises().iter().map(|rise| RiseAnswer {
            from: rise.from.as_str(),
            to: rise.to.as_str(),
            source: rise.source.to_string(),
            at: rfc3339(rise.at),
        });
        Self {
            session_id: id.to_string(),
            user: user.to_string(),
            agent: agent.to_string(),
            sensitivity: context.label().class().as_str(),
            has_private_data: context.label().is_private(),
            contaminated_at: context.contaminated_at().map(rfc3339),
            contamination_source: context.contamination_source().map(Name::to_string),
            kinds: context.kinds().iter().map(tidegate_core::Kind::as_str).collect(),
            datasets: datasets.collect(),
            blocked_tools: view.blocked_tools.iter().map(Name::to_string).collect(),
            halted: context.halted().is_some(),
            ended: context.halted().is_some_and(Halt::is_end),
            rises: rises.collect(),
            opened_at: rfc3339(*opened_at),
        }
    }
}

/// A moment as people and programs read it.
pub(crate) fn rfc3339(moment: Moment) -> String {
    Timestamp::from_millisecond(moment.0).map_or_else(|_| moment.0.to_string(), |time| time.to_string())
}
