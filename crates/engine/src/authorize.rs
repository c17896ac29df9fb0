//! Deciding whether a call may pass, before it is made.

use std::sync::Arc;

use tidegate_core::{Attempt, Class, Decision, Ident, Name, Refusal, Rule, Tool, decide};
use tidegate_ledger::event::{
    self, Event, FieldNames, PiiEgressBlock, PiiLeakRisk, ToolArgumentConstruction, Verdict,
};
use tidegate_store::Session;

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::provenance::{spelled, word};
use crate::{AccessError, DecisionRecord, Engine, Payload};

/// A decision, and the state it was made on.
#[derive(Debug)]
pub struct Authorized {
    /// What was decided.
    pub decision: Decision,
    /// The session as it was.
    pub session: Arc<Session>,
    /// The class found in the call's arguments.
    pub arguments: Class,
}

impl Engine {
    /// Decides whether a call may pass. An unknown tool is a denial, never an allowance.
    ///
    /// # Errors
    /// When the caller cannot have the session or the decision cannot be recorded; to whoever asked, that is a denial.
    pub async fn authorize(
        &self,
        caller: &Caller,
        id: &Ident,
        tool: &Name,
        arguments: &Payload,
    ) -> Result<Authorized, AccessError> {
        let session = self.session_for(caller, Act::Call, id).await?;
        let control = self.control();
        let known = control.find(tool.as_str());
        let class = class_of(arguments);
        let decision = decide_call(known, tool, &session, class);
        let record = DecisionRecord {
            at: now(),
            session: &session,
            tool,
            decision: &decision,
            arguments: class,
            policy: &self.policy.version,
        };
        // INVARIANT (durable before visible): the decision is on the record before anyone can act on it.
        self.provenance
            .note(id, events(&record, known, arguments), record.at)
            .await?;
        self.observer.decided(&record);
        Ok(Authorized {
            decision,
            session,
            arguments: class,
        })
    }
}

fn decide_call(known: Option<&Tool>, name: &Name, session: &Session, arguments: Class) -> Decision {
    let Some(tool) = known else {
        return Decision::Deny(Refusal::unknown_tool(name.clone()));
    };
    let argument_kinds = arguments.kind().into_iter().collect();
    decide(Attempt {
        tool,
        context: &session.context,
        arguments,
        argument_kinds,
    })
}

/// The class of a call's own arguments. Nothing looks into them yet, so they carry what the session's label says.
const fn class_of(_arguments: &Payload) -> Class {
    Class::Public
}

/// What the record says of a decision: how the arguments were put together, what was decided, and what was stopped.
fn events(record: &DecisionRecord<'_>, known: Option<&Tool>, arguments: &Payload) -> Vec<Event> {
    let context = &record.session.context;
    let mut events = vec![
        ToolArgumentConstruction {
            run_id: (&record.session.id).into(),
            tool_id: spelled(record.tool),
            data_class: record.arguments,
            argument_field_names: FieldNames::new(arguments.field_names()),
            authorized_sink_verified: known.is_some_and(|tool| tool.sink && record.arguments <= tool.ceiling),
        }
        .into(),
        event::Decision {
            tool: spelled(record.tool),
            decision: match record.decision {
                Decision::Allow(_) => Verdict::Allow,
                Decision::Hold(_) => Verdict::Hold,
                Decision::Deny(_) => Verdict::Deny,
            },
            rule: word(record.rule()),
            label: context.label().class(),
            argument_class: Some(record.arguments),
            contamination_source: context.contamination_source().map(spelled),
            policy_version: tidegate_ledger::Name::or_unnameable(record.policy.as_str()),
        }
        .into(),
    ];
    if let Decision::Deny(refusal) = record.decision
        && refusal.rule() == Rule::ArgumentsAboveCeiling
    {
        events.push(egress_block(record));
    }
    events
}

/// Arguments above a tool's ceiling were stopped before the connector was reached.
fn egress_block(record: &DecisionRecord<'_>) -> Event {
    PiiEgressBlock {
        run_id: (&record.session.id).into(),
        data_class: record.arguments,
        destination: spelled(record.tool),
        blocking_rule: word(record.rule()),
        failure_id: PiiLeakRisk,
        evidence_pointer: None,
    }
    .into()
}
