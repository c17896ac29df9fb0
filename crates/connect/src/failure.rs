//! Why a call gave nothing: in words that an agent can act on, and that hold nothing of the data.

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
    /// It took longer than a call may take.
    #[error("the call took longer than {0} ms and was stopped")]
    TimedOut(u128),
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
            Self::TimedOut(_) => "ask for less: fewer rows, a narrower filter, a smaller range",
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn retryable(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::TimedOut(_))
    }
}
