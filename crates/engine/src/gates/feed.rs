//! Hearing of gates as they change: by whoever waits at one, and by whoever watches them all.
//!
//! What this process does is heard at once. What others on the same state do is found by looking, every so often.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_core::Ident;
use tidegate_store::{Gate, GateState, GateStore};
use tokio::sync::{broadcast, watch};

use super::{GateError, GateView};
use crate::Engine;
use crate::access::{Act, Caller};
use crate::engine::now;

/// How often others' changes are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How many changes are read at once.
const AT_ONCE: usize = 100;

/// What this process did to a gate.
#[derive(Clone, Debug)]
pub struct GateNews {
    /// `opened`, `approval`, `decided`, `spent` or `expired`.
    pub event: &'static str,
    /// The gate after it, as it is kept.
    pub gate: Arc<Gate>,
}

/// Every change of every gate, from some moment on, by whichever process.
pub struct GateFeed {
    store: Arc<dyn GateStore>,
    moved: watch::Receiver<u64>,
    after: i64,
    ready: std::vec::IntoIter<Gate>,
}

impl GateFeed {
    /// The next change: what happened last to the gate, and the gate as everyone may see it who may see gates. Changes of one
    /// gate that follow each other closely are told as one.
    ///
    /// # Errors
    /// When the store cannot be read; the feed may be asked again.
    pub async fn next(&mut self) -> Result<(&'static str, GateView), GateError> {
        loop {
            if let Some(gate) = self.ready.next() {
                self.after = self.after.max(gate.tick);
                return Ok((event_of(&gate), GateView::of(gate, now())));
            }
            // Seen before the look, so that a change between the two is looked for again.
            self.moved.borrow_and_update();
            let changed = self.store.changed(self.after, AT_ONCE).await?;
            if changed.is_empty() {
                let _ = tokio::time::timeout(LOOK_EVERY, self.moved.changed()).await;
            }
            self.ready = changed.into_iter();
        }
    }
}

/// What happened last to a gate.
fn event_of(gate: &Gate) -> &'static str {
    match gate.state {
        GateState::Open if gate.approvals.is_empty() => "opened",
        GateState::Open => "approval",
        GateState::Approved | GateState::Denied => "decided",
        GateState::Expired => "expired",
        GateState::Spent => "spent",
    }
}

impl Engine {
    /// Every change of every gate from now on, or after the one with this tick.
    ///
    /// # Errors
    /// When the caller may not see gates.
    pub async fn follow_gates(&self, caller: &Caller, after: Option<i64>) -> Result<GateFeed, GateError> {
        self.admit_person(caller, Act::Review).await?;
        let gates = self.gates_or_off()?;
        let moved = gates.moved.subscribe();
        let after = match after {
            Some(tick) => tick,
            None => gates.store.tick().await?,
        };
        Ok(GateFeed {
            store: Arc::clone(&gates.store),
            moved,
            after,
            ready: Vec::new().into_iter(),
        })
    }

    /// What this process does to gates, as it happens; none without gates.
    #[must_use]
    pub fn gate_news(&self) -> Option<broadcast::Receiver<GateNews>> {
        self.gates.as_ref().map(|gates| gates.news.subscribe())
    }

    /// How a gate stands once a person has decided or the time has come. What cannot be read any more is taken as it was.
    pub async fn await_decision(&self, gate: &Gate, until: Instant) -> GateState {
        match self.await_gate(&gate.id, until).await {
            Ok(gate) => gate.standing(now()),
            Err(_) => gate.standing(now()),
        }
    }

    /// The gate once it does not wait any more, or as it is when the time has come.
    pub(crate) async fn await_gate(&self, id: &Ident, until: Instant) -> Result<Gate, GateError> {
        let mut moved = self.gates_or_off()?.moved.subscribe();
        loop {
            moved.borrow_and_update();
            let gate = self.find_gate(id).await?;
            let left = until.saturating_duration_since(Instant::now());
            if gate.standing(now()) != GateState::Open || left.is_zero() {
                return Ok(gate);
            }
            let _ = tokio::time::timeout(left.min(LOOK_EVERY), moved.changed()).await;
        }
    }
}
