//! What a person may ask another person for.

use tidegate_core::{Class, Ident};
use tidegate_store::GateKind;

use super::view::Kept;
use super::{GateError, GateView, Halted, Question};
use crate::access::{Act, Caller};
use crate::engine::now;
use crate::{AccessError, Engine};

/// What somebody asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// That a session's label start anew. An administrator decides.
    LowerLabel,
    /// That a halted run go on, after the question was denied or nobody answered it.
    Resume,
}

impl Engine {
    /// Puts a wish before whoever may grant it.
    ///
    /// # Errors
    /// When the role may not ask, there is nothing to ask for, or the reason is missing.
    pub async fn ask_gate(
        &self,
        caller: &Caller,
        session: &Ident,
        wish: Wish,
        reason: &str,
    ) -> Result<GateView, GateError> {
        self.admit_person(caller, Act::Ask).await?;
        let reason = self.reason(reason)?;
        let gates = self.gates_or_off()?;
        let session = self.store.current(session).await?.ok_or(AccessError::NoSession)?;
        let label = session.context.label().class();
        if wish == Wish::Resume {
            let halt = session.context.halted();
            halt.filter(|halt| !halt.is_end())
                .ok_or(GateError::NothingToAsk("not halted"))?;
            let halted = Halted {
                session: &session,
                class: label,
                pattern: None,
                evidence: None,
            };
            let gate = self
                .ask_to_resume_as(halted, Some((&caller.principal, &reason)))
                .await?;
            return Ok(GateView::of(gate.ok_or(GateError::Off)?, now()));
        }
        if label == Class::Public {
            return Err(GateError::NothingToAsk("public"));
        }
        let kept = Kept {
            label,
            reason: "somebody asks to start the session's label anew",
            note: Some(&reason),
            arguments: serde_json::Value::Null,
            findings: &[],
        };
        // Bound to the label that is asked about: leave to start anew from one is none to start anew from a higher one.
        let parts = [session.id.as_str().as_bytes(), label.as_str().as_bytes()];
        let binding = gates.key.bind(GateKind::LowerLabel, &parts);
        let _desk = gates.desk(&session.id).await?;
        if let Some(known) = gates.waiting(&binding).await? {
            return Ok(GateView::of(known, now()));
        }
        let gate = gates.question(Question {
            kind: GateKind::LowerLabel,
            session: &session,
            asked_by: &caller.principal,
            binding,
            tool: None,
            class: label,
            rule: "lower-label",
            policy: self.policy.version.as_str(),
            kept,
            evidence: None,
        })?;
        self.provenance
            .note(&session.id, [self.opened_event(&gate, None)], now())
            .await?;
        Ok(GateView::of(self.settle_gate(gate).await?, now()))
    }
}
