//! Why a model has no opinion.

/// Why there is no opinion. None of these says anything about the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClassifyError {
    /// The text is longer than the settings allow.
    #[error("the text is longer than the classifier takes")]
    TextTooLong,
    /// No connection, or it broke.
    #[error("the classifier cannot be reached")]
    Unreachable,
    /// Too many texts wait for it.
    #[error("too many texts wait for the classifier")]
    Busy,
    /// The time was up.
    #[error("the classifier did not answer in time")]
    TimedOut,
    /// Another status than success.
    #[error("the classifier answered with status {0}")]
    Status(u16),
    /// The answer is longer than the settings allow.
    #[error("the classifier's answer is too long")]
    AnswerTooLong,
    /// The answer is not what the interface promises.
    #[error("the classifier's answer cannot be read")]
    Unreadable,
}

impl ClassifyError {
    /// A word for it, for counters.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::TextTooLong => "text-too-long",
            Self::Unreachable => "unreachable",
            Self::Busy => "busy",
            Self::TimedOut => "timed-out",
            Self::Status(_) => "status",
            Self::AnswerTooLong => "answer-too-long",
            Self::Unreadable => "unreadable",
        }
    }
}
