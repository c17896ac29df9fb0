//! Seeing gates: the queue, and one gate.

use std::time::Instant;

use serde_json::Value;
use tidegate_core::{Class, Ident, Name};
use tidegate_ledger::event::EvidencePointer;
use tidegate_ledger::vault::Evidence;
use tidegate_store::{Gate, GateKind, GateQuery, Listed};

use super::{GateError, GateView};
use crate::access::{Act, Caller};
use crate::engine::now;
use crate::output::clearance;
use crate::{Engine, Interrupted, Payload};

/// The most gates on one page.
const MOST_ON_PAGE: usize = 200;

/// Which gates somebody wants to see.
#[derive(Clone, Debug)]
pub struct GateWanted {
    /// Which by state.
    pub listed: Listed,
    /// Only of this kind.
    pub kind: Option<GateKind>,
    /// Only of this session.
    pub session: Option<Ident>,
    /// After this place, as the page before gave it.
    pub after: Option<i64>,
    /// At most so many, and never more than two hundred.
    pub limit: usize,
}

/// Some gates, and where to go on.
#[derive(Clone, Debug)]
pub struct GatePage {
    /// The gates, each as everyone may see it who may see gates.
    pub gates: Vec<GateView>,
    /// Where the next page begins, when there is one.
    pub next: Option<i64>,
}

impl Engine {
    /// A page of gates.
    ///
    /// # Errors
    /// When the caller may not see gates.
    pub async fn gates(&self, caller: &Caller, wanted: GateWanted) -> Result<GatePage, GateError> {
        self.admit_person(caller, Act::Review).await?;
        self.page(wanted).await
    }

    /// One gate, redacted to the caller's role.
    ///
    /// # Errors
    /// When there is none, or the caller may not see gates.
    pub async fn gate(&self, caller: &Caller, id: &Ident) -> Result<GateView, GateError> {
        self.admit_person(caller, Act::Review).await?;
        let gate = self.find_gate(id).await?;
        self.gate_for(caller, gate).await
    }

    /// The gates of one session, for its own agent too.
    ///
    /// # Errors
    /// When the caller may not see the session.
    pub async fn session_gates(
        &self,
        caller: &Caller,
        session: &Ident,
        wanted: GateWanted,
    ) -> Result<GatePage, GateError> {
        self.session_for(caller, Act::Look, session).await?;
        let session = Some(session.clone());
        self.page(GateWanted { session, ..wanted }).await
    }

    /// One gate of a session, for its own agent too, once it does not wait any more or the time has come.
    ///
    /// # Errors
    /// When the caller may not see the session, or the gate is not of this session.
    pub async fn session_gate(
        &self,
        caller: &Caller,
        session: &Ident,
        id: &Ident,
        until: Option<Instant>,
    ) -> Result<GateView, GateError> {
        self.session_for(caller, Act::Look, session).await?;
        let gate = self.find_gate(id).await?;
        if gate.session != *session {
            return Err(GateError::NoGate);
        }
        let gate = match until {
            Some(until) => self.await_gate(id, until).await?,
            None => gate,
        };
        Ok(GateView::of(gate, now()))
    }

    async fn page(&self, wanted: GateWanted) -> Result<GatePage, GateError> {
        let limit = wanted.limit.clamp(1, MOST_ON_PAGE);
        let at = now();
        let query = GateQuery {
            listed: wanted.listed,
            kind: wanted.kind,
            session: wanted.session,
            after: wanted.after,
            // One more, to know whether there is a next page.
            limit: limit + 1,
            at,
        };
        let mut found = self.gates_or_off()?.store.gates(&query).await?;
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().map(|gate| gate.place).filter(|_| more);
        let gates = found.into_iter().map(|gate| GateView::of(gate, at)).collect();
        Ok(GatePage { gates, next })
    }

    pub(super) async fn find_gate(&self, id: &Ident) -> Result<Gate, GateError> {
        let found = self.gates_or_off()?.store.gate(id).await?;
        found.ok_or(GateError::NoGate)
    }

    /// A gate as this caller may see it: personal data is shown by [`Engine::reveal_gate`] alone.
    pub(super) async fn gate_for(&self, caller: &Caller, gate: Gate) -> Result<GateView, GateError> {
        let clearance = clearance(caller.role).min(Class::Confidential);
        let mut view = GateView::of(gate, now());
        // What is not kept any more, or elsewhere, is shown as it is kept here.
        if let Some(content) = self.evidence_of(&view.gate).await? {
            let source = source(&view.gate)?;
            let shown = self.redacted(&source, &content, view.label, clearance).await?;
            view.arguments = shown;
        }
        Ok(view)
    }

    /// What a gate is about, raw, when it is kept here.
    pub(super) async fn evidence_of(&self, gate: &Gate) -> Result<Option<Payload>, GateError> {
        let pointer = gate.evidence.as_deref().map(EvidencePointer::parse);
        let Some(Ok(pointer)) = pointer else {
            return Ok(None);
        };
        // Evidence in another process's memory, or under another gateway's key, is as good as gone here.
        let Ok(Evidence::Present(content)) = self.in_vault(move |vault| vault.get(&pointer)).await else {
            return Ok(None);
        };
        let bytes = content.into_exposed();
        let value = match serde_json::from_slice(&bytes) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
            Ok(_) | Err(_) => Value::String(String::from_utf8_lossy(&bytes).into_owned()),
        };
        Ok(Some(Payload::new(value)))
    }
}

/// The name under which a gate's content was looked at.
pub(super) fn source(gate: &Gate) -> Result<Name, Interrupted> {
    match &gate.tool {
        Some(tool) => Ok(tool.clone()),
        None => Name::parse("output").map_err(|_| Interrupted),
    }
}
