//! Deciding whether a call may pass, before it is made.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::{Attempt, Class, Confined, Decision, Doubt, Ident, Name, Refusal, Tool, Veiled, decide};
use tidegate_ledger::event::{
    self, Event, EvidencePointer, FieldNames, PiiEgressBlock, PiiLeakRisk, ToolArgumentConstruction, Verdict,
};
use tidegate_store::{Gate, GateState, Session, StoreError};

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::gates::{Call, Carrier};
use crate::inspect::Found;
use crate::provenance::{spelled, word};
use crate::reviews::LeakedTo;
use crate::{AccessError, DecisionRecord, Engine, Interrupted, Payload, RecordError, Unveiling};

/// How long after the session was read a decision about it may still be given out.
const DECISION_HOLDS: Duration = Duration::from_secs(10);

/// A decision, and the state it was made on.
#[derive(Debug)]
pub struct Authorized {
    /// What was decided.
    pub decision: Decision,
    /// The session as it was.
    pub session: Arc<Session>,
    /// The class found in the call's arguments.
    pub arguments: Class,
    /// The stubs and handles in them.
    pub unveiling: Unveiling,
    /// The gate that the decision is about, where a person has a say in it.
    pub gate: Option<Gate>,
}

impl Engine {
    /// Decides whether a call may pass. An unknown tool is a denial, never an allowance.
    ///
    /// # Errors
    /// When the caller cannot have the session, the arguments cannot be looked into or the decision cannot be
    /// recorded; to whoever asked, that is a denial.
    pub async fn authorize(
        &self,
        caller: &Caller,
        id: &Ident,
        tool: &Name,
        arguments: &Payload,
    ) -> Result<Authorized, AccessError> {
        self.authorize_for(caller, id, tool, arguments, Carrier::Asker)
            .await
    }

    /// The same, for a call that the asker or another will make.
    ///
    /// # Errors
    /// As [`Engine::authorize`].
    pub async fn authorize_for(
        &self,
        caller: &Caller,
        id: &Ident,
        tool: &Name,
        arguments: &Payload,
        carrier: Carrier,
    ) -> Result<Authorized, AccessError> {
        let asking = self.session_for(caller, Act::Call, id).await?;
        let tool = &self.target_of(tool, arguments)?;
        let found = self.inspector.arguments(tool, arguments).await?;
        let unveiling = self.mentions(id, arguments).await?;
        let (known, version) = self.tool_for(&asking, tool).await?;
        let known = known.as_ref();
        // Read again: looking and asking may have taken a while, and a rise in that time is in force.
        let looked = Instant::now();
        let session = self.store.current(id).await?.ok_or(AccessError::NoSession)?;
        let doubt = match known {
            Some(known) => self.doubt(id, known, &unveiling, arguments).await?,
            None => None,
        };
        let decision = decide_call(known, tool, &session, &found, unveiling.veiled, doubt);
        let class = found.class().join(veiled_class(unveiling.veiled));
        let call = known.map(|tool| Call {
            caller,
            session: &session,
            tool,
            arguments,
            class,
            policy: &version,
            carrier: carrier.of(&unveiling),
        });
        let mut passage = self.pass_gate(call, decision).await?;
        let decision = passage.decision;
        if let (Some(known), Decision::Allow(_)) = (known, &decision) {
            self.remember_words(id, known, arguments).await?;
        }
        let shown = self.nameable(tool, known)?;
        let record = DecisionRecord {
            at: now(),
            session: &session,
            tool: &shown,
            decision: &decision,
            arguments: class,
            policy: &version,
        };
        let evidence = self.evidence_of_leak(&record, known, arguments).await?;
        let mut events = self.decision_events(&record, known, arguments);
        events.extend(found.exit_events(id, &shown));
        let leaks = evidence.is_some();
        events.extend(evidence.map(|pointer| egress_block(&record, pointer)));
        events.append(&mut passage.events);
        // INVARIANT (durable before visible): the decision is on the record before anyone can act on it.
        self.provenance.note(id, events, record.at).await?;
        let gate = self.settle_passage(passage.gate, passage.opening).await?;
        // A gateway that was stopped in between must not come back with what it knew before.
        if looked.elapsed() > DECISION_HOLDS {
            return Err(AccessError::Store(StoreError::Overloaded));
        }
        self.observer.decided(&record);
        if leaks {
            let to = known.map_or(LeakedTo::UnknownTool, |tool| LeakedTo::Tool(&tool.name));
            self.review_leak(&session, to).await;
        }
        Ok(Authorized {
            decision,
            session,
            arguments: class,
            unveiling,
            gate,
        })
    }

