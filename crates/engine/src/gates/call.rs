//! A call that is held: it waits at a gate, or passes one that a person opened for it.

use tidegate_core::{Approval, Class, Confined, Decision, Tool};
use tidegate_ledger::event::Event;
use tidegate_store::{Binding, Gate, GateKind, GateState, Session};
use tokio::sync::MutexGuard;

use super::view::Kept;
use super::{Gates, Question, spent_event};
use crate::access::Caller;
use crate::engine::now;
use crate::{AccessError, Engine, Payload, PolicyVersion, Unveiling};

/// Who makes the call that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Whoever asks, at once: an approval of it is used up by asking.
    Asker,
    /// Another, who asks again and is given the values behind stubs: an approval is left for them.
    Another,
}

impl Carrier {
    /// Who carries a call with these stubs: without any, whoever asks can make it.
    pub(crate) const fn of(self, unveiling: &Unveiling) -> Self {
        if unveiling.is_needed() { self } else { Self::Asker }
    }
}

/// A call on its way past the gates.
pub(crate) struct Call<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) session: &'a Session,
    pub(crate) tool: &'a Tool,
    pub(crate) arguments: &'a Payload,
    /// The class of what is in the arguments, in the clear or behind stubs.
    pub(crate) class: Class,
    pub(crate) policy: &'a PolicyVersion,
    pub(crate) carrier: Carrier,
}

/// What came of a call at the gates. Until it is on the record and settled, nobody may act on it.
pub(crate) struct Passage<'a> {
    pub(crate) decision: Decision,
    /// The gate that the decision is about.
    pub(crate) gate: Option<Gate>,
    /// What the record says of it.
    pub(crate) events: Vec<Event>,
    /// A new gate, to be settled once it is on the record, and the desk it is opened at.
    pub(crate) opening: Option<(Gate, MutexGuard<'a, ()>)>,
}

impl Passage<'_> {
    const fn plain(decision: Decision, gate: Option<Gate>) -> Self {
        Self {
            decision,
            gate,
            events: Vec::new(),
            opening: None,
        }
    }
}

impl Engine {
    /// Takes a decision past the gates. What is allowed or denied, or about a tool that nobody knows, is none of their business.
    pub(crate) async fn pass_gate(
        &self,
        call: Option<Call<'_>>,
        decision: Decision,
    ) -> Result<Passage<'_>, AccessError> {
        let (Some(gates), Some(call), Decision::Hold(refusal)) = (&self.gates, call, &decision) else {
            return Ok(Passage::plain(decision, None));
        };
        let reason = refusal.reason();
        let binding = gates.call_binding(&call, &reason);
        let desk = gates.desk(&call.session.id).await?;
        let at = now();
        let latest = gates.store.latest(&binding).await?;
        let standing = latest.as_ref().map(|gate| gate.standing(at));
        match (standing, latest) {
            (Some(GateState::Approved), Some(gate)) if call.carrier == Carrier::Another => Ok(
                Passage::plain(decision.released(&Approval::in_force()), Some(gate)),
            ),
            (Some(GateState::Approved), Some(gate)) => match gates.spend(&gate, at).await? {
                // INVARIANT (released once): it is gone from the store, so nobody else passes by it.
                Some(spent) => Ok(Passage {
                    decision: decision.released(&Approval::in_force()),
                    events: vec![spent_event(&spent)],
                    gate: Some(spent),
                    opening: None,
                }),
                None => {
                    self.open_call(gates, desk, call, decision, binding, &reason)
                        .await
                }
            },
            (Some(GateState::Open), Some(gate)) => Ok(Passage::plain(decision, Some(gate))),
            // A denial lasts as long as the question would have: nobody is asked the same thing again and again.
            (Some(GateState::Denied), Some(gate)) if gate.expires_at > at => {
                Ok(Passage::plain(decision.denied_by_person(), Some(gate)))
            }
            (
                None | Some(GateState::Open | GateState::Denied | GateState::Expired | GateState::Spent),
                Some(_) | None,
            )
            | (Some(GateState::Approved), None) => {
                self.open_call(gates, desk, call, decision, binding, &reason)
                    .await
            }
        }
    }

    /// The gate of a call, after what came of it is on the record.
    pub(crate) async fn settle_passage(
        &self,
        gate: Option<Gate>,
        opening: Option<(Gate, MutexGuard<'_, ()>)>,
    ) -> Result<Option<Gate>, AccessError> {
        let Some((gate, desk)) = opening else {
            return Ok(gate);
        };
        let settled = self.settle_gate(gate).await?;
        drop(desk);
        Ok(Some(settled))
    }

    async fn open_call<'a>(
        &'a self,
        gates: &Gates,
        desk: MutexGuard<'a, ()>,
        call: Call<'_>,
        decision: Decision,
        binding: Binding,
        reason: &str,
    ) -> Result<Passage<'a>, AccessError> {
        let Call {
            session,
            tool,
            arguments,
            ..
        } = call;
        let label = session.context.label().class();
        let class = label.join(call.class);
        let (shown, findings) = self.outlined(&tool.name, arguments).await?;
        let text = arguments.text().0;
        let digested = text.clone();
        let evidence = self
            .provenance
            .keep(&session.id, Confined::new(class, text))
            .await?;
        let kept = Kept {
            label,
            reason,
            note: None,
            arguments: shown,
            findings: &findings,
        };
        let gate = gates.question(Question {
            kind: GateKind::ToolApproval,
            session,
            asked_by: &call.caller.principal,
            binding,
            tool: Some(&tool.name),
            class,
            rule: decision.rule(),
            policy: call.policy.as_str(),
            kept,
            evidence: Some(evidence),
        })?;
        Ok(Passage {
            decision,
            events: vec![self.opened_event(&gate, Some(&digested))],
            gate: Some(gate.clone()),
            opening: Some((gate, desk)),
        })
    }
}

impl Gates {
    /// What an approval of this call fits: the session and whose it is, the tool, the exact arguments, why it was held, and
    /// the policy.
    fn call_binding(&self, call: &Call<'_>, reason: &str) -> Binding {
        let parts: [&[u8]; 7] = [
            call.session.id.as_str().as_bytes(),
            call.session.user.as_str().as_bytes(),
            call.session.agent.as_str().as_bytes(),
            call.tool.name.as_str().as_bytes(),
            &call.arguments.text().0,
            reason.as_bytes(),
            call.policy.as_str().as_bytes(),
        ];
        self.key.bind(GateKind::ToolApproval, &parts)
    }
}
