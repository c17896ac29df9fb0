//! Class reviews in the embedded backend. Read from the file each time: they are rare beside decisions.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row, params};
use tidegate_core::{Ident, Moment, Name};

use super::failure::failed;
use super::rows::{class_name, optional, text};
use super::{Batch, SqliteStore};
use crate::{
    Assignment, ClassReview, OpenReviewError, OpenedReview, ReviewCause, ReviewQuery, ReviewStore, Reviewed,
    SettleError, Settlement, StoreError,
};

/// The most reviews that one question gives.
const MOST_LISTED: usize = 1_000;

const REVIEW: &str = "SELECT id, source, cause, class, ceiling, opened_at, seen_at, seen, settled_by, settled_role, \
    verdict, reason, settled_at, place FROM class_review";

#[async_trait]
impl ReviewStore for SqliteStore {
    async fn open_review(&self, review: ClassReview, most: usize) -> Result<OpenedReview, OpenReviewError> {
        let open = move |batch: &Batch<'_>| {
            let counted = count(batch.conn, &review)?;
            if counted.is_none() && open_of(batch.conn, review.cause)? >= most {
                return Err(OpenReviewError::TooMany);
            }
            let opened = match counted {
                Some(known) => OpenedReview::Counted(known),
                None => OpenedReview::New(insert(batch.conn, review)?),
            };
            batch.wrote_beside();
            Ok(opened)
        };
        self.writer.run(open).await
    }

    async fn latest_review(
        &self,
        source: &Name,
        cause: ReviewCause,
    ) -> Result<Option<ClassReview>, StoreError> {
        let last = "WHERE source = ?1 AND cause = ?2 ORDER BY place DESC LIMIT 1";
        self.readers
            .snapshot(|conn| one(conn, last, params![source.as_str(), cause.as_str()]))
    }

    async fn open_reviews(&self, cause: ReviewCause) -> Result<usize, StoreError> {
        self.readers.snapshot(|conn| open_of(conn, cause))
    }

    async fn review(&self, id: &Ident) -> Result<Option<ClassReview>, StoreError> {
        self.readers.snapshot(|conn| find(conn, id))
    }

    async fn settle_review(&self, id: &Ident, settlement: Settlement) -> Result<ClassReview, SettleError> {
        let id = id.clone();
        let settle = move |batch: &Batch<'_>| {
            let mut review = find(batch.conn, &id)?.ok_or(SettleError::NoReview)?;
            review.settle(settlement.clone())?;
            put_settlement(batch.conn, &review, &settlement)?;
            batch.wrote_beside();
            Ok(review)
        };
        self.writer.run(settle).await
    }

    async fn reviews(&self, query: &ReviewQuery) -> Result<Vec<ClassReview>, StoreError> {
        let (rest, after) = listing(query);
        let limit = i64::try_from(query.limit.min(MOST_LISTED)).unwrap_or(0);
        self.readers
            .snapshot(|conn| many(conn, rest, params![after, limit]))
    }
}

/// What a page is read by, and where it begins. The conditions are spelled as the indexes spell theirs.
fn listing(query: &ReviewQuery) -> (&'static str, i64) {
    let (rest, first) = match query.listed {
        Reviewed::Open => (
            "INDEXED BY class_review_open WHERE settled_at IS NULL AND place > ?1 ORDER BY place LIMIT ?2",
            i64::MIN,
        ),
        Reviewed::Settled => (
            "INDEXED BY class_review_settled WHERE settled_at IS NOT NULL AND place < ?1 ORDER BY place DESC LIMIT ?2",
            i64::MAX,
        ),
        Reviewed::All => ("WHERE place < ?1 ORDER BY place DESC LIMIT ?2", i64::MAX),
    };
    (rest, query.after.unwrap_or(first))
}

fn find(conn: &Connection, id: &Ident) -> Result<Option<ClassReview>, StoreError> {
    one(conn, "WHERE id = ?1", params![id.as_str()])
}

fn one(
    conn: &Connection,
    rest: &str,
    bound: impl rusqlite::Params,
) -> Result<Option<ClassReview>, StoreError> {
    let mut statement = conn.prepare_cached(&format!("{REVIEW} {rest}")).map_err(failed)?;
    let row = statement
        .query_row(bound, |row| Ok(read(row)))
        .optional()
        .map_err(failed)?;
    row.transpose()
}

