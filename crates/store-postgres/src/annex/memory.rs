//! Pages and kinship as rows.

use async_trait::async_trait;
use tidegate_core::{Ident, Moment, Name};
use tidegate_store::{Kin, KinError, MemoryStore, Page, Shelf, StoreError, TurnError};
use tokio_postgres::Row;

use super::{AnnexQuery, class_of, column, verdict};
use crate::failure::damaged;
use crate::query::Query;
use crate::rows::{PostgresRows, parts};

/// The longest line of ancestors that is followed.
const MOST_ANCESTORS: i32 = 64;

#[async_trait]
impl MemoryStore for PostgresRows {
    async fn page(&self, shelf: &Shelf) -> Result<Option<Page>, StoreError> {
        let (kind, user, owner) = place_of(shelf);
        let rows = self
            .ask(Query::Annex(AnnexQuery::Page), &[&kind, &user, &owner])
            .await?;
        rows.first().map(read_page).transpose()
    }

    async fn turn_page(&self, shelf: &Shelf, before: Option<&str>, page: Page) -> Result<(), TurnError> {
        let claim = self.claim();
        let (ledger, fence) = parts(claim.as_ref());
        let (kind, user, owner) = place_of(shelf);
        let class = page.class.as_str();
        let rows = self
            .change_rows(
                Query::Annex(AnnexQuery::TurnPage),
                &[
                    &ledger,
                    &fence,
                    &kind,
                    &user,
                    &owner,
                    &before,
                    &page.pointer,
                    &class,
                    &page.at.0,
                ],
            )
            .await?;
        match verdict(&rows)? {
            "done" => Ok(()),
            "moved" => Err(TurnError::Moved),
            "closed" => Err(TurnError::Closed),
            _ => Err(damaged().into()),
        }
    }

    async fn clear_shelf(&self, shelf: &Shelf) -> Result<Option<Page>, StoreError> {
        let (kind, user, owner) = place_of(shelf);
        let rows = self
            .change_rows(Query::Annex(AnnexQuery::ClearShelf), &[&kind, &user, &owner])
            .await?;
        rows.first().map(read_page).transpose()
    }

    async fn left_behind(&self, halted_by: &Name, limit: usize) -> Result<Vec<Ident>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values: &[&(dyn tokio_postgres::types::ToSql + Sync)] = &[&halted_by.as_str(), &limit];
        let rows = self.ask(Query::Annex(AnnexQuery::LeftBehind), values).await?;
        rows.iter().map(|row| ident(row, 0)).collect()
    }

    async fn adopt(&self, kin: Kin, most: usize) -> Result<(), KinError> {
        let claim = self.claim();
        let (ledger, fence) = parts(claim.as_ref());
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self
            .change_rows(
                Query::Annex(AnnexQuery::Adopt),
                &[
                    &ledger,
                    &fence,
                    &kin.child.as_str(),
                    &kin.parent.as_str(),
                    &kin.answer,
                    &i64::from(kin.answer_bits),
                    &kin.at.0,
                    &most,
                    &MOST_ANCESTORS,
                ],
            )
            .await?;
        match verdict(&rows)? {
            "done" => Ok(()),
            "not free" => Err(KinError::NotFree),
            "too many" => Err(KinError::TooMany),
            _ => Err(damaged().into()),
        }
    }

    async fn kin(&self, child: &Ident) -> Result<Option<Kin>, StoreError> {
        let rows = self
            .ask(Query::Annex(AnnexQuery::Kin), &[&child.as_str()])
            .await?;
        rows.first().map(read_kin).transpose()
    }

    async fn children(&self, parent: &Ident) -> Result<Vec<Ident>, StoreError> {
        let rows = self
            .ask(Query::Annex(AnnexQuery::Children), &[&parent.as_str()])
            .await?;
        rows.iter().map(|row| ident(row, 0)).collect()
    }

    async fn take_answer(&self, child: &Ident, bits: u32, most: u32) -> Result<u32, KinError> {
        let claim = self.claim();
        let (ledger, fence) = parts(claim.as_ref());
        let (bits, most) = (i64::from(bits), i64::from(most));
        let rows = self
            .change_rows(
                Query::Annex(AnnexQuery::TakeAnswer),
                &[&ledger, &fence, &child.as_str(), &bits, &most],
            )
            .await?;
        match verdict(&rows)? {
            "done" => {
                let taken: i64 = column(rows.first().ok_or_else(damaged)?, 1)?;
                Ok(u32::try_from(taken).unwrap_or(u32::MAX))
            }
            "no child" => Err(KinError::NoChild),
            "answered" => Err(KinError::Answered),
            "bits spent" => Err(KinError::BitsSpent),
            _ => Err(damaged().into()),
        }
    }
}

/// The three columns that name a shelf.
fn place_of(shelf: &Shelf) -> (&'static str, &str, &str) {
    match shelf {
        Shelf::Run(session) => ("run", "", session.as_str()),
        Shelf::Agent { user, agent } => ("agent", user.as_str(), agent.as_str()),
    }
}

fn read_page(row: &Row) -> Result<Page, StoreError> {
    Ok(Page {
        pointer: column(row, 0)?,
        class: class_of(column(row, 1)?)?,
        at: Moment(column(row, 2)?),
    })
}

fn read_kin(row: &Row) -> Result<Kin, StoreError> {
    let bits: i64 = column(row, 3)?;
    Ok(Kin {
        child: ident(row, 0)?,
        parent: ident(row, 1)?,
        answer: column(row, 2)?,
        answer_bits: u32::try_from(bits).map_err(|_| damaged())?,
        at: Moment(column(row, 4)?),
    })
}

fn ident(row: &Row, place: usize) -> Result<Ident, StoreError> {
    Ident::parse(column::<&str>(row, place)?).map_err(|_| damaged())
}
