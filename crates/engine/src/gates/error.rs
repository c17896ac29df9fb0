//! Why something with a gate did not go through. None of it holds payload text.

use tidegate_core::{Class, Role};
use tidegate_store::{AnswerError, GateKind, GateState, MirrorError, StoreError};

use crate::{AccessError, Interrupted, RecordError};

/// Why a gate could not be seen, asked for or decided.
#[derive(Debug, thiserror::Error)]
pub enum GateError {
    /// The state is kept where there are no gates.
    #[error(
        "there are no gates here: the state is kept on a server without them, so what is held stays denied; keep it in the \
         data directory or in PostgreSQL"
    )]
    Off,
    /// No such gate, or none that this caller may see.
    #[error("there is no gate with this id for this token")]
    NoGate,
    /// The caller may not.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The role may not give this answer.
    #[error("the role {role} may not approve a gate of the kind {kind}; {} may", .may)]
    NotThisKind {
        /// The caller's role.
        role: Role,
        /// The gate's kind.
        kind: GateKind,
        /// Who may.
        may: &'static str,
    },
    /// It is the caller's own.
    #[error("nobody approves their own: another person must decide about this")]
    Own,
    /// It was decided, or ran out of time.
    #[error("this gate is {0} already; nothing was changed")]
    Closed(GateState),
    /// The same person approved before.
    #[error("you have approved this already; it needs one more person")]
    Twice,
    /// The reason is missing or too long.
    #[error("a reason of 1 to 500 characters is needed")]
    Reason,
    /// There is nothing to ask.
    #[error("the session is {0}, so there is nothing to ask")]
    NothingToAsk(&'static str),
    /// Something came over the session since the question was put.
    #[error("{0}")]
    Overtaken(&'static str),
    /// What would be shown is not there any more.
    #[error("what this gate is about is not kept any more, or lies with another gateway")]
    Gone,
    /// What would be shown is above what the role may see.
    #[error("what this gate is about is {0}, and nobody is shown that raw")]
    AboveEveryone(Class),
    /// The mirror could not be written.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
}

impl From<AnswerError> for GateError {
    fn from(error: AnswerError) -> Self {
        match error {
            AnswerError::NoGate => Self::NoGate,
            AnswerError::Closed(state) => Self::Closed(state),
            AnswerError::Twice => Self::Twice,
            AnswerError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for GateError {
    fn from(error: StoreError) -> Self {
        Self::Access(error.into())
    }
}

impl From<RecordError> for GateError {
    fn from(error: RecordError) -> Self {
        Self::Access(error.into())
    }
}

impl From<Interrupted> for GateError {
    fn from(error: Interrupted) -> Self {
        Self::Access(error.into())
    }
}
