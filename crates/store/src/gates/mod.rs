//! What waits for a person: a gate, and the rules by which it changes.
//!
//! A gate is one row that holds no value of the call it stands for: names, types and lengths get
//! here, and the rest lies in the evidence vault. Which call it is for is a keyed digest, so that an approval fits that call
//! and no other. How a gate changes is written here once, as functions of the gate alone; a backend's part is to make one such
//! step whole and durable.

mod contract;
mod written;

use std::fmt;
use std::str::FromStr;

use tidegate_core::{Class, Ident, Moment, Name, Role, same_person};

pub use contract::{GateQuery, GateStore, Listed, OpenGateError, Opened};

/// What sort of question a gate asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateKind {
    /// May this call be made?
    ToolApproval,
    /// Content tried to give orders: may the run go on?
    InjectionHalt,
    /// A model's output shows personal data: may it be shown?
    PiiLeakRisk,
    /// A tool describes itself otherwise than before: may it be used?
    ToolChanged,
    /// May the session's label start anew?
    LowerLabel,
}

impl GateKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::ToolApproval,
        Self::InjectionHalt,
        Self::PiiLeakRisk,
        Self::ToolChanged,
        Self::LowerLabel,
    ];

    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ToolApproval => "tool-approval",
            Self::InjectionHalt => "injection-halt",
            Self::PiiLeakRisk => "pii-leak-risk",
            Self::ToolChanged => "tool-changed",
            Self::LowerLabel => "lower-label",
        }
    }
}

impl fmt::Display for GateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for GateKind {
    type Err = UnknownGateKind;

    fn from_str(name: &str) -> Result<Self, UnknownGateKind> {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.as_str() == name).ok_or(UnknownGateKind)
    }
}

/// The text names no kind of gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a kind of gate: expected tool-approval, injection-halt, pii-leak-risk, tool-changed or lower-label"
)]
pub struct UnknownGateKind;

/// Where a gate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateState {
    /// It waits for a person.
    Open,
    /// A person released it, and that has not been used yet.
    Approved,
    /// A person refused.
    Denied,
    /// Nobody decided in time, or nobody used the approval in time. Both refuse.
    Expired,
    /// The approval was used. It counts once.
    Spent,
}

impl GateState {
    /// Every state.
    pub const ALL: [Self; 5] = [
        Self::Open,
        Self::Approved,
        Self::Denied,
        Self::Expired,
        Self::Spent,
    ];

    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Spent => "spent",
        }
    }
}

impl fmt::Display for GateState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a gate is bound to, under a key that no store has: equal for the very same question, and telling nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binding(pub [u8; 32]);

/// One person's yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateApproval {
    /// Who.
    pub by: Ident,
    /// In which role.
    pub role: Role,
    /// When.
    pub at: Moment,
}

/// How a gate was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateEnd {
    /// Who decided last; nobody when time did.
    pub by: Option<Ident>,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Moment,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Its id.
    pub id: Ident,
    /// What it asks.
    pub kind: GateKind,
    /// The session it is about.
    pub session: Ident,
    /// For whom the session was opened.
    pub user: Ident,
    /// The agent that works in it.
    pub agent: Ident,
    /// Whose token asked.
    pub asked_by: Ident,
    /// The gateway that opened it, by the name of its ledger.
    pub owner: Ident,
    /// What an approval of it fits.
    pub binding: Binding,
    /// The tool it is about.
    pub tool: Option<Name>,
    /// The class of what is at stake.
    pub class: Class,
    /// The rule that asks.
    pub rule: String,
    /// The policy under which it asks.
    pub policy: String,
    /// What a reviewer may see, as JSON.
    pub document: String,
    /// Where the rest lies.
    pub evidence: Option<String>,
    /// Since when it waits.
    pub opened_at: Moment,
    /// When silence becomes a denial, and an approval that nobody used is void.
    pub expires_at: Moment,
    /// How many people must approve.
    pub needed: u32,
    /// Where it stands, as it was last written.
    pub state: GateState,
    /// Who approved so far.
    pub approvals: Vec<GateApproval>,
    /// How it was decided.
    pub end: Option<GateEnd>,
    /// Its place in the order of opening, given by the store.
    pub place: i64,
    /// Grows with each change of any gate, given by the store.
    pub tick: i64,
}

/// What a person says to a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateAnswer {
    /// Who.
    pub by: Ident,
    /// In which role.
    pub role: Role,
    /// Whether it is a yes.
    pub approve: bool,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Moment,
    /// Until when an approval can be used.
    pub usable_until: Moment,
}

/// Why an answer does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// There is no such gate.
    #[error("there is no gate with this id")]
    NoGate,
    /// It does not wait any more.
    #[error("the gate is {0} already")]
    Closed(GateState),
    /// The same person approved before.
    #[error("the same person has approved already; another one must")]
    Twice,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] crate::StoreError),
}

impl Gate {
    /// Where it stands at a moment: what ran out of time has expired, whether or not somebody wrote that down.
    #[must_use]
    pub fn standing(&self, at: Moment) -> GateState {
        match self.state {
            GateState::Open | GateState::Approved if self.expires_at <= at => GateState::Expired,
            state => state,
        }
    }

    /// How many more people must approve.
    #[must_use]
    pub fn missing(&self) -> u32 {
        let given = u32::try_from(self.approvals.len()).unwrap_or(u32::MAX);
        self.needed.saturating_sub(given)
    }

    /// Takes a person's answer. One no is enough; a yes counts once for each person.
    ///
    /// # Errors
    /// When the gate does not wait any more, or the same person approved before.
    pub fn answer(&mut self, answer: GateAnswer) -> Result<(), AnswerError> {
        match self.standing(answer.at) {
            GateState::Open => {}
            state @ (GateState::Approved | GateState::Denied | GateState::Expired | GateState::Spent) => {
                return Err(AnswerError::Closed(state));
            }
        }
        if answer.approve {
            if self
                .approvals
                .iter()
                .any(|given| same_person(&given.by, &answer.by))
            {
                return Err(AnswerError::Twice);
            }
            self.approvals.push(GateApproval {
                by: answer.by.clone(),
                role: answer.role,
                at: answer.at,
            });
            if self.missing() > 0 {
                return Ok(());
            }
            self.state = GateState::Approved;
            self.expires_at = answer.usable_until;
        } else {
            self.state = GateState::Denied;
        }
        self.end = Some(GateEnd {
            by: Some(answer.by),
            reason: answer.reason,
            at: answer.at,
        });
        Ok(())
    }

    /// Uses up an approval. False when there is none that can be used.
    pub fn spend(&mut self, binding: &Binding, at: Moment) -> bool {
        let usable = self.standing(at) == GateState::Approved && self.binding == *binding;
        if usable {
            self.state = GateState::Spent;
        }
        usable
    }

    /// Ends what nobody decided or used. False when somebody has.
    pub fn expire(&mut self, reason: &str, at: Moment) -> bool {
        let waits = matches!(self.state, GateState::Open | GateState::Approved);
        if waits {
            self.state = GateState::Expired;
            let by = self.end.take().and_then(|end| end.by);
            self.end = Some(GateEnd {
                by,
                reason: reason.to_owned(),
                at,
            });
        }
        waits
    }
}

#[cfg(test)]
mod tests;
