//! A run that stands still because content tried to give orders, and the question whether it may go on.

use serde_json::{Value, json};
use tidegate_core::{Class, Halt, Ident};
use tidegate_ledger::event::EvidencePointer;
use tidegate_store::{Gate, GateKind, Session};

use super::Question;
use super::view::Kept;
use crate::engine::now;
use crate::{AccessError, Engine};

/// A run that has just been halted.
pub(crate) struct Halted<'a> {
    pub(crate) session: &'a Session,
    pub(crate) class: Class,
    /// The pattern that matched, by its name.
    pub(crate) pattern: Option<&'a str>,
    pub(crate) evidence: Option<EvidencePointer>,
}

/// The rule of a gate, which names the very halt that it may lift.
pub(super) fn rule_of(halt: &Halt) -> String {
    format!("session-halted:{}", halt.at.0)
}

impl Engine {
    /// Asks whether a halted run may go on. Without gates nobody is asked, and only a reset helps.
    pub(crate) async fn ask_to_resume(&self, halted: Halted<'_>) -> Result<Option<Gate>, AccessError> {
        self.ask_to_resume_as(halted, None).await
    }

    /// The same, by somebody who says why.
    pub(super) async fn ask_to_resume_as(
        &self,
        halted: Halted<'_>,
        asker: Option<(&Ident, &str)>,
    ) -> Result<Option<Gate>, AccessError> {
        let (Some(gates), Some(halt)) = (&self.gates, halted.session.context.halted()) else {
            return Ok(None);
        };
        let session = halted.session;
        let rule = rule_of(halt);
        let reason = format!(
            "the session is halted because content from {} tried to give instructions",
            halt.source
        );
        let kept = Kept {
            // What was put away never entered the label, and is of its source's class all the same.
            label: session.context.label().class().join(halted.class),
            reason: &reason,
            note: asker.map(|(_, note)| note),
            // The content itself is nothing to read in passing.
            arguments: json!({"pattern": halted.pattern.map_or(Value::Null, Value::from)}),
            findings: &[],
        };
        let parts = [session.id.as_str().as_bytes(), rule.as_bytes()];
        let binding = gates.key.bind(GateKind::InjectionHalt, &parts);
        let _desk = gates.desk(&session.id).await?;
        if let Some(known) = gates.waiting(&binding).await? {
            return Ok(Some(known));
        }
        let gate = gates.question(Question {
            kind: GateKind::InjectionHalt,
            session,
            asked_by: asker.map_or(&session.user, |(by, _)| by),
            binding,
            tool: Some(&halt.source),
            class: halted.class,
            rule: &rule,
            policy: self.policy.version.as_str(),
            kept,
            evidence: halted.evidence,
        })?;
        self.provenance
            .note(&session.id, [self.opened_event(&gate, None)], now())
            .await?;
        self.settle_gate(gate).await.map(Some)
    }
}
