//! A tool that describes itself otherwise than before, and the question whether it may be used.

use serde_json::json;
use tidegate_core::{Class, Ident, Name};
use tidegate_store::{GateKind, GateState};

use super::view::Kept;
use super::{GateError, Question, spent_event};
use crate::Engine;
use crate::access::{Act, Caller};
use crate::engine::now;

/// How a changed tool stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChange {
    /// A person approved this very definition; that has been used up, so whoever hears it must remember it.
    Approved,
    /// It waits for a person, or one denied it, or there is nobody to ask.
    Held,
}

impl Engine {
    /// How a tool's new definition stands, known by its digest. Whoever sees it first asks; every session on the same state
    /// hears the same answer. A definition that was denied is not asked about again.
    ///
    /// # Errors
    /// When the caller cannot have the session, or it cannot be kept or recorded; the tool stays closed then.
    pub async fn changed_tool(
        &self,
        caller: &Caller,
        session: &Ident,
        tool: &Name,
        definition: &str,
    ) -> Result<ToolChange, GateError> {
        let session = self.session_for(caller, Act::Call, session).await?;
        let Some(gates) = &self.gates else {
            return Ok(ToolChange::Held);
        };
        let parts = [tool.as_str().as_bytes(), definition.as_bytes()];
        let binding = gates.key.bind(GateKind::ToolChanged, &parts);
        let _desk = gates.desk(&session.id).await?;
        let at = now();
        let latest = gates.store.latest(&binding).await?;
        let standing = latest.as_ref().map(|gate| gate.standing(at));
        match (standing, latest) {
            (Some(GateState::Approved), Some(gate)) => {
                let Some(spent) = gates.spend(&gate, at).await? else {
                    return Ok(ToolChange::Held);
                };
                self.provenance
                    .note(&session.id, [spent_event(&spent)], at)
                    .await?;
                return Ok(ToolChange::Approved);
            }
            (Some(GateState::Open | GateState::Denied), Some(_)) => {
                return Ok(ToolChange::Held);
            }
            (None | Some(_), None | Some(_)) => {}
        }
        let kept = Kept {
            label: session.context.label().class(),
            reason: "the tool's definition changed after it was first seen, or gives orders to whoever reads it",
            note: None,
            arguments: json!({"definition_sha256": definition}),
            findings: &[],
        };
        let gate = gates.question(Question {
            kind: GateKind::ToolChanged,
            session: &session,
            asked_by: &caller.principal,
            binding,
            tool: Some(tool),
            class: Class::Public,
            rule: "definition-changed",
            policy: self.policy.version.as_str(),
            kept,
            evidence: None,
        })?;
        let opened = self.opened_event(&gate, Some(definition.as_bytes()));
        self.provenance.note(&session.id, [opened], at).await?;
        self.settle_gate(gate).await?;
        Ok(ToolChange::Held)
    }
}
