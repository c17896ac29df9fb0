//! The contract every backend of gates keeps.

use async_trait::async_trait;
use tidegate_core::{Ident, Moment};

use super::{AnswerError, Binding, Gate, GateAnswer, GateKind};
use crate::StoreError;

/// Which gates to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Those that wait for a person, longest waiting first.
    Open,
    /// Those that do not any more, newest first.
    Decided,
    /// All, newest first.
    All,
}

/// A page of gates to read.
#[derive(Clone, Debug)]
pub struct GateQuery {
    /// Which by state.
    pub listed: Listed,
    /// Only of this kind.
    pub kind: Option<GateKind>,
    /// Only of this session.
    pub session: Option<Ident>,
    /// Only what comes after the gate in this place.
    pub after: Option<i64>,
    /// At most so many.
    pub limit: usize,
    /// The time now: what has run out of it is not open.
    pub at: Moment,
}

/// What came of opening a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It waits now.
    New(Gate),
    /// One with the same binding waits already.
    Known(Gate),
}

/// Why a gate was not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenGateError {
    /// As many gates of the session wait as may.
    #[error("as many gates of this session wait for a person as may")]
    TooMany,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Gates that outlive a process.
///
/// Each change must be durable before its future resolves, and in force for every later call, in this process and in every
/// other on the same state. Each is one atomic step of one gate: when two race, one comes after the other.
#[async_trait]
pub trait GateStore: Send + Sync {
    /// Keeps a new gate, and gives it its place. It must give the one that waits when there is one with the same binding, must
    /// refuse one more than `most` of a session that wait, and one of a session that does not exist.
    async fn open_gate(&self, gate: Gate, most: usize) -> Result<Opened, OpenGateError>;

    /// The gate of that id.
    async fn gate(&self, id: &Ident) -> Result<Option<Gate>, StoreError>;

    /// The gate that was opened last with that binding.
    async fn latest(&self, binding: &Binding) -> Result<Option<Gate>, StoreError>;

    /// Takes a person's answer, as [`Gate::answer`] has it. Of answers that race, those that come too late must be refused.
    async fn answer(&self, id: &Ident, answer: GateAnswer) -> Result<Gate, AnswerError>;

    /// Uses up an approval, as [`Gate::spend`] has it. Of those who race for it, one must get it and the others nothing.
    async fn spend(&self, id: &Ident, binding: &Binding, at: Moment) -> Result<Option<Gate>, StoreError>;

    /// Ends what nobody decided or used, as [`Gate::expire`] has it; nothing when somebody has.
    async fn expire(&self, id: &Ident, reason: &str, at: Moment) -> Result<Option<Gate>, StoreError>;

    /// A page of gates. It must find them without looking at the others.
    async fn gates(&self, query: &GateQuery) -> Result<Vec<Gate>, StoreError>;

    /// Gates that wait, or whose approval waits, and have run out of time; at most `limit`.
    async fn overdue(&self, at: Moment, limit: usize) -> Result<Vec<Gate>, StoreError>;

    /// Gates that wait for a person and were opened by this gateway; at most `limit`.
    async fn left_open(&self, owner: &Ident, limit: usize) -> Result<Vec<Gate>, StoreError>;

    /// Gates that changed after this tick, in the order of their last change; at most `limit`.
    async fn changed(&self, after: i64, limit: usize) -> Result<Vec<Gate>, StoreError>;

    /// The tick of the last change; 0 when there was none.
    async fn tick(&self) -> Result<i64, StoreError>;
}
