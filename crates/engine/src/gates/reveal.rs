//! Showing a gate's content raw, to those few who may, for a reason, on the record.

use serde_json::Value;
use tidegate_core::{Class, Ident, Veiled};
use tidegate_ledger::Reason;
use tidegate_ledger::event::{EvidencePointer, GateRevealed};

use super::queue::source;
use super::{GateError, GateView};
use crate::access::{Act, Caller};
use crate::engine::now;
use crate::output::clearance;
use crate::{Engine, Payload};

/// A gate with its content raw.
pub struct Revealed {
    /// The gate as everyone sees it.
    pub view: GateView,
    /// The content with the values behind its stubs in it; credentials are taken out in any case.
    pub arguments: Value,
}

impl Engine {
    /// Shows a gate's content raw. Who was shown it and why is on the record before they see it.
    ///
    /// # Errors
    /// When the role may not, the reason is missing, or the content is not kept any more.
    pub async fn reveal_gate(
        &self,
        caller: &Caller,
        id: &Ident,
        reason: &str,
    ) -> Result<Revealed, GateError> {
        self.admit_person(caller, Act::Reveal).await?;
        let reason = self.reason(reason)?;
        let view = GateView::of(self.find_gate(id).await?, now());
        let clearance = clearance(caller.role);
        if view.label > clearance {
            return Err(GateError::AboveEveryone(view.label));
        }
        let content = self.evidence_of(&view.gate).await?.ok_or(GateError::Gone)?;
        let whole = self.with_values(&view.gate.session, content, clearance).await?;
        let source = source(&view.gate)?;
        let arguments = self.redacted(&source, &whole, view.label, clearance).await?;
        let pointer = view.gate.evidence.as_deref().map(EvidencePointer::parse);
        let revealed = GateRevealed {
            gate_id: id.into(),
            by: (&caller.principal).into(),
            role: caller.role,
            data_class: view.gate.class.min(clearance),
            reason: Reason::new(&reason),
            evidence_pointer: pointer.and_then(Result::ok).ok_or(GateError::Gone)?,
        };
        // INVARIANT (durable before visible): the look is on the record before anything is seen.
        self.provenance
            .note(&view.gate.session, [revealed.into()], now())
            .await?;
        Ok(Revealed { view, arguments })
    }

    /// Content with the values behind its stubs, where the clearance covers all of them.
    async fn with_values(
        &self,
        session: &Ident,
        content: Payload,
        clearance: Class,
    ) -> Result<Payload, GateError> {
        let unveiling = self.mentions(session, &content).await?;
        match unveiling.veiled {
            Veiled::Known(class) if class <= clearance => {
                // A value that is gone is shown as its stub.
                Ok(self.revealed(&unveiling, &content).await.unwrap_or(content))
            }
            Veiled::Nothing | Veiled::Unknown | Veiled::Known(_) | Veiled::Mixed(_) => Ok(content),
        }
    }
}
