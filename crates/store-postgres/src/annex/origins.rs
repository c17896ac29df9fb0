//! Origins as rows: one for the memory of a session, one for each chunk with its digests side by side. What a memory takes is
//! the rule of [`OriginMemory`]; the server compares and replaces.

use async_trait::async_trait;
use tidegate_core::{Ident, Name};
use tidegate_store::{Origin, OriginBounds, OriginChunk, OriginMemory, OriginStore, Recalled, StoreError};
use tokio_postgres::Row;

use super::{AnnexQuery, column};
use crate::failure::damaged;
use crate::query::Query;
use crate::rows::{PostgresRows, parts};

/// How often a change starts anew because others were faster: each time one of them got through.
const MAX_TRIES: usize = 256;

#[async_trait]
impl OriginStore for PostgresRows {
    async fn begin(&self, session: &Ident) -> Result<(), StoreError> {
        self.begin_origins(session, false).await
    }

    async fn remember(
        &self,
        session: &Ident,
        chunks: Vec<OriginChunk>,
        bounds: OriginBounds,
    ) -> Result<(), StoreError> {
        let change = |memory: &mut OriginMemory| {
            let kept = chunks.iter().filter(|chunk| memory.takes(chunk, bounds));
            kept.collect()
        };
        self.change_origins(session, change).await
    }

    async fn close(&self, session: &Ident) -> Result<(), StoreError> {
        let change = |memory: &mut OriginMemory| {
            memory.closed = true;
            Vec::new()
        };
        self.change_origins(session, change).await
    }

    async fn recall(&self, session: &Ident, after: u64) -> Result<Recalled, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let query = Query::Annex(AnnexQuery::Recall);
        let rows = self.ask(query, &[&session.as_str(), &after]).await?;
        let first = rows.first().ok_or(StoreError::NoSession)?;
        let (closed, last): (Option<bool>, Option<i64>) = (column(first, 0)?, column(first, 1)?);
        let mut chunks = Vec::new();
        for row in &rows {
            chunks.extend(read_chunk(row)?);
        }
        Ok(Recalled {
            // A memory that was never begun is closed.
            closed: closed.unwrap_or(true),
            last: u64::try_from(last.unwrap_or_default()).map_err(|_| damaged())?,
            chunks,
        })
    }
}

impl PostgresRows {
    async fn begin_origins(&self, session: &Ident, closed: bool) -> Result<(), StoreError> {
        let query = Query::Annex(AnnexQuery::BeginOrigins);
        let rows = self.change_rows(query, &[&session.as_str(), &closed]).await?;
        match column::<i64>(rows.first().ok_or_else(damaged)?, 0)? {
            0 => Err(StoreError::NoSession),
            _ => Ok(()),
        }
    }

    async fn change_origins<'a>(
        &self,
        session: &Ident,
        change: impl Fn(&mut OriginMemory) -> Vec<&'a OriginChunk> + Send + Sync,
    ) -> Result<(), StoreError> {
        for _ in 0..MAX_TRIES {
            let query = Query::Annex(AnnexQuery::OriginMemory);
            let rows = self.ask(query, &[&session.as_str()]).await?;
            let Some(row) = rows.first() else {
                self.begin_origins(session, OriginMemory::NEVER_BEGUN.closed)
                    .await?;
                continue;
            };
            let (version, before) = read_memory(row)?;
            let mut memory = before;
            let kept = change(&mut memory);
            // What it would leave is durable already.
            if kept.is_empty() && memory == before {
                return Ok(());
            }
            if self.keep_origins(session, version, memory, &kept).await? {
                return Ok(());
            }
        }
        Err(StoreError::Overloaded)
    }

    async fn keep_origins(
        &self,
        session: &Ident,
        version: i64,
        memory: OriginMemory,
        kept: &[&OriginChunk],
    ) -> Result<bool, StoreError> {
        let claim = self.claim();
        let (ledger, fence) = parts(claim.as_ref());
        let origins: Vec<&str> = kept.iter().map(|chunk| chunk.origin.as_str()).collect();
        let sources: Vec<&str> = kept.iter().map(|chunk| chunk.source.as_str()).collect();
        let digests: Vec<Vec<u8>> = kept.iter().map(|chunk| side_by_side(chunk)).collect();
        let rows = self
            .change_rows(
                Query::Annex(AnnexQuery::KeepOrigins),
                &[
                    &ledger,
                    &fence,
                    &session.as_str(),
                    &version,
                    &memory.closed,
                    &count(memory.operator),
                    &count(memory.others),
                    &origins,
                    &sources,
                    &digests,
                ],
            )
            .await?;
        let row = rows.first().ok_or_else(damaged)?;
        if column(row, 1)? {
            return Err(StoreError::Fenced);
        }
        Ok(column::<i64>(row, 0)? == 1)
    }
}

fn read_memory(row: &Row) -> Result<(i64, OriginMemory), StoreError> {
    let kept = |place| {
        let number: i64 = column(row, place)?;
        usize::try_from(number).map_err(|_| damaged())
    };
    let memory = OriginMemory {
        closed: column(row, 1)?,
        operator: kept(2)?,
        others: kept(3)?,
    };
    Ok((column(row, 0)?, memory))
}

/// The chunk in a row of what is recalled, if there is one.
fn read_chunk(row: &Row) -> Result<Option<OriginChunk>, StoreError> {
    let Some(name) = column::<Option<&str>>(row, 2)? else {
        return Ok(None);
    };
    let origin = Origin::ALL.into_iter().find(|origin| origin.as_str() == name);
    let (digests, rest) = column::<&[u8]>(row, 4)?.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(damaged());
    }
    Ok(Some(OriginChunk {
        origin: origin.ok_or_else(damaged)?,
        source: Name::parse(column::<&str>(row, 3)?).map_err(|_| damaged())?,
        digests: digests.iter().map(|bytes| u64::from_be_bytes(*bytes)).collect(),
    }))
}

fn side_by_side(chunk: &OriginChunk) -> Vec<u8> {
    let digests = chunk.digests.iter();
    digests.flat_map(|digest| digest.to_be_bytes()).collect()
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
