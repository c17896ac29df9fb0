//! Why a call gave nothing: in words that an agent can act on, and that hold nothing of the data.
//!
//! That a call failed can say something of the data all the same: whoever chooses a query chooses which values make it fail.

use tidegate_core::{Class, Name};

/// Why a call gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The arguments are not what the tool takes.
    #[error("{0}")]
    Arguments(String),
    /// It is not allowed.
    #[error("refused: {0}")]
    Refused(String),
    /// There is no such thing.
    #[error("{0}")]
    Missing(String),
    /// The source said no, for a reason that lies in the call.
    #[error("{0}")]
    Rejected(String),
    /// The source cannot be reached, or failed.
    #[error("{0}")]
    Unavailable(String),
    /// The source looked at its data and did not get to the end. Why is not said, since it may lie in the data; that it
    /// is so counts as what was looked at.
    #[error(
        "the source began and did not finish: a value has the wrong form or is out of range, or it took longer than a \
         call may take"
    )]
    Unfinished(Touched),
    /// It took longer than a call may take.
    #[error("the call took longer than {0} ms and was stopped")]
    TimedOut(u128),
}

/// What a call looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// What it says of that to have failed.
    pub class: Class,
    /// The dataset.
    pub dataset: Name,
}

impl Failure {
    /// What it is called on every wire.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::Arguments(_) => "bad-arguments",
            Self::Refused(_) => "connector-refused",
            Self::Missing(_) => "not-found",
            Self::Rejected(_) => "source-rejected",
            Self::Unavailable(_) => "source-unavailable",
            Self::Unfinished(_) => "source-unfinished",
            Self::TimedOut(_) => "timed-out",
        }
    }

    /// What to do instead.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Arguments(_) => "look at the tool's input schema and call it again",
            Self::Refused(_) => "ask for data in another way; this connector only reads, within its limits",
            Self::Missing(_) => "look at what the source lists and call it again",
            Self::Rejected(_) => "change the call as the reason says",
            Self::Unavailable(_) => "try again later; if it stays so, ask whoever runs the gateway",
            Self::Unfinished(_) => {
                "check casts and divisions, and ask for less: fewer rows, a narrower filter"
            }
            Self::TimedOut(_) => "ask for less: fewer rows, a narrower filter, a smaller range",
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::TimedOut(_))
    }
}
