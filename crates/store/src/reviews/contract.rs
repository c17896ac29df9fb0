//! The contract every backend of class reviews keeps.

use async_trait::async_trait;
use tidegate_core::{Ident, Name};

use super::{ClassReview, ReviewCause, SettleError, Settlement};
use crate::StoreError;

/// Which class reviews to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reviewed {
    /// Those that nobody settled, longest open first.
    Open,
    /// Those that somebody did, newest first.
    Settled,
    /// All, newest first.
    All,
}

/// A page of class reviews to read.
#[derive(Clone, Copy, Debug)]
pub struct ReviewQuery {
    /// Which by state.
    pub listed: Reviewed,
    /// Only what comes after the review in this place.
    pub after: Option<i64>,
    /// At most so many.
    pub limit: usize,
}

/// What came of opening a review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenedReview {
    /// It is open now.
    New(ClassReview),
    /// One of the same source and cause was open, and has been counted once more.
    Counted(ClassReview),
}

/// Why a review was not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenReviewError {
    /// As many of this cause are open as may be.
    #[error("as many class reviews of this cause are open as may be")]
    TooMany,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Class reviews that outlive a process.
///
/// Each change must be durable before its future resolves, and in force for every later call, in this process and in every
/// other on the same state. Each is one atomic step: when two race, one comes after the other.
#[async_trait]
pub trait ReviewStore: Send + Sync {
    /// Keeps a new review, and gives it its place. When one of the same source and cause is open it must count that one instead,
    /// and it must refuse one more than `most` of a cause that are open.
    async fn open_review(&self, review: ClassReview, most: usize) -> Result<OpenedReview, OpenReviewError>;

    /// The review that was opened last for that source and cause, open or settled.
    async fn latest_review(
        &self,
        source: &Name,
        cause: ReviewCause,
    ) -> Result<Option<ClassReview>, StoreError>;

    /// How many of a cause are open.
    async fn open_reviews(&self, cause: ReviewCause) -> Result<usize, StoreError>;

    /// The review of that id.
    async fn review(&self, id: &Ident) -> Result<Option<ClassReview>, StoreError>;

    /// Takes a person's verdict, as [`ClassReview::settle`] has it. Of those that race, one must be taken.
    async fn settle_review(&self, id: &Ident, settlement: Settlement) -> Result<ClassReview, SettleError>;

    /// A page of reviews. It must find them without looking at the others.
    async fn reviews(&self, query: &ReviewQuery) -> Result<Vec<ClassReview>, StoreError>;
}
