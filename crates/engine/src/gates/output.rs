//! A model's output that shows personal data, and the question whether it may be shown.

use tidegate_core::{Class, Ident, Name, Role};
use tidegate_ledger::event::{Event, EvidencePointer};
use tidegate_store::{Gate, GateKind, GateState, Session};
use tokio::sync::MutexGuard;

use super::view::Kept;
use super::{Question, spent_event};
use crate::engine::now;
use crate::{AccessError, DeliverError, Engine, Payload};

/// An output on its way past the gates.
pub(crate) struct Shown<'a> {
    pub(crate) asked_by: &'a Ident,
    pub(crate) session: &'a Session,
    pub(crate) source: &'a Name,
    pub(crate) output: &'a Payload,
    pub(crate) class: Class,
    pub(crate) recipient: Role,
}

/// How a held output stands at its gate.
pub(crate) enum OutputPassage<'a> {
    /// Nobody can be asked.
    NoGates,
    /// It waits, or a person denied it.
    Waits(Gate),
    /// A person approved it, and that has been used up.
    Released(Gate, Event),
    /// Nobody was asked yet. The desk is kept until the question is settled.
    New(MutexGuard<'a, ()>),
}

impl Engine {
    /// How an output that shows personal data stands.
    pub(crate) async fn output_gate(&self, shown: &Shown<'_>) -> Result<OutputPassage<'_>, AccessError> {
        let Some(gates) = &self.gates else {
            return Ok(OutputPassage::NoGates);
        };
        let desk = gates.desk(&shown.session.id).await?;
        let at = now();
        let latest = gates.store.latest(&gates.output_binding(shown, self)).await?;
        let standing = latest.as_ref().map(|gate| gate.standing(at));
        match (standing, latest) {
            (Some(GateState::Approved), Some(gate)) => match gates.spend(&gate, at).await? {
                Some(spent) => {
                    let event = spent_event(&spent);
                    Ok(OutputPassage::Released(spent, event))
                }
                None => Ok(OutputPassage::New(desk)),
            },
            (Some(GateState::Open), Some(gate)) => Ok(OutputPassage::Waits(gate)),
            (Some(GateState::Denied), Some(gate)) if gate.expires_at > at => Ok(OutputPassage::Waits(gate)),
            _ => Ok(OutputPassage::New(desk)),
        }
    }

    /// The question whether an output may be shown, with its record; it is settled after that is written.
    pub(crate) async fn output_question(
        &self,
        shown: &Shown<'_>,
        evidence: EvidencePointer,
    ) -> Result<(Gate, Event), DeliverError> {
        let gates = self.gates.as_ref().ok_or(crate::Interrupted)?;
        let label = shown.session.context.label().class();
        let (arguments, findings) = self.outlined(shown.source, shown.output).await?;
        let reason = format!(
            "an output for the role {} shows {} data",
            shown.recipient, shown.class
        );
        let kept = Kept {
            label,
            reason: &reason,
            note: None,
            arguments,
            findings: &findings,
        };
        let gate = gates.question(Question {
            kind: GateKind::PiiLeakRisk,
            session: shown.session,
            asked_by: shown.asked_by,
            binding: gates.output_binding(shown, self),
            tool: None,
            class: label.join(shown.class),
            rule: "output-above-clearance",
            policy: self.policy.version.as_str(),
            kept,
            evidence: Some(evidence),
        })?;
        let event = self.opened_event(&gate, Some(&shown.output.text().0));
        Ok((gate, event))
    }
}

impl super::Gates {
    fn output_binding(&self, shown: &Shown<'_>, engine: &Engine) -> tidegate_store::Binding {
        let parts: [&[u8]; 4] = [
            shown.session.id.as_str().as_bytes(),
            &shown.output.text().0,
            shown.recipient.as_str().as_bytes(),
            engine.policy.version.as_str().as_bytes(),
        ];
        self.key.bind(GateKind::PiiLeakRisk, &parts)
    }
}
