//! What the engine tells about its work: names and classes, never content.

use tidegate_core::{Class, Decision, Ident, Moment, Name, Rise};
use tidegate_store::Session;

use crate::PolicyVersion;

/// One decision, with the contamination state it was made on.
#[derive(Debug)]
pub struct DecisionRecord<'a> {
    /// When.
    pub at: Moment,
    /// The session, as it was.
    pub session: &'a Session,
    /// The tool.
    pub tool: &'a Name,
    /// What was decided.
    pub decision: &'a Decision,
    /// The class found in the arguments.
    pub arguments: Class,
    /// The policy that decided.
    pub policy: &'a PolicyVersion,
}

impl DecisionRecord<'_> {
    /// `allow`, `hold` or `deny`.
    #[must_use]
    pub const fn verdict(&self) -> &'static str {
        match self.decision {
            Decision::Allow(_) => "allow",
            Decision::Hold(_) => "hold",
            Decision::Deny(_) => "deny",
        }
    }

    /// The rule that decided.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        self.decision.rule()
    }
}

/// Whoever wants to know what the engine does: logs, counters, traces. It must not block.
pub trait Observer: Send + Sync {
    /// A call was decided.
    fn decided(&self, record: &DecisionRecord<'_>);
    /// A label rose.
    fn rose(&self, session: &Session, rise: &Rise);
    /// A session was opened.
    fn opened(&self, session: &Session);
    /// An administrator started a session anew.
    fn reset(&self, session: &Session);
    /// A session was halted.
    fn halted(&self, session: &Session);
    /// The model that was to be heard had no opinion.
    fn unheard(&self, session: &Ident, reason: &'static str);
}
