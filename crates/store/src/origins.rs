//! Where values came from, for each session, as digests under a key that the store does not have.

use async_trait::async_trait;
use tidegate_core::{Ident, Name};

use crate::StoreError;

/// What remembers which values entered a session, and by whom.
///
/// What is kept must be durable (it survives kill -9 of this process and a restart) before its future resolves, and must
/// be in every later [`OriginStore::recall`], in this process and in every other on the same state.
#[async_trait]
pub trait OriginStore: Send + Sync {
    /// Begins to remember, for a session that nothing has entered yet. A session that was begun already must stay as it is.
    async fn begin(&self, session: &Ident) -> Result<(), StoreError>;

    /// Keeps what entered, in this order. It must keep all of a chunk or nothing of it: a chunk beyond the bounds must not be
    /// kept, and closes the memory unless it is the operator's. A closed memory must keep only the operator's chunks. A
    /// session that was never begun must count as closed.
    async fn remember(
        &self,
        session: &Ident,
        chunks: Vec<OriginChunk>,
        bounds: OriginBounds,
    ) -> Result<(), StoreError>;

    /// Says that something entered without being remembered. A closed memory must stay closed.
    async fn close(&self, session: &Ident) -> Result<(), StoreError>;

    /// What was kept after the given place, in order, and how the memory stands. It must refuse a session there is not.
    async fn recall(&self, session: &Ident, after: u64) -> Result<Recalled, StoreError>;
}

/// Whose word a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// What the user typed.
    Operator,
    /// What a trusted source returned.
    Trusted,
    /// What an untrusted source returned.
    Untrusted,
    /// What the agent said itself.
    Agent,
}

impl Origin {
    /// Every origin.
    pub const ALL: [Self; 4] = [Self::Operator, Self::Trusted, Self::Untrusted, Self::Agent];

    /// The name that a store keeps.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Agent => "agent",
        }
    }
}

/// Values that entered together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginChunk {
    /// Whose word they are.
    pub origin: Origin,
    /// Where they came from.
    pub source: Name,
    /// The values, as keyed digests.
    pub digests: Vec<u64>,
}

/// The most digests that are kept of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginBounds {
    /// Of what the operator typed.
    pub operator: usize,
    /// Of everything else.
    pub others: usize,
}

/// What a store remembers of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recalled {
    /// Whether something entered that is not remembered.
    pub closed: bool,
    /// The place of the last chunk there is.
    pub last: u64,
    /// The chunks after the place that was asked for.
    pub chunks: Vec<OriginChunk>,
}

/// How much is kept of a session: the rule of what a memory takes, for every backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginMemory {
    /// Whether something entered that is not remembered.
    pub closed: bool,
    /// How many of the operator's digests are kept.
    pub operator: usize,
    /// How many others are kept.
    pub others: usize,
}

impl OriginMemory {
    /// The memory of a session that was never begun.
    pub const NEVER_BEGUN: Self = Self {
        closed: true,
        operator: 0,
        others: 0,
    };

    /// Whether a chunk is to be kept; it is counted then. One that is not the operator's and does not fit closes the
    /// memory.
    pub fn takes(&mut self, chunk: &OriginChunk, bounds: OriginBounds) -> bool {
        let is_operators = chunk.origin == Origin::Operator;
        let (kept, bound) = if is_operators {
            (&mut self.operator, bounds.operator)
        } else {
            (&mut self.others, bounds.others)
        };
        let grown = kept.saturating_add(chunk.digests.len());
        if !is_operators && (self.closed || grown > bound) {
            self.closed = true;
            return false;
        }
        if grown > bound {
            return false;
        }
        *kept = grown;
        true
    }
}