fn many(conn: &Connection, rest: &str, bound: impl rusqlite::Params) -> Result<Vec<ClassReview>, StoreError> {
    let mut statement = conn.prepare_cached(&format!("{REVIEW} {rest}")).map_err(failed)?;
    let mut rows = statement.query(bound).map_err(failed)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn open_of(conn: &Connection, cause: ReviewCause) -> Result<usize, StoreError> {
    let sql = "SELECT count(*) FROM class_review WHERE cause = ?1 AND settled_at IS NULL";
    let count: i64 = conn
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row([cause.as_str()], |row| row.get(0)))
        .map_err(failed)?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Counts the open review of the same source and cause once more, if there is one.
fn count(conn: &Connection, review: &ClassReview) -> Result<Option<ClassReview>, StoreError> {
    let sql = "UPDATE class_review SET seen = min(seen + 1, 4294967295), seen_at = max(seen_at, ?3) \
               WHERE cause = ?1 AND source = ?2 AND settled_at IS NULL RETURNING id";
    let counted = conn.prepare_cached(sql).and_then(|mut statement| {
        let bound = params![review.cause.as_str(), review.source.as_str(), review.seen_at.0];
        statement
            .query_row(bound, |row| row.get::<_, String>(0))
            .optional()
    });
    match counted.map_err(failed)? {
        None => Ok(None),
        Some(id) => one(conn, "WHERE id = ?1", params![id]),
    }
}

fn insert(conn: &Connection, mut review: ClassReview) -> Result<ClassReview, StoreError> {
    let sql = "INSERT INTO class_review (id, source, cause, class, ceiling, opened_at, seen_at, seen) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING place";
    let placed = conn.prepare_cached(sql).and_then(|mut statement| {
        let bound = params![
            review.id.as_str(),
            review.source.as_str(),
            review.cause.as_str(),
            review.assigned.map(|assigned| assigned.class.as_str()),
            review.assigned.map(|assigned| assigned.ceiling.as_str()),
            review.opened_at.0,
            review.seen_at.0,
            review.seen,
        ];
        statement.query_row(bound, |row| row.get(0))
    });
    review.place = placed.map_err(failed)?;
    Ok(review)
}

fn put_settlement(conn: &Connection, review: &ClassReview, settled: &Settlement) -> Result<(), StoreError> {
    let sql = "UPDATE class_review SET settled_by = ?2, settled_role = ?3, verdict = ?4, reason = ?5, settled_at = ?6 \
               WHERE place = ?1";
    let written = conn.prepare_cached(sql).and_then(|mut statement| {
        statement.execute(params![
            review.place,
            settled.by.as_str(),
            settled.role.as_str(),
            settled.verdict.as_str(),
            settled.reason,
            settled.at.0,
        ])
    });
    written.map_err(failed)?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<ClassReview, StoreError> {
    let at = |column| row.get(column).map(Moment).map_err(failed);
    let class = optional(row, 3, class_name)?;
    let ceiling = optional(row, 4, class_name)?;
    let settled_at: Option<i64> = row.get(12).map_err(failed)?;
    let settled = match settled_at {
        None => None,
        Some(at) => Some(Settlement {
            by: text(row, 8, |text| Ident::parse(text).ok())?,
            role: text(row, 9, |text| text.parse().ok())?,
            verdict: text(row, 10, |text| text.parse().ok())?,
            reason: row.get(11).map_err(failed)?,
            at: Moment(at),
        }),
    };
    Ok(ClassReview {
        id: text(row, 0, |text| Ident::parse(text).ok())?,
        source: text(row, 1, |text| Name::parse(text).ok())?,
        cause: text(row, 2, |text| text.parse().ok())?,
        assigned: class
            .zip(ceiling)
            .map(|(class, ceiling)| Assignment { class, ceiling }),
        opened_at: at(5)?,
        seen_at: at(6)?,
        seen: row.get(7).map_err(failed)?,
        settled,
        place: row.get(13).map_err(failed)?,
    })
}
