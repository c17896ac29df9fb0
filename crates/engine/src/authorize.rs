//! Deciding whether a call may pass, before it is made.

use std::sync::Arc;

use tidegate_core::{Attempt, Class, Decision, Ident, Name, Refusal, decide};
use tidegate_store::Session;

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::{AccessError, DecisionRecord, Engine, Payload};

/// A decision, and the state it was made on.
#[derive(Debug)]
pub struct Authorized {
    /// What was decided.
    pub decision: Decision,
    /// The session as it was.
    pub session: Arc<Session>,
    /// The class found in the call's arguments.
    pub arguments: Class,
}

impl Engine {
    /// Decides whether a call may pass. An unknown tool is a denial, never an allowance.
    ///
    /// # Errors
    /// When the caller cannot have the session; to whoever asked, that is a denial too.
    pub async fn authorize(
        &self,
        caller: &Caller,
        id: &Ident,
        tool: &Name,
        arguments: &Payload,
    ) -> Result<Authorized, AccessError> {
        let session = self.session_for(caller, Act::Call, id).await?;
        let arguments = class_of(arguments);
        let decision = self.decide(&session, tool, arguments);
        let record = DecisionRecord {
            at: now(),
            session: &session,
            tool,
            decision: &decision,
            arguments,
            policy: &self.policy.version,
        };
        self.observer.decided(&record);
        Ok(Authorized { decision, session, arguments })
    }

    fn decide(&self, session: &Session, tool: &Name, arguments: Class) -> Decision {
        let Some(tool) = self.policy.control.find(tool.as_str()) else {
            return Decision::Deny(Refusal::unknown_tool(tool.clone()));
        };
        let argument_kinds = arguments.kind().into_iter().collect();
        decide(Attempt { tool, context: &session.context, arguments, argument_kinds })
    }
}

/// The class of a call's own arguments. Nothing looks into them yet, so they carry what the session's label says.
const fn class_of(_arguments: &Payload) -> Class {
    Class::Public
}
