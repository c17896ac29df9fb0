//! Class reviews: beside the gates, in the same database and under the same fence.

mod query;

use async_trait::async_trait;
use tidegate_core::{Ident, Moment, Name};
use tidegate_store::{
    Assignment, ClassReview, OpenReviewError, OpenedReview, ReviewCause, ReviewQuery, ReviewStore, Reviewed,
    SettleError, Settlement, StoreError,
};
use tokio_postgres::Row;

pub(crate) use query::ReviewStatement;

use crate::annex::{class_of, column, verdict};
use crate::failure::damaged;
use crate::lanes::Values;
use crate::rows::{PostgresRows, parts};

/// The most reviews that one question gives.
const MOST_LISTED: usize = 1_000;

#[async_trait]
impl ReviewStore for PostgresRows {
    async fn open_review(&self, review: ClassReview, most: usize) -> Result<OpenedReview, OpenReviewError> {
        let claim = self.claim();
        let (ledger, fence) = parts(claim.as_ref());
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let values: Values<'_> = &[
            &ledger,
            &fence,
            &most,
            &review.id.as_str(),
            &review.source.as_str(),
            &review.cause.as_str(),
            &review.assigned.map(|assigned| assigned.class.as_str()),
            &review.assigned.map(|assigned| assigned.ceiling.as_str()),
            &review.opened_at.0,
        ];
        let rows = self.ask_reviews(ReviewStatement::Open, values).await?;
        let opened = match verdict(&rows)? {
            "new" => OpenedReview::New,
            "counted" => OpenedReview::Counted,
            "too many" => return Err(OpenReviewError::TooMany),
            _ => return Err(damaged().into()),
        };
        let id = Ident::parse(column(rows.first().ok_or_else(damaged)?, 1)?).map_err(|_| damaged())?;
        Ok(opened(self.review(&id).await?.ok_or_else(damaged)?))
    }

    async fn latest_review(
        &self,
        source: &Name,
        cause: ReviewCause,
    ) -> Result<Option<ClassReview>, StoreError> {
        let values: Values<'_> = &[&source.as_str(), &cause.as_str()];
        Ok(self.read_reviews(ReviewStatement::Latest, values).await?.pop())
    }

    async fn open_reviews(&self, cause: ReviewCause) -> Result<usize, StoreError> {
        let rows = self
            .ask_reviews(ReviewStatement::CountOpen, &[&cause.as_str()])
            .await?;
        let count: i64 = column(rows.first().ok_or_else(damaged)?, 0)?;
        usize::try_from(count).map_err(|_| damaged())
    }

    async fn review(&self, id: &Ident) -> Result<Option<ClassReview>, StoreError> {
        let found = self.read_reviews(ReviewStatement::Find, &[&id.as_str()]).await?;
        Ok(found.into_iter().next())
    }

    async fn settle_review(&self, id: &Ident, settlement: Settlement) -> Result<ClassReview, SettleError> {
        let claim = self.claim();
        let (ledger, fence) = parts(claim.as_ref());
        let values: Values<'_> = &[
            &ledger,
            &fence,
            &id.as_str(),
            &settlement.by.as_str(),
            &settlement.role.as_str(),
            &settlement.verdict.as_str(),
            &settlement.reason,
            &settlement.at.0,
        ];
        let rows = self.ask_reviews(ReviewStatement::Settle, values).await?;
        match verdict(&rows)? {
            "done" => Ok(self.review(id).await?.ok_or_else(damaged)?),
            "settled" => Err(SettleError::Settled),
            "no review" => Err(SettleError::NoReview),
            _ => Err(damaged().into()),
        }
    }

    async fn reviews(&self, query: &ReviewQuery) -> Result<Vec<ClassReview>, StoreError> {
        let first = match query.listed {
            Reviewed::Open => i64::MIN,
            Reviewed::Settled | Reviewed::All => i64::MAX,
        };
        let after = query.after.unwrap_or(first);
        let limit = i64::try_from(query.limit.min(MOST_LISTED)).unwrap_or(0);
        self.read_reviews(ReviewStatement::listing(query.listed), &[&after, &limit])
            .await
    }
}

impl PostgresRows {
    async fn read_reviews(
        &self,
        statement: ReviewStatement,
        values: Values<'_>,
    ) -> Result<Vec<ClassReview>, StoreError> {
        let rows = self.ask_reviews(statement, values).await?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &Row) -> Result<ClassReview, StoreError> {
    let ident = |place| Ident::parse(column(row, place)?).map_err(|_| damaged());
    let at = |place| column(row, place).map(Moment);
    let class = |place| column::<Option<&str>>(row, place)?.map(class_of).transpose();
    let seen: i64 = column(row, 7)?;
    let settled_at: Option<i64> = column(row, 12)?;
    let settled = match settled_at {
        None => None,
        Some(at) => Some(Settlement {
            by: ident(8)?,
            role: column::<&str>(row, 9)?.parse().map_err(|_| damaged())?,
            verdict: column::<&str>(row, 10)?.parse().map_err(|_| damaged())?,
            reason: column(row, 11)?,
            at: Moment(at),
        }),
    };
    Ok(ClassReview {
        id: ident(0)?,
        source: Name::parse(column(row, 1)?).map_err(|_| damaged())?,
        cause: column::<&str>(row, 2)?.parse().map_err(|_| damaged())?,
        assigned: class(3)?
            .zip(class(4)?)
            .map(|(class, ceiling)| Assignment { class, ceiling }),
        opened_at: at(5)?,
        seen_at: at(6)?,
        seen: u32::try_from(seen).map_err(|_| damaged())?,
        settled,
        place: column(row, 13)?,
    })
}
