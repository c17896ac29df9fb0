//! The check in front of a function of the host's own program: the session's label against what the function may be given.
//!
//! Such a function is declared where it is written, by its decorator, so there is no control list to look in, and nobody
//! else carries the call. That it passed changes nothing and releases nothing, so an allowance is not on the record; it is
//! an answer from memory, level with the store. A refusal is on the record before it is told.

use tidegate_core::{Attempt, Class, Decision, Ident, Kinds, Tool, Veiled, decide};

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::{AccessError, DecisionRecord, Engine, Payload};

impl Engine {
    /// Decides whether a function that was declared in place may run now.
    ///
    /// # Errors
    /// When the caller cannot have the session or a refusal cannot be recorded; to whoever asked, that is a denial.
    pub async fn guard(&self, caller: &Caller, id: &Ident, tool: &Tool) -> Result<Decision, AccessError> {
        let session = self.session_for(caller, Act::Call, id).await?;
        let decision = decide(Attempt {
            tool,
            context: &session.context,
            arguments: Class::Public,
            argument_kinds: Kinds::NONE,
            veiled: Veiled::Nothing,
        });
        if matches!(decision, Decision::Allow(_)) {
            return Ok(decision);
        }
        let record = DecisionRecord {
            at: now(),
            session: &session,
            tool: &tool.name,
            decision: &decision,
            arguments: Class::Public,
            policy: &self.policy.version,
        };
        // Its arguments were not looked at, so none are named.
        let events = self.decision_events(&record, Some(tool), &Payload::new(serde_json::Value::Null));
        self.provenance.note(id, events, record.at).await?;
        self.observer.decided(&record);
        Ok(decision)
    }
}
