//! A call that a person has to approve: the client is kept waiting for a while, and told that it waits.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidegate_core::{Decision, Name, Permit};
use tidegate_engine::{Authorized, Payload, ToolChange, Unveiling};
use tidegate_store::{Gate, GateState};

use super::Session;
use super::govern::Errand;
use super::stopped::Stopped;
use crate::mcp::message::Envelope;
use crate::mcp::object::raw;
use crate::mcp::pins::{Definition, Standing};

/// How often a client that gave a progress token is told that its call still waits.
const TELL_EVERY: Duration = Duration::from_secs(3);

impl Session {
    /// The permit to send this, at once or when a person has approved it within the time that there is. Decided anew after the
    /// wait: whatever else changed meanwhile counts.
    pub(super) async fn leave_when_approved(
        &self,
        errand: &Errand,
        content: Value,
    ) -> Result<(Permit, Unveiling), Stopped> {
        let content = Payload::new(content);
        let first = self.ask_leave(&errand.subject, &content).await?;
        let (Decision::Hold(_), Some(gate)) = (&first.decision, &first.gate) else {
            return permitted(first);
        };
        match self.wait_at(errand, gate).await {
            Some(GateState::Approved | GateState::Denied) => {
                permitted(self.ask_leave(&errand.subject, &content).await?)
            }
            Some(GateState::Open | GateState::Expired | GateState::Spent) => permitted(first),
            None => Err(Stopped::taken_back()),
        }
    }

    async fn ask_leave(&self, subject: &Name, content: &Payload) -> Result<Authorized, Stopped> {
        let engine = &self.hub.engine;
        Ok(engine.authorize(&self.caller, &self.id, subject, content).await?)
    }

    /// Waits for a person; nothing when the client has gone.
    async fn wait_at(&self, errand: &Errand, gate: &Gate) -> Option<GateState> {
        let engine = &self.hub.engine;
        let wait = engine.gate_rules().map_or(Duration::ZERO, |rules| rules.wait);
        let deciding = engine.await_decision(gate, Instant::now() + wait);
        tokio::select! {
            decided = deciding => Some(decided),
            () = self.nobody_waits(Some(&errand.outlet)) => None,
            () = self.is_taken_back(errand.key) => None,
            () = self.keep_telling(errand, gate) => None,
        }
    }

    /// Tells a client that wants to know that its call waits, again and again.
    async fn keep_telling(&self, errand: &Errand, gate: &Gate) {
        let token = self.ways.active(errand.key).and_then(|active| active.token);
        let token = token.and_then(|token| serde_json::from_str::<Value>(&token).ok());
        let Some(token) = token else {
            return std::future::pending().await;
        };
        let mut ticks = tokio::time::interval(TELL_EVERY);
        let mut told = 0u32;
        loop {
            ticks.tick().await;
            told = told.saturating_add(1);
            let params = json!({
                "progressToken": token,
                // Next to nothing, so that the server's own progress goes on from there.
                "progress": f64::from(told) / 1_000_000.0,
                "message": format!("waiting for a person to approve this call (gate {})", gate.id),
            });
            let waiting = Envelope::notification("notifications/progress", Some(raw(&params)));
            errand.outlet.send(&waiting).await;
        }
    }

    /// How definitions stand that are held by their pins, after people were asked about them: what somebody approved is trusted,
    /// durably.
    pub(super) async fn asked_about(
        &self,
        server: usize,
        definitions: &[Definition],
        standings: &mut [Standing],
    ) -> Result<(), Stopped> {
        for (definition, standing) in definitions.iter().zip(standings) {
            if *standing == Standing::Trusted {
                continue;
            }
            let shown = crate::mcp::names::shown(&self.hub.servers, server, &definition.tool);
            let Some(name) = shown else { continue };
            let engine = &self.hub.engine;
            let change = engine
                .changed_tool(&self.caller, &self.id, &name, &definition.digest)
                .await;
            // A question that cannot be asked leaves the tool closed, and the others as they are.
            let Ok(ToolChange::Approved) = change else {
                continue;
            };
            let (pins, at, approved) = (
                self.hub.pins.clone(),
                self.name_of(server).to_owned(),
                definition.clone(),
            );
            let trusted = tokio::task::spawn_blocking(move || pins.trust(&at, &approved)).await;
            if matches!(trusted, Ok(Ok(true))) {
                *standing = Standing::Trusted;
            }
        }
        Ok(())
    }
}

fn permitted(authorized: Authorized) -> Result<(Permit, Unveiling), Stopped> {
    match authorized.decision {
        Decision::Allow(permit) => Ok((permit, authorized.unveiling)),
        Decision::Deny(refusal) => Err((&refusal).into()),
        Decision::Hold(refusal) => Err(Stopped::held(&refusal, authorized.gate.as_ref())),
    }
}
