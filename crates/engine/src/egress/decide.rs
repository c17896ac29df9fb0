//! Deciding whether a connection may be made, before it is made.

use std::future::Future;
use std::time::{Duration, Instant};

use tidegate_core::{
    Attempt, Class, Cleared, Confined, Decision, Fault, Grant, Kinds, Name, Refusal, Rule, Tool, Veiled,
    decide,
};
use tidegate_ledger::event::{self, ConnectionRefused, Event, PiiEgressBlock, PiiLeakRisk, Verdict};
use tidegate_store::{Session, StoreError};

use super::{Egress, EgressSession, Target};
use crate::engine::now;
use crate::provenance::{spelled, word};
use crate::reviews::LeakedTo;
use crate::{AccessError, DecisionRecord, Interrupted, Payload};

/// How long after the session was read a decision about it may still be given out.
const DECISION_HOLDS: Duration = Duration::from_secs(10);

/// The tool that an authority is asked about: whoever may use it may use the proxy.
const TOOL: &str = "egress";

/// What a request carries beside where it leads: its URL and headers, its body. Nothing for a tunnel.
#[derive(Clone, Debug, Default)]
pub struct Sent(pub Vec<Payload>);

/// The answer to a connection that somebody wants to make.
#[derive(Debug)]
pub enum Passage<T> {
    /// It may be made, on this way and no other.
    Open(Cleared<T>),
    /// It may not.
    Refused(Refusal),
}

/// What was found in all parts of a request.
struct Carried {
    class: Class,
    kinds: Kinds,
    exits: Vec<Event>,
}

impl Egress {
    /// Decides whether a connection may be made. `way` finds out where the host's name leads; it is asked only when the
    /// session may connect to it at all, since the question itself goes out.
    ///
    /// # Errors
    /// When the session is gone, the request cannot be looked into or the decision cannot be recorded; to whoever
    /// asked, that is a denial.
    pub async fn decide<T>(
        &self,
        by: &EgressSession,
        target: &Target,
        sent: &Sent,
        way: impl Future<Output = Result<T, Fault>>,
    ) -> Result<Passage<T>, AccessError> {
        let carried = self.look(by, target, sent).await?;
        let (mut looked, session) = (Instant::now(), self.session(by).await?);
        let tool = self.tool(&session, target).await?;
        let mut session = session;
        let mut decision = match self.destinations.reached(target) {
            Ok(_) => carried.judge(&tool, &session),
            Err(fault) => carried.fault(&tool, &session, fault),
        };
        let mut found = None;
        if let Decision::Allow(_) = decision {
            let asked = way.await;
            // Read again: asking may have taken a while, and a rise in that time is in force.
            looked = Instant::now();
            session = self.session(by).await?;
            decision = match asked {
                Ok(way) => {
                    found = Some(way);
                    carried.judge(&tool, &session)
                }
                Err(fault) => carried.fault(&tool, &session, fault),
            };
        }
        let leaks = self.record(&session, &tool, &decision, &carried, sent).await?;
        // A gateway that was stopped in between must not come back with what it knew before.
        if looked.elapsed() > DECISION_HOLDS {
            return Err(AccessError::Store(StoreError::Overloaded));
        }
        if leaks {
            let to = LeakedTo::Destination(self.destination(&target.host));
            self.engine.review_leak(&session, to).await;
        }
        match (decision, found) {
            (Decision::Allow(permit), Some(way)) => Ok(Passage::Open(permit.clear(way))),
            (Decision::Hold(refusal) | Decision::Deny(refusal), _) => Ok(Passage::Refused(refusal)),
            (Decision::Allow(_), None) => Err(Interrupted.into()),
        }
    }

    /// Puts on the record that a connection was refused for what it is, and says so in words.
    ///
    /// # Errors
    /// When it cannot be recorded; it is refused all the same.
    pub async fn refuse(
        &self,
        by: Option<&EgressSession>,
        target: Option<&Target>,
        fault: Fault,
    ) -> Result<Refusal, AccessError> {
        let name = match target {
            Some(target) => self.nameable(target)?,
            None => Name::parse(TOOL).map_err(|_| Interrupted)?,
        };
        let tool = match target {
            Some(target) => self.destination(&target.host).as_tool(name),
            None => Tool::undeclared(name),
        };
        let Some(by) = by else {
            let refused = ConnectionRefused {
                destination: target.map(|_| spelled(&tool.name)),
                rule: word(fault.as_str()),
            };
            self.engine.provenance.note_gateway(refused.into(), now()).await?;
            return Ok(Refusal::connection(fault, tool));
        };
        let session = self.session(by).await?;
        let carried = Carried::nothing();
        let decision = carried.fault(&tool, &session, fault);
        self.record(&session, &tool, &decision, &carried, &Sent::default())
            .await?;
        match decision {
            Decision::Deny(refusal) | Decision::Hold(refusal) => Ok(refusal),
            Decision::Allow(_) => Err(Interrupted.into()),
        }
    }

    /// Puts on the record that an open connection was cut because the session may no longer have it.
    ///
    /// # Errors
    /// When it cannot be recorded; it is cut all the same.
    pub async fn note_cut(&self, by: &EgressSession, target: &Target) -> Result<(), AccessError> {
        let session = self.session(by).await?;
        let tool = self.destination(&target.host).as_tool(self.nameable(target)?);
        let carried = Carried::nothing();
        let decision = carried.judge(&tool, &session);
        if let Decision::Allow(_) = decision {
            return Ok(());
        }
        self.record(&session, &tool, &decision, &carried, &Sent::default())
            .await
            .map(|_| ())
    }

