//! Publishing this gateway's records where auditors of every gateway find them.
//!
//! Nothing waits for it: a record is in force when it is on this gateway's own disk. What could not be published is published
//! later, from where the index says it ended.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::Ident;
use tidegate_ledger::{Cursor, Filter, Page, PooledIndex, Published, Reader};
use tokio::sync::Mutex;

use crate::Engine;
use crate::audit::AuditError;

/// How often records are published that nobody asks for.
const INTERVAL: Duration = Duration::from_millis(500);

/// The index that several gateways share, and how far this one has published.
pub struct PooledRecord {
    index: Arc<dyn PooledIndex>,
    ledger: Ident,
    /// The index of the last record that is published, once it is known.
    published: Mutex<Option<Option<u64>>>,
}

impl PooledRecord {
    /// Publishes the records of this ledger into an index.
    #[must_use]
    pub fn new(index: Arc<dyn PooledIndex>, ledger: Ident) -> Self {
        Self {
            index,
            ledger,
            published: Mutex::new(None),
        }
    }

    /// Publishes everything that this gateway has recorded by now.
    async fn catch_up(&self, reader: &Arc<Reader>) -> Result<(), AuditError> {
        let mut published = self.published.lock().await;
        let mut last = match *published {
            Some(last) => last,
            None => self.index.last(&self.ledger).await?,
        };
        // Asked again after a failure: what was lost may have arrived.
        *published = None;
        loop {
            let (reader, after) = (Arc::clone(reader), last.map(Cursor::at));
            let read = move || reader.page(&Filter::default(), after, Reader::MAX_PAGE);
            let page = tokio::task::spawn_blocking(read).await;
            let page = page.map_err(|_| AuditError::Interrupted)??;
            let records: Vec<_> = page.records.iter().map(Published::of).collect();
            if let Some(newest) = records.last() {
                self.index.publish(&self.ledger, &records).await?;
                last = Some(newest.index);
            }
            if page.next.is_none() {
                *published = Some(last);
                return Ok(());
            }
        }
    }

    /// The next records of all gateways, with everything of this one.
    pub(crate) async fn page(
        &self,
        reader: &Arc<Reader>,
        filter: &Filter,
        after: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, AuditError> {
        self.catch_up(reader).await?;
        Ok(self.index.page(filter, after, limit).await?)
    }
}

impl Engine {
    /// The same engine with an index that several gateways share: whoever may read the record reads that of all of them.
    #[must_use]
    pub fn with_pooled_record(self, pooled: PooledRecord) -> Self {
        Self {
            pooled: Some(pooled),
            ..self
        }
    }

    /// Publishes records for as long as it runs, if there is somewhere to. What fails is tried again.
    pub async fn keep_publishing(&self) {
        let Some(pooled) = &self.pooled else { return };
        loop {
            let outcome: Result<(), AuditError> = pooled.catch_up(self.provenance.reader()).await;
            // An auditor who asks meanwhile is told; nothing else depends on it.
            drop(outcome);
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
