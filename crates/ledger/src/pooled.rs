//! The records of several gateways in one place, for those who read them back.
//!
//! Each gateway writes, links and signs a ledger of its own, and what proves anything is that ledger. A common index is a
//! view: each gateway publishes its records there after they are on its own disk, and an auditor who asks any gateway is
//! shown those of all. It may be emptied at any time; the gateways publish again.

use async_trait::async_trait;
use tidegate_core::{Class, Ident};

use crate::bytes::Bytes;
use crate::read::{Cursor, Filter, Page, ReadError, Record};
use crate::record::{self, Place, RecordView};

/// Where several gateways publish their records.
#[async_trait]
pub trait PooledIndex: Send + Sync {
    /// The index of the last record of this ledger that is there.
    async fn last(&self, ledger: &Ident) -> Result<Option<u64>, ReadError>;

    /// Adds records of one ledger, in their order. One that is there must stay as it is. A process whose ledger another one
    /// has taken over must be refused.
    async fn publish(&self, ledger: &Ident, records: &[Published]) -> Result<(), ReadError>;

    /// The next records that pass a filter, of all ledgers. The order must be the one in which they were published, and a
    /// record must never appear before one that was shown already.
    async fn page(&self, filter: &Filter, after: Option<Cursor>, limit: usize) -> Result<Page, ReadError>;
}

/// A record with what filters ask about it.
#[derive(Debug)]
pub struct Published {
    /// Its place among all records of its ledger.
    pub index: u64,
    /// Its chain, as [`Filter::chain_key`] has it.
    pub chain: Vec<u8>,
    /// When it happened.
    pub at_ms: i64,
    /// Its event's type.
    pub kind: String,
    /// The rank of the class that it is about.
    pub class: Option<u8>,
    /// The tool that it is about.
    pub tool: Option<String>,
    /// The record as it lies in a segment.
    pub bytes: Vec<u8>,
}

impl Published {
    /// A record to be published.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let event = record.event_json.get().as_bytes();
        let about = record.event();
        let place = Place {
            index: record.index,
            seq: record.seq,
            prev: record.prev,
        };
        let (mut chain, mut bytes) = (Vec::new(), Vec::new());
        record.chain.encode(&mut chain);
        record::encode(&record.chain, place, record.at_ms, event, &mut bytes);
        Self {
            index: record.index,
            chain,
            at_ms: record.at_ms,
            // An event of a type this version does not know is found by its chain and its time.
            kind: about
                .as_ref()
                .map_or_else(String::new, |event| event.type_name().to_owned()),
            class: about.as_ref().and_then(|event| event.class().map(Class::rank)),
            tool: about
                .as_ref()
                .and_then(|event| event.tool().map(ToString::to_string)),
            bytes,
        }
    }

    /// The record in these bytes, if its hash holds.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Record> {
        let view = RecordView::take(&mut Bytes::new(bytes)).filter(RecordView::hash_holds)?;
        Record::of(&view)
    }
}

impl Filter {
    /// The chain that is wanted, as bytes that no other chain has.
    #[must_use]
    pub fn chain_key(&self) -> Option<Vec<u8>> {
        self.chain.as_ref().map(|chain| {
            let mut key = Vec::new();
            chain.encode(&mut key);
            key
        })
    }

    /// Not before this, in milliseconds since 1970.
    #[must_use]
    pub fn from_ms(&self) -> Option<i64> {
        self.from.map(record::to_ms)
    }

    /// Before this, in milliseconds since 1970.
    #[must_use]
    pub fn until_ms(&self) -> Option<i64> {
        self.until.map(record::to_ms)
    }
}
