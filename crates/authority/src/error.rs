//! Why the server gave no answer that can be used. None of it repeats what was asked or answered.

use tidegate_engine::Unanswered;

use crate::BadId;

/// Why a call to the server failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No connection, or it broke.
    #[error("OpenFGA cannot be reached")]
    Unreachable,
    /// The time was up.
    #[error("OpenFGA did not answer in time")]
    TimedOut,
    /// The server does not accept the gateway's credentials.
    #[error("OpenFGA refused the gateway's credentials")]
    Unauthorized,
    /// The server said that it failed, or that it cannot make sense of the question.
    #[error("OpenFGA answered with the error status {0}")]
    Status(u16),
    /// The server could not work out the answer to one of several questions.
    #[error("OpenFGA could not work out an answer")]
    CheckFailed,
    /// The answer is not what the API promises.
    #[error("OpenFGA's answer cannot be read")]
    Unreadable,
    /// There is no access token.
    #[error("no access token could be had for OpenFGA")]
    NoToken,
    /// No store of that name or id.
    #[error("OpenFGA has no such store")]
    NoStore,
    /// Two stores of that name.
    #[error("OpenFGA has several stores of that name: configure the store's id")]
    AmbiguousStore,
    /// The store has no model, or not the one that is configured.
    #[error("OpenFGA's store does not have the authorization model")]
    NoModel,
    /// The model does not say who may use a tool.
    #[error("OpenFGA's model lacks can_use, is_external or is_internal_source for tools")]
    UnfitModel,
    /// A listing may have been cut short.
    #[error("OpenFGA lists as many tagged tools as it gives at once, so there may be more")]
    TooMany,
    /// A name does not fit the server's bounds.
    #[error("the names of this user, agent or session are too long for OpenFGA")]
    NameTooLong,
}

impl CallError {
    /// The same in fixed words, for a denial.
    const fn why(self) -> &'static str {
        match self {
            Self::Unreachable => "OpenFGA cannot be reached",
            Self::TimedOut => "OpenFGA did not answer in time",
            Self::Unauthorized => "OpenFGA refused the gateway's credentials",
            Self::Status(_) => "OpenFGA answered with an error",
            Self::CheckFailed => "OpenFGA could not work out an answer",
            Self::Unreadable => "OpenFGA's answer cannot be read",
            Self::NoToken => "no access token could be had for OpenFGA",
            Self::NoStore => "OpenFGA does not have the configured store",
            Self::AmbiguousStore => "OpenFGA has several stores of the configured name",
            Self::NoModel => "OpenFGA's store does not have the authorization model",
            Self::UnfitModel => "OpenFGA's model does not say who may use tools",
            Self::TooMany => "OpenFGA lists more tagged tools than it gives at once",
            Self::NameTooLong => "the names of this user, agent or session are too long for OpenFGA",
        }
    }
}

impl From<BadId> for CallError {
    fn from(_: BadId) -> Self {
        Self::NameTooLong
    }
}

impl From<CallError> for Unanswered {
    fn from(error: CallError) -> Self {
        Self { why: error.why() }
    }
}
