//! Sessions as rows.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use tidegate_core::{Class, Ident, Moment};
use tidegate_store::{Change, Remote, Reset, Row, Rows, StoreError};
use tokio::sync::broadcast;

use crate::changes::Changes;
use crate::failure::damaged;
use crate::gates::GateStatement;
use crate::lanes::{Lanes, Refused, Values};
use crate::migrate;
use crate::query::Query;
use crate::reviews::ReviewStatement;
use crate::server::Server;

/// How many connections read and how many write, and how many questions may wait on each.
const READING: (usize, usize) = (4, 16_384);
const WRITING: (usize, usize) = (12, 4_096);
/// The same for gates: people are slower than machines.
const GATES: (usize, usize) = (2, 4_096);
/// The same for class reviews, which are rarer still.
const REVIEWS: (usize, usize) = (1, 1_024);

/// Rows in PostgreSQL.
pub struct PostgresRows {
    reading: Lanes,
    writing: Lanes,
    gates: Lanes,
    reviews: Lanes,
    changes: Changes,
    /// The ledger this handle writes to, and the fence it was given.
    claim: RwLock<Option<(Ident, i64)>>,
}

impl PostgresRows {
    pub(crate) async fn connect(remote: &Remote) -> Result<Self, StoreError> {
        let server = Arc::new(Server::new(remote)?);
        migrate::run(&server).await?;
        Ok(Self {
            reading: Lanes::new(Arc::clone(&server), &Query::READS, READING.0, READING.1),
            writing: Lanes::new(Arc::clone(&server), &Query::WRITES, WRITING.0, WRITING.1),
            gates: Lanes::new(Arc::clone(&server), &GateStatement::ALL, GATES.0, GATES.1),
            reviews: Lanes::new(Arc::clone(&server), &ReviewStatement::ALL, REVIEWS.0, REVIEWS.1),
            changes: Changes::follow(server),
            claim: RwLock::new(None),
        })
    }

    pub(crate) async fn ask(
        &self,
        query: Query,
        values: Values<'_>,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        Ok(self.reading.rows(query, values).await?)
    }

    pub(crate) async fn change(&self, query: Query, values: Values<'_>) -> Result<u64, Refused> {
        self.writing.execute(query, values).await
    }

    /// The rows that a statement about gates gives.
    pub(crate) async fn ask_gates(
        &self,
        statement: GateStatement,
        values: Values<'_>,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        Ok(self.gates.rows(Query::Gate(statement), values).await?)
    }

    /// The rows that a statement about class reviews gives.
    pub(crate) async fn ask_reviews(
        &self,
        statement: ReviewStatement,
        values: Values<'_>,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        Ok(self.reviews.rows(Query::Review(statement), values).await?)
    }

    /// The rows that a change gives.
    pub(crate) async fn change_rows(
        &self,
        query: Query,
        values: Values<'_>,
    ) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        Ok(self.writing.rows(query, values).await?)
    }

    pub(crate) fn claim(&self) -> Option<(Ident, i64)> {
        self.claim.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Rows for PostgresRows {
    async fn insert(&self, id: &Ident, row: &Row) -> Result<bool, StoreError> {
        let claim = self.claim();
        let (ledger, fence) = parts(claim.as_ref());
        let (id, label) = (id.as_str(), row.label.as_str());
        let values: Values<'_> = &[
            &id,
            &row.version,
            &row.epoch,
            &label,
            &row.document,
            &ledger,
            &fence,
        ];
        Ok(self.change(Query::Insert, values).await? == 1)
    }

    async fn read(&self, id: &Ident) -> Result<Option<Row>, StoreError> {
        let claim = self.claim();
        let (ledger, fence) = parts(claim.as_ref());
        let rows = self.ask(Query::Read, &[&id.as_str(), &ledger]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let in_force: Option<i64> = row.try_get(4).map_err(|_| damaged())?;
        if ledger.is_some() && in_force != Some(fence) {
            return Err(StoreError::Fenced);
        }
        read_row(row, 0).map(Some)
    }

    async fn replace(&self, id: &Ident, after: &Row, reset: Option<&Reset>) -> Result<bool, StoreError> {
        let claim = self.claim();
        let (ledger, fence) = parts(claim.as_ref());
        let (name, label) = (id.as_str(), after.label.as_str());
        let values: Values<'_> = &[
            &name,
            &after.version,
            &after.epoch,
            &label,
            &after.document,
            &ledger,
            &fence,
        ];
        let changed = match reset {
            None => self.change(Query::Replace, values).await?,
            Some(reset) => {
                let by = reset.by.as_str();
                let decided: Values<'_> = &[&by, &reset.reason, &reset.at.0];
                let values = [values, decided].concat();
                self.change(Query::Reset, &values).await?
            }
        };
        if changed == 1 {
            self.changes.tell(id);
        }
        Ok(changed == 1)
    }

    async fn resets(&self, id: &Ident) -> Result<Vec<Reset>, StoreError> {
        let rows = self.ask(Query::Resets, &[&id.as_str()]).await?;
        let read = |row: &tokio_postgres::Row| {
            Ok(Reset {
                by: Ident::parse(text(row, 0)?).map_err(|_| damaged())?,
                reason: text(row, 1)?.to_owned(),
                at: Moment(row.try_get(2).map_err(|_| damaged())?),
            })
        };
        rows.iter().map(read).collect()
    }

    async fn page(&self, after: &str, limit: usize) -> Result<Vec<(Ident, Row)>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = self.ask(Query::Page, &[&after, &limit]).await?;
        let read = |row: &tokio_postgres::Row| {
            let id = Ident::parse(text(row, 0)?).map_err(|_| damaged())?;
            Ok((id, read_row(row, 1)?))
        };
        rows.iter().map(read).collect()
    }

    async fn count(&self) -> Result<u64, StoreError> {
        let rows = self.ask(Query::Count, &[]).await?;
        let count: i64 = rows
            .first()
            .and_then(|row| row.try_get(0).ok())
            .ok_or_else(damaged)?;
        Ok(count.unsigned_abs())
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.change(Query::Probe, &[]).await?;
        let claim = self.claim();
        let (ledger, _) = parts(claim.as_ref());
        self.ask(Query::Read, &[&"", &ledger]).await?;
        Ok(())
    }

    async fn claim(&self, ledger: &Ident) -> Result<(), StoreError> {
        let rows = self.writing.rows(Query::Claim, &[&ledger.as_str()]).await?;
        let fence = rows.first().and_then(|row| row.try_get(0).ok());
        let fence: i64 = fence.ok_or_else(damaged)?;
        let mut claim = self.claim.write().unwrap_or_else(PoisonError::into_inner);
        *claim = Some((ledger.clone(), fence));
        Ok(())
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

/// What a statement is told of a claim.
pub(crate) fn parts(claim: Option<&(Ident, i64)>) -> (Option<&str>, i64) {
    claim.map_or((None, 0), |(ledger, fence)| (Some(ledger.as_str()), *fence))
}

fn read_row(row: &tokio_postgres::Row, first: usize) -> Result<Row, StoreError> {
    let label = text(row, first + 2)?;
    let label = Class::ALL.into_iter().find(|class| class.as_str() == label);
    Ok(Row {
        version: row.try_get(first).map_err(|_| damaged())?,
        epoch: row.try_get(first + 1).map_err(|_| damaged())?,
        label: label.ok_or_else(damaged)?,
        document: text(row, first + 3)?.to_owned(),
    })
}

fn text(row: &tokio_postgres::Row, column: usize) -> Result<&str, StoreError> {
    row.try_get(column).map_err(|_| damaged())
}