    /// Decides as [`Engine::authorize_for`] does, and where a person has to approve, waits for them a while. What has been
    /// approved meanwhile is decided anew: whatever else changed counts.
    ///
    /// # Errors
    /// As [`Engine::authorize`].
    pub async fn authorize_waiting(
        &self,
        caller: &Caller,
        id: &Ident,
        tool: &Name,
        arguments: &Payload,
        carrier: Carrier,
        until: Instant,
    ) -> Result<Authorized, AccessError> {
        let first = self.authorize_for(caller, id, tool, arguments, carrier).await?;
        let (Decision::Hold(_), Some(gate)) = (&first.decision, &first.gate) else {
            return Ok(first);
        };
        match self.await_decision(gate, until).await {
            GateState::Approved | GateState::Denied => {
                self.authorize_for(caller, id, tool, arguments, carrier).await
            }
            GateState::Open | GateState::Expired | GateState::Spent => Ok(first),
        }
    }

    /// The tool's name as logs and records may show it: a name that nobody declared is the client's own text, and is
    /// shown only when no rule knows it for a value.
    pub(crate) fn nameable(&self, tool: &Name, known: Option<&Tool>) -> Result<Name, AccessError> {
        if known.is_some() || self.inspector.is_plain(tool.as_str()) {
            return Ok(tool.clone());
        }
        Ok(Name::parse("(unnameable)").map_err(|_| Interrupted)?)
    }

    /// Arguments that were about to leak are put away, so that a reviewer can see what was stopped. They count
    /// whichever rule stopped them: the label may have done so first.
    async fn evidence_of_leak(
        &self,
        record: &DecisionRecord<'_>,
        known: Option<&Tool>,
        arguments: &Payload,
    ) -> Result<Option<EvidencePointer>, RecordError> {
        let ceiling = known.map_or(Class::Public, |tool| tool.ceiling);
        if !matches!(record.decision, Decision::Deny(_)) || record.arguments <= ceiling {
            return Ok(None);
        }
        let content = Confined::new(record.arguments, arguments.text().0);
        self.provenance.keep(&record.session.id, content).await.map(Some)
    }

    /// What the record says of a decision: how the arguments were put together, and what was decided.
    pub(crate) fn decision_events(
        &self,
        record: &DecisionRecord<'_>,
        known: Option<&Tool>,
        arguments: &Payload,
    ) -> Vec<Event> {
        let context = &record.session.context;
        // A key is chosen by the agent and may be a value in disguise: what a rule knows is not named.
        let named = |name: &&str| self.inspector.is_plain(name);
        let names: Vec<_> = arguments
            .field_names()
            .map(|name| if named(&name) { name } else { "" })
            .collect();
        let constructed = ToolArgumentConstruction {
            run_id: (&record.session.id).into(),
            tool_id: spelled(record.tool),
            data_class: record.arguments,
            argument_field_names: FieldNames::new(names),
            authorized_sink_verified: known.is_some_and(|tool| tool.sink && record.arguments <= tool.ceiling),
        };
        let decided = event::Decision {
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
        };
        vec![constructed.into(), decided.into()]
    }
}

/// The class of what stubs and handles stand for.
const fn veiled_class(veiled: Veiled) -> Class {
    match veiled {
        Veiled::Nothing | Veiled::Unknown => Class::Public,
        Veiled::Known(class) | Veiled::Mixed(class) => class,
    }
}

fn decide_call(
    known: Option<&Tool>,
    name: &Name,
    session: &Session,
    found: &Found,
    veiled: Veiled,
    doubt: Option<Doubt>,
) -> Decision {
    let Some(tool) = known else {
        return Decision::Deny(Refusal::unknown_tool(name.clone()));
    };
    let (arguments, argument_kinds) = (found.class(), found.kinds());
    let attempt = Attempt {
        tool,
        context: &session.context,
        arguments,
        argument_kinds,
        veiled,
    };
    decide(attempt).doubted(attempt, doubt)
}

/// Arguments above a tool's ceiling were stopped before the connector was reached.
fn egress_block(record: &DecisionRecord<'_>, evidence: EvidencePointer) -> Event {
    PiiEgressBlock {
        run_id: (&record.session.id).into(),
        data_class: record.arguments,
        destination: spelled(record.tool),
        blocking_rule: word(record.rule()),
        failure_id: PiiLeakRisk,
        evidence_pointer: Some(evidence),
    }
    .into()
}
