//! Class reviews on a server that keeps them.

use async_trait::async_trait;
use tidegate_core::{Ident, Name};

use super::{Rows, Shared};
use crate::{
    ClassReview, OpenReviewError, OpenedReview, ReviewCause, ReviewQuery, ReviewStore, SettleError,
    Settlement, StoreError,
};

#[async_trait]
impl<R: Rows + ReviewStore> ReviewStore for Shared<R> {
    async fn open_review(&self, review: ClassReview, most: usize) -> Result<OpenedReview, OpenReviewError> {
        self.rows.open_review(review, most).await
    }

    async fn latest_review(
        &self,
        source: &Name,
        cause: ReviewCause,
    ) -> Result<Option<ClassReview>, StoreError> {
        self.rows.latest_review(source, cause).await
    }

    async fn open_reviews(&self, cause: ReviewCause) -> Result<usize, StoreError> {
        self.rows.open_reviews(cause).await
    }

    async fn review(&self, id: &Ident) -> Result<Option<ClassReview>, StoreError> {
        self.rows.review(id).await
    }

    async fn settle_review(&self, id: &Ident, settlement: Settlement) -> Result<ClassReview, SettleError> {
        self.rows.settle_review(id, settlement).await
    }

    async fn reviews(&self, query: &ReviewQuery) -> Result<Vec<ClassReview>, StoreError> {
        self.rows.reviews(query).await
    }
}
