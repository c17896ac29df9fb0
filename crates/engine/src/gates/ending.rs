//! The end of what nobody decided: by time, and by a restart.

use std::time::Duration;

use tidegate_core::Moment;
use tidegate_ledger::Reason;
use tidegate_ledger::event::{GateDecided, GateOutcome};
use tidegate_store::Gate;

use super::{GateError, Gates, later};
use crate::Engine;
use crate::engine::now;

/// How many are ended at once.
const AT_ONCE: usize = 100;

/// How long the gateway that opened a gate has to end it itself, before any other does.
const GRACE: Duration = Duration::from_secs(60);

const IN_TIME: &str = "nobody decided in time";
const UNUSED: &str = "the approval was not used in time";
const RESTARTED: &str = "the gateway was started anew before anybody decided";

impl Engine {
    /// Ends what has run out of time, and says how many that were.
    ///
    /// # Errors
    /// When the store or the record fails. What has run out of time is denied all the same.
    pub async fn expire_gates(&self) -> Result<usize, GateError> {
        let Some(gates) = &self.gates else { return Ok(0) };
        let at = now();
        let overdue = gates.store.overdue(at, AT_ONCE).await?;
        let mine = |gate: &Gate| gate.owner == gates.owner || later(gate.expires_at, GRACE) <= at;
        let mut ended = 0;
        for gate in overdue.iter().filter(|gate| mine(gate)) {
            let reason = if gate.end.is_some() { UNUSED } else { IN_TIME };
            ended += usize::from(self.end_gate(gates, gate, reason, at).await?);
        }
        Ok(ended)
    }

    /// Ends what this gateway left open when it last stopped: whoever asked is gone, so the answer is no. What was decided
    /// stays decided. Says how many that were.
    ///
    /// # Errors
    /// When the store or the record fails; the gateway must not serve then.
    pub async fn end_left_gates(&self) -> Result<usize, GateError> {
        let Some(gates) = &self.gates else { return Ok(0) };
        let mut ended = 0;
        loop {
            let left = gates.store.left_open(&gates.owner, AT_ONCE).await?;
            if left.is_empty() {
                return Ok(ended);
            }
            for gate in &left {
                ended += usize::from(self.end_gate(gates, gate, RESTARTED, now()).await?);
            }
        }
    }

    async fn end_gate(
        &self,
        gates: &Gates,
        gate: &Gate,
        reason: &str,
        at: Moment,
    ) -> Result<bool, GateError> {
        let _desk = gates.desk(&gate.session).await?;
        let current = self.find_gate(&gate.id).await?;
        if current.state != gate.state {
            return Ok(false);
        }
        let decided = GateDecided {
            gate_id: (&gate.id).into(),
            decision: GateOutcome::Expired,
            by: None,
            role: None,
            reason: Some(Reason::new(reason)),
            approvals_missing: None,
        };
        self.provenance.note(&gate.session, [decided.into()], at).await?;
        let ended = gates.store.expire(&gate.id, reason, at).await?;
        if let Some(gate) = &ended {
            gates.tell("expired", gate);
        }
        Ok(ended.is_some())
    }
}
