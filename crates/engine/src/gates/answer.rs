//! A person's answer, and what it sets in motion.

use tidegate_core::{Halt, Ident, Role, same_person};
use tidegate_ledger::Reason;
use tidegate_ledger::event::{GateDecided, GateOutcome};
use tidegate_store::{Gate, GateAnswer, GateKind, GateState, Mirror, Resumption};

use super::{GateError, GateView, Gates, later, spent_event};
use crate::access::{Act, Caller};
use crate::engine::now;
use crate::{AccessError, Engine, Interrupted, ResetError};

/// The longest reason, in characters: what the record keeps of it.
const MOST_REASON_CHARS: usize = Reason::MAX_CHARS;

/// The label is above the one that the question was about.
const RISEN: &str = "the label has risen since this was asked: deny this and ask anew; nothing was changed";
/// The same, noticed when the approval had been used up.
const RISEN_MEANWHILE: &str =
    "the label rose while this was decided, and stands; the approval is used up: ask anew";

impl Engine {
    /// Approves or denies. An approval releases what the gate is bound to, once; where two people must approve, the first
    /// approval is kept and the gate waits for the second.
    ///
    /// # Errors
    /// When the role may not, it is the caller's own, the reason is missing, or the gate does not wait any more.
    pub async fn decide_gate(
        &self,
        caller: &Caller,
        id: &Ident,
        approve: bool,
        reason: &str,
    ) -> Result<GateView, GateError> {
        self.admit_person(caller, Act::Decide).await?;
        let reason = self.reason(reason)?;
        let gates = self.gates_or_off()?;
        let session = self.find_gate(id).await?.session;
        let desk = gates.desk(&session).await?;
        // Read again at the desk: nobody else in this process answers meanwhile.
        let gate = self.find_gate(id).await?;
        if approve {
            refuse_own(caller, &gate)?;
            refuse_kind(caller.role, gate.kind)?;
            self.refuse_overtaken(&gate).await?;
        }
        let at = now();
        let answer = GateAnswer {
            by: caller.principal.clone(),
            role: caller.role,
            approve,
            reason: reason.clone(),
            at,
            usable_until: later(at, gates.rules.release),
        };
        let mut after = gate.clone();
        after.answer(answer.clone())?;
        let decided = GateDecided {
            gate_id: id.into(),
            decision: match approve {
                true => GateOutcome::Approved,
                false => GateOutcome::Denied,
            },
            by: Some((&caller.principal).into()),
            role: Some(caller.role),
            reason: Some(Reason::new(&reason)),
            approvals_missing: Some(after.missing()).filter(|missing| approve && *missing > 0),
        };
        // INVARIANT (durable before visible): the answer is on the record before anyone can act on it.
        self.provenance.note(&gate.session, [decided.into()], at).await?;
        let gate = gates.store.answer(id, answer).await?;
        gates.tell(
            match gate.state {
                GateState::Open => "approval",
                _ => "decided",
            },
            &gate,
        );
        let gate = self.carry_out(caller, gates, gate, &reason).await?;
        drop(desk);
        self.gate_for(caller, gate).await
    }

    /// What an approval does by itself. What waits for the agent to ask again is left for it.
    async fn carry_out(
        &self,
        caller: &Caller,
        gates: &Gates,
        gate: Gate,
        reason: &str,
    ) -> Result<Gate, GateError> {
        if gate.state != GateState::Approved {
            return Ok(gate);
        }
        match gate.kind {
            GateKind::ToolApproval | GateKind::PiiLeakRisk | GateKind::ToolChanged => Ok(gate),
            GateKind::InjectionHalt | GateKind::LowerLabel => {
                let at = now();
                let Some(spent) = gates.spend(&gate, at).await? else {
                    return Ok(gate);
                };
                self.provenance
                    .note(&gate.session, [spent_event(&spent)], at)
                    .await?;
                if gate.kind == GateKind::LowerLabel {
                    self.reset_for(caller, &spent, reason).await?;
                } else {
                    self.lift_halt(caller, &spent, reason).await?;
                }
                Ok(spent)
            }
        }
    }