    /// Whether the session may still have a connection that is open. What the destination itself sent back does not
    /// count against it: its request had been sent whole by then.
    pub(super) fn is_open(&self, session: &Session, target: &Target) -> bool {
        let destination = self.destination(&target.host);
        let Ok(name) = Name::parse(TOOL) else {
            return false;
        };
        let mut tool = destination.as_tool(name);
        tool.ceiling = destination.ceiling.join(destination.returns);
        matches!(Carried::nothing().judge(&tool, session), Decision::Allow(_))
    }

    async fn session(&self, by: &EgressSession) -> Result<std::sync::Arc<Session>, AccessError> {
        let session = self.engine.store.current(by.id()).await?;
        session.ok_or(AccessError::NoSession)
    }

    /// The destination as this session's agent may use it now.
    async fn tool(&self, session: &Session, target: &Target) -> Result<Tool, AccessError> {
        let asked = Name::parse(TOOL).map_err(|_| Interrupted)?;
        let grants = self.engine.grants(session, std::slice::from_ref(&asked)).await;
        let grant = grants.into_iter().next().unwrap_or(Grant::Refused);
        let name = self.nameable(target)?;
        Ok(self.destination(&target.host).as_tool(name).with_grant(grant))
    }

    /// Looks into everything that would leave. A name that the policy spells out tells nothing; any other is the
    /// client's own text, and goes out in the question where it leads.
    async fn look(&self, by: &EgressSession, target: &Target, sent: &Sent) -> Result<Carried, AccessError> {
        let name = Name::parse(TOOL).map_err(|_| Interrupted)?;
        let host = self
            .unspelled(target)
            .map(|name| Payload::new(serde_json::Value::String(name.to_owned())));
        let mut carried = Carried::nothing();
        for payload in host.iter().chain(&sent.0) {
            let found = self.engine.inspector.arguments(&name, payload).await?;
            carried.class = carried.class.join(found.class());
            carried.kinds = carried.kinds.iter().chain(found.kinds().iter()).collect();
            carried.exits.extend(found.exit_events(by.id(), &name));
        }
        Ok(carried)
    }

    /// Puts a decision on the record. Says whether it stopped a leak.
    async fn record(
        &self,
        session: &Session,
        tool: &Tool,
        decision: &Decision,
        carried: &Carried,
        sent: &Sent,
    ) -> Result<bool, AccessError> {
        let record = DecisionRecord {
            at: now(),
            session,
            tool: &tool.name,
            decision,
            arguments: carried.class,
            policy: &self.engine.policy.version,
        };
        let context = &session.context;
        let mut events = vec![Event::from(event::Decision {
            tool: spelled(&tool.name),
            decision: match decision {
                Decision::Allow(_) => Verdict::Allow,
                Decision::Hold(_) => Verdict::Hold,
                Decision::Deny(_) => Verdict::Deny,
            },
            rule: word(record.rule()),
            label: context.label().class(),
            argument_class: Some(carried.class),
            contamination_source: context.contamination_source().map(spelled),
            policy_version: tidegate_ledger::Name::or_unnameable(record.policy.as_str()),
        })];
        events.extend(carried.exits.iter().cloned());
        let leaks = !matches!(decision, Decision::Allow(_)) && carried.class > tool.ceiling;
        if leaks {
            events.push(self.leak(&record, sent).await?);
        }
        // INVARIANT (durable before visible): the decision is on the record before anyone can act on it.
        self.engine
            .provenance
            .note(&session.id, events, record.at)
            .await?;
        self.engine.observer.decided(&record);
        Ok(leaks)
    }

    /// What was about to leak is put away, so that a reviewer can see what was stopped.
    async fn leak(&self, record: &DecisionRecord<'_>, sent: &Sent) -> Result<Event, AccessError> {
        let text: Vec<_> = sent.0.iter().map(|payload| payload.text().0).collect();
        let content = Confined::new(record.arguments, text.join(&b'\n'));
        let pointer = self.engine.provenance.keep(&record.session.id, content).await?;
        Ok(PiiEgressBlock {
            run_id: (&record.session.id).into(),
            data_class: record.arguments,
            destination: spelled(record.tool),
            blocking_rule: word(record.rule()),
            failure_id: PiiLeakRisk,
            evidence_pointer: Some(pointer),
        }
        .into())
    }
}

impl Carried {
    const fn nothing() -> Self {
        Self {
            class: Class::Public,
            kinds: Kinds::NONE,
            exits: Vec::new(),
        }
    }

    const fn attempt<'a>(&self, tool: &'a Tool, session: &'a Session) -> Attempt<'a> {
        Attempt {
            tool,
            context: &session.context,
            arguments: self.class,
            argument_kinds: self.kinds,
            veiled: Veiled::Nothing,
        }
    }

    fn judge(&self, tool: &Tool, session: &Session) -> Decision {
        decide(self.attempt(tool, session))
    }

    fn fault(&self, tool: &Tool, session: &Session, fault: Fault) -> Decision {
        Decision::Deny(Refusal::of(Rule::Connection(fault), self.attempt(tool, session)))
    }
}
