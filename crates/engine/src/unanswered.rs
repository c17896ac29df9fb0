//! What the record says of calls that were allowed and brought nothing back, and of offers that nobody may use yet.

use tidegate_core::{Ident, Name};
use tidegate_ledger::event::{CallUnanswered, DefinitionHeld};

use crate::access::{Act, Caller};
use crate::engine::now;
use crate::provenance::{spelled, word};
use crate::{AccessError, Engine};

/// Why a call that was allowed brought no answer in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswerCause {
    /// The client went away while the server worked.
    ClientLeft,
    /// The client took the call back.
    TakenBack,
    /// The server could not be reached, went away, or did not answer in time.
    ServerFailed,
}

impl NoAnswerCause {
    /// The cause as records spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClientLeft => "client-left",
            Self::TakenBack => "taken-back",
            Self::ServerFailed => "server-failed",
        }
    }
}

/// Something a server offers whose definition waits for a person.
#[derive(Clone, Copy, Debug)]
pub struct HeldDefinition<'a> {
    /// The server.
    pub server: &'a str,
    /// What it is: a tool, a resource, a template, a prompt.
    pub kind: &'static str,
    /// What it is called. It is the server's own text, and named only when no rule knows it for a value.
    pub offered: &'a str,
    /// Whether it gives orders; otherwise it changed after it was first seen.
    pub gives_orders: bool,
}

impl Engine {
    /// Records that a call which was allowed brought no answer in, so that nobody looks for one. The call may have had
    /// its effect.
    ///
    /// # Errors
    /// When the caller cannot have the session, or it cannot be recorded.
    pub async fn call_unanswered(
        &self,
        caller: &Caller,
        id: &Ident,
        tool: &Name,
        cause: NoAnswerCause,
    ) -> Result<(), AccessError> {
        self.session_for(caller, Act::Call, id).await?;
        let control = self.control();
        let unanswered = CallUnanswered {
            tool: spelled(&self.nameable(tool, control.find(tool.as_str()))?),
            cause: word(cause.as_str()),
        };
        Ok(self.provenance.note(id, [unanswered.into()], now()).await?)
    }

    /// Records that what a server says of something it offers is held until a person approves it.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub async fn definition_held(&self, held: HeldDefinition<'_>) -> Result<(), AccessError> {
        let offered = if self.inspector.is_plain(held.offered) {
            tidegate_ledger::Name::or_unnameable(held.offered)
        } else {
            word("(unnameable)")
        };
        let event = DefinitionHeld {
            server: tidegate_ledger::Name::or_unnameable(held.server),
            kind: word(held.kind),
            offered,
            cause: word(if held.gives_orders {
                "gives-orders"
            } else {
                "changed"
            }),
        };
        Ok(self.provenance.note_gateway(event.into(), now()).await?)
    }
}
