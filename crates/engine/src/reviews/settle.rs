//! Seeing reviews, and a person's verdict.

use tidegate_core::{ControlList, Ident};
use tidegate_ledger::Reason;
use tidegate_ledger::event::ClassReviewSettled;
use tidegate_store::{Assignment, ClassReview, ReviewQuery, ReviewVerdict, Reviewed, Settlement};

use super::{ReviewError, Reviews, assigned};
use crate::Engine;
use crate::access::{Act, Caller};
use crate::engine::now;
use crate::provenance::{spelled, word};

/// The most reviews on one page.
const MOST_ON_PAGE: usize = 200;

/// A review, and what its source is assigned now.
#[derive(Clone, Debug)]
pub struct ReviewView {
    /// The review.
    pub review: ClassReview,
    /// What the source is assigned at this gateway now; nothing when it has no such source.
    pub now: Option<Assignment>,
    /// Whether the operator's file says so; otherwise it is the strict end of everything.
    pub is_declared: bool,
}

/// Some reviews, and where to go on.
#[derive(Clone, Debug)]
pub struct ReviewPage {
    /// The reviews.
    pub reviews: Vec<ReviewView>,
    /// Where the next page begins, when there is one.
    pub next: Option<i64>,
}

impl Engine {
    /// A page of class reviews, for those who may see what waits for a person; at most two hundred.
    ///
    /// # Errors
    /// When the caller may not, or they cannot be read.
    pub async fn class_reviews(
        &self,
        caller: &Caller,
        listed: Reviewed,
        after: Option<i64>,
        limit: usize,
    ) -> Result<ReviewPage, ReviewError> {
        self.admit_person(caller, Act::Review).await?;
        let limit = limit.clamp(1, MOST_ON_PAGE);
        let query = ReviewQuery {
            listed,
            after,
            // One more, to know whether there is a next page.
            limit: limit + 1,
        };
        let mut found = self.reviews_or_off()?.store.reviews(&query).await?;
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().map(|review| review.place).filter(|_| more);
        let (control, _) = self.control_in_force().await?;
        let view = |review| self.review_view(&control, review);
        Ok(ReviewPage {
            reviews: found.into_iter().map(view).collect(),
            next,
        })
    }

    /// Takes a person's verdict on a source's class. It changes no class: the list is the operator's file, and `changed` says that
    /// they changed it.
    ///
    /// # Errors
    /// When the role may not, the reason is missing, or there is no such review that is open.
    pub async fn settle_review(
        &self,
        caller: &Caller,
        id: &Ident,
        verdict: ReviewVerdict,
        reason: &str,
    ) -> Result<ReviewView, ReviewError> {
        self.admit_person(caller, Act::Settle).await?;
        let reason = self.plain_reason(reason)?.ok_or(ReviewError::Reason)?;
        let reviews = self.reviews_or_off()?;
        let desk = reviews.desk.lock().await;
        let review = reviews.store.review(id).await?.ok_or(ReviewError::NoReview)?;
        let settlement = Settlement {
            by: caller.principal.clone(),
            role: caller.role,
            verdict,
            reason,
            at: now(),
        };
        review.clone().settle(settlement.clone())?;
        let settled = ClassReviewSettled {
            review_id: id.into(),
            source: spelled(&review.source),
            verdict: word(verdict.as_str()),
            by: (&caller.principal).into(),
            role: caller.role,
            reason: Reason::new(&settlement.reason),
        };
        // INVARIANT (durable before visible): the verdict is on the record before anyone sees it.
        self.provenance
            .note_gateway(settled.into(), settlement.at)
            .await?;
        let review = reviews.store.settle_review(id, settlement).await?;
        drop(desk);
        let (control, _) = self.control_in_force().await?;
        Ok(self.review_view(&control, review))
    }

    fn reviews_or_off(&self) -> Result<&Reviews, ReviewError> {
        self.reviews.as_ref().ok_or(ReviewError::Off)
    }

    fn review_view(&self, control: &ControlList, review: ClassReview) -> ReviewView {
        ReviewView {
            now: assigned(control, &review.source),
            is_declared: assigned(&self.policy.control, &review.source).is_some(),
            review,
        }
    }
}
