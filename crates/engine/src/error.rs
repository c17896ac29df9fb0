//! Why a use case did not go through: one enum for each. None of them holds payload text.

use tidegate_core::{BadPlan, Refusal, Role};
use tidegate_store::{MirrorError, StoreError};

use crate::{Act, Interrupted, RecordError, Unanswered, VeilError};

/// Why a caller cannot have a session.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// No such session, or not one of this caller's: the two look the same from outside.
    #[error("no session with this id is open for this token's principal and agent")]
    NoSession,
    /// The role does not reach this far.
    #[error("the role {role} may not {}", .act.as_str())]
    Forbidden {
        /// The caller's role.
        role: Role,
        /// What was tried.
        act: Act,
    },
    /// The store did not answer.
    #[error(transparent)]
    Store(StoreError),
    /// It could not be recorded, so it was not done.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Nobody says who may use which tool, so nobody may.
    #[error(transparent)]
    Authority(#[from] Unanswered),
    /// It could not be looked into, so it did not pass.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// As many calls of the session wait for a person as may.
    #[error("too many calls of this session wait for a person: let some of them be decided first")]
    GatesFull,
    /// What a stub or handle stands for could not be put in its place.
    #[error(transparent)]
    Unresolved(VeilError),
}

impl From<VeilError> for AccessError {
    fn from(error: VeilError) -> Self {
        match error {
            VeilError::Vault(error) => Self::Record(error.into()),
            VeilError::Interrupted => Self::Record(RecordError::Interrupted),
            gone @ (VeilError::Gone | VeilError::TooLarge) => Self::Unresolved(gone),
        }
    }
}

impl From<StoreError> for AccessError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSession => Self::NoSession,
            other => Self::Store(other),
        }
    }
}

/// Why a session could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenSessionError {
    /// The role may not open sessions.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// A user or agent other than the token's was asked for.
    #[error(
        "{field} differs from the token's; only a connector or an administrator may open a session for another"
    )]
    NotYours {
        /// `user` or `agent`.
        field: &'static str,
    },
    /// The id belongs to someone else's session.
    #[error("this session id is taken; leave it out to be given one")]
    Taken,
    /// There are as many sessions as there may be.
    #[error(
        "there are as many sessions as limits.sessions lets there be ({most}); go on in one that is open, or have it raised"
    )]
    TooMany {
        /// How many that is.
        most: u64,
    },
    /// The user has opened as many sessions in this hour as they may.
    #[error(
        "this user has opened as many sessions in an hour as limits.sessions_per_hour lets them ({per_hour}); go on in one that is open, or try again within the hour"
    )]
    TooFast {
        /// How many that is.
        per_hour: u64,
    },
    /// The system's source of randomness failed.
    #[error("no random session id could be made")]
    NoRandomness,
}

/// Why a plan could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The caller cannot have the session.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// It is not a plan.
    #[error(transparent)]
    Plan(#[from] BadPlan),
}

/// Why content was not let in.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The caller cannot have the session.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// Nobody knows the tool that it is said to come from.
    #[error("{}", .0.reason())]
    UnknownTool(Box<Refusal>),
    /// The mirror could not be written, so nothing is released.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
}

impl From<Interrupted> for DeliverError {
    fn from(error: Interrupted) -> Self {
        Self::Access(error.into())
    }
}

impl From<VeilError> for DeliverError {
    fn from(error: VeilError) -> Self {
        Self::Access(error.into())
    }
}

impl From<RecordError> for DeliverError {
    fn from(error: RecordError) -> Self {
        Self::Access(error.into())
    }
}

impl From<StoreError> for DeliverError {
    fn from(error: StoreError) -> Self {
        Self::Access(error.into())
    }
}

impl From<StoreError> for ResetError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Overtaken => Self::Overtaken,
            other => Self::Access(other.into()),
        }
    }
}

/// Why a session was not reset.
#[derive(Debug, thiserror::Error)]
pub enum ResetError {
    /// The caller cannot have the session.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The label rose above the one that was decided about.
    #[error("the label has risen since this was decided: look at the session again; its label stands")]
    Overtaken,
    /// A reset needs a reason, of at most 2,000 bytes.
    #[error("a reset needs a reason of 1 to 2000 bytes")]
    Reason,
    /// The mirror could not be written.
    #[error(transparent)]
    Mirror(#[from] MirrorError),
}
