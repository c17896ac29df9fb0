//! The common index of the gateways' records.

use async_trait::async_trait;
use tidegate_core::Ident;
use tidegate_ledger::{Cursor, Filter, Page, PooledIndex, Published, ReadError, Reader, Record};
use tidegate_store::StoreError;
use tokio_postgres::Row;

use crate::annex::{column, verdict};
use crate::failure::damaged;
use crate::query::Query;
use crate::rows::{PostgresRows, parts};

/// A statement of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordQuery {
    Last,
    Records,
    Publish,
}

impl RecordQuery {
    pub(crate) const fn sql(self) -> &'static str {
        match self {
            Self::Last => "SELECT max(idx) FROM record WHERE ledger = $1",
            Self::Records => {
                "SELECT place, ledger, bytes FROM records($1, $2, $3, $4, $5, $6, $7, $8) ORDER BY place"
            }
            Self::Publish => "SELECT publish($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        }
    }
}

#[async_trait]
impl PooledIndex for PostgresRows {
    async fn last(&self, ledger: &Ident) -> Result<Option<u64>, ReadError> {
        let rows = self
            .ask(Query::Record(RecordQuery::Last), &[&ledger.as_str()])
            .await
            .map_err(failed)?;
        let row = rows.first().ok_or_else(|| failed(damaged()))?;
        let last: Option<i64> = column(row, 0).map_err(failed)?;
        Ok(last.map(i64::cast_unsigned))
    }

    async fn publish(&self, ledger: &Ident, records: &[Published]) -> Result<(), ReadError> {
        let claim = self.claim();
        let (claimed, fence) = parts(claim.as_ref());
        if claimed != Some(ledger.as_str()) {
            return Err(failed(StoreError::Fenced));
        }
        let indexes: Vec<_> = records.iter().map(|record| record.index.cast_signed()).collect();
        let chains: Vec<_> = records.iter().map(|record| record.chain.as_slice()).collect();
        let times: Vec<_> = records.iter().map(|record| record.at_ms).collect();
        let types: Vec<_> = records.iter().map(|record| record.kind.as_str()).collect();
        let classes: Vec<_> = records.iter().map(|record| record.class.map(i16::from)).collect();
        let tools: Vec<_> = records.iter().map(|record| record.tool.as_deref()).collect();
        let bytes: Vec<_> = records.iter().map(|record| record.bytes.as_slice()).collect();
        let rows = self
            .change_rows(
                Query::Record(RecordQuery::Publish),
                &[
                    &claimed, &fence, &indexes, &chains, &times, &types, &classes, &tools, &bytes,
                ],
            )
            .await
            .map_err(failed)?;
        verdict(&rows).map(drop).map_err(failed)
    }

    async fn page(&self, filter: &Filter, after: Option<Cursor>, limit: usize) -> Result<Page, ReadError> {
        let limit = limit.clamp(1, Reader::MAX_PAGE);
        let after = after.map_or(0, Cursor::place);
        let most = i64::try_from(limit + 1).unwrap_or(i64::MAX);
        let class = filter.class.map(|class| i16::from(class.rank()));
        let tool = filter.tool.as_ref().map(ToString::to_string);
        let rows = self
            .ask(
                Query::Record(RecordQuery::Records),
                &[
                    &after,
                    &filter.chain_key(),
                    &filter.event,
                    &filter.from_ms(),
                    &filter.until_ms(),
                    &class,
                    &tool,
                    &most,
                ],
            )
            .await
            .map_err(failed)?;
        let mut page = Page {
            records: Vec::with_capacity(rows.len().min(limit)),
            ledgers: Vec::with_capacity(rows.len().min(limit)),
            next: None,
        };
        let mut last = 0;
        for row in rows.iter().take(limit) {
            let (place, ledger, record) = read(row)?;
            page.records.push(record);
            page.ledgers.push(ledger);
            last = place;
        }
        page.next = (rows.len() > limit).then(|| Cursor::at(last));
        Ok(page)
    }
}

fn read(row: &Row) -> Result<(u64, Ident, Record), ReadError> {
    let place: i64 = column(row, 0).map_err(failed)?;
    let ledger = Ident::parse(column::<&str>(row, 1).map_err(failed)?).map_err(|_| failed(damaged()))?;
    let record = Published::read(column(row, 2).map_err(failed)?).ok_or(ReadError::Damaged {
        record: place.cast_unsigned(),
    })?;
    Ok((place.cast_unsigned(), ledger, record))
}

fn failed(error: StoreError) -> ReadError {
    ReadError::Index {
        reason: error.to_string(),
    }
}