    /// What has come over a session since the question was put is not covered by an answer to it.
    async fn refuse_overtaken(&self, gate: &Gate) -> Result<(), GateError> {
        match gate.kind {
            GateKind::InjectionHalt if self.is_halted_above(&gate.session).await? => {
                Err(GateError::Overtaken(
                    "a run above this one is halted too: decide about that one first; nothing was changed",
                ))
            }
            GateKind::LowerLabel => {
                let session = self.store.current(&gate.session).await?;
                let session = session.ok_or(AccessError::NoSession)?;
                match session.context.label().class() <= gate.class {
                    true => Ok(()),
                    false => Err(GateError::Overtaken(RISEN)),
                }
            }
            _ => Ok(()),
        }
    }

    async fn reset_for(&self, caller: &Caller, gate: &Gate, reason: &str) -> Result<(), GateError> {
        match self.reset_up_to(caller, &gate.session, gate.class, reason).await {
            Ok(_) => Ok(()),
            Err(ResetError::Access(error)) => Err(error.into()),
            Err(ResetError::Overtaken) => Err(GateError::Overtaken(RISEN_MEANWHILE)),
            Err(ResetError::Reason) => Err(GateError::Reason),
            Err(ResetError::Mirror(error)) => Err(error.into()),
        }
    }

    /// Lifts the halt that a gate is about, here and in every run below.
    async fn lift_halt(&self, caller: &Caller, gate: &Gate, reason: &str) -> Result<(), GateError> {
        let session = self.store.current(&gate.session).await?;
        let session = session.ok_or(AccessError::NoSession)?;
        let Some(halt) = session.context.halted().filter(|halt| is_of(gate, halt)).cloned() else {
            return Ok(());
        };
        if self.is_halted_above(&gate.session).await? {
            return Ok(());
        }
        let mut runs = vec![gate.session.clone()];
        runs.extend(self.descendants(&gate.session).await?);
        for run in runs {
            let resumption = Resumption {
                by: caller.principal.clone(),
                reason: reason.to_owned(),
                at: now(),
            };
            let resumed = self.store.resume(&run, &halt, resumption).await?;
            self.publish(&resumed.session, Mirror::write).await?;
        }
        Ok(())
    }

    /// A reason for what is done with a gate.
    pub(super) fn reason(&self, reason: &str) -> Result<String, GateError> {
        self.plain_reason(reason)?.ok_or(GateError::Reason)
    }

    /// A reason without what a rule knows for a value; nothing when it is missing or too long.
    pub(crate) fn plain_reason(&self, reason: &str) -> Result<Option<String>, Interrupted> {
        let reason = reason.trim();
        if reason.is_empty() || reason.chars().count() > MOST_REASON_CHARS {
            return Ok(None);
        }
        self.plain_words(reason).map(Some)
    }
}

/// Whether a halt is the one that a gate was opened for.
fn is_of(gate: &Gate, halt: &Halt) -> bool {
    gate.tool.as_ref() == Some(&halt.source) && gate.rule == super::halt::rule_of(halt)
}

fn refuse_own(caller: &Caller, gate: &Gate) -> Result<(), GateError> {
    let is_theirs = |principal: &Ident| same_person(&caller.principal, principal);
    if is_theirs(&gate.user) || is_theirs(&gate.asked_by) {
        return Err(GateError::Own);
    }
    Ok(())
}

/// Who may say yes to what. Everyone who may decide may say no.
fn refuse_kind(role: Role, kind: GateKind) -> Result<(), GateError> {
    let may = match kind {
        GateKind::ToolApproval | GateKind::InjectionHalt | GateKind::ToolChanged => return Ok(()),
        // Whoever lets personal data be shown must be able to look at it.
        GateKind::PiiLeakRisk if role == Role::PiiAuthorizedReviewer => return Ok(()),
        GateKind::PiiLeakRisk => "a pii-authorized-reviewer",
        GateKind::LowerLabel if role == Role::Admin => return Ok(()),
        GateKind::LowerLabel => "an administrator",
    };
    Err(GateError::NotThisKind { role, kind, may })
}
