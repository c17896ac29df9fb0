//! Why something with a class review did not go through. None of it holds payload text.

use tidegate_store::{SettleError, StoreError};

use crate::{AccessError, Interrupted, RecordError};

/// Why a class review could not be opened, seen or settled.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// The state is kept where there are no class reviews.
    #[error(
        "there are no class reviews here: the state is kept on a server without them; keep it in the data directory or in \
         PostgreSQL"
    )]
    Off,
    /// No such review.
    #[error("there is no class review with this id")]
    NoReview,
    /// Somebody settled it before.
    #[error("this class review is settled already; nothing was changed")]
    Settled,
    /// The reason is missing or too long.
    #[error("a reason of 1 to 500 characters is needed")]
    Reason,
    /// As many of this cause are open as may be.
    #[error("as many class reviews of this cause are open as may be: settle some")]
    Full,
    /// The caller may not, or it cannot be kept or recorded.
    #[error(transparent)]
    Access(#[from] AccessError),
}

impl From<SettleError> for ReviewError {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::NoReview => Self::NoReview,
            SettleError::Settled => Self::Settled,
            SettleError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for ReviewError {
    fn from(error: StoreError) -> Self {
        Self::Access(error.into())
    }
}

impl From<RecordError> for ReviewError {
    fn from(error: RecordError) -> Self {
        Self::Access(error.into())
    }
}

impl From<Interrupted> for ReviewError {
    fn from(error: Interrupted) -> Self {
        Self::Access(error.into())
    }
}
