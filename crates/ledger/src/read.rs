//! Reading back: pages of records by filter, through the side index.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use rusqlite::{OptionalExtension as _, Row, params, params_from_iter};
use serde_json::value::RawValue;
use tidegate_core::{Class, Ident};

use crate::bytes::Bytes;
use crate::index::{self, Index, IndexError, Query, Way};
use crate::record::{self, Chain, Hash, RecordView};
use crate::segment;
use crate::verify::{Report, Trust, VerifyError, verify};
use crate::{Event, Name};

/// Which records are wanted. Every part that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this chain.
    pub chain: Option<Chain>,
    /// Of this type, as [`Event::TYPES`] has it.
    pub event: Option<String>,
    /// Not before this time.
    pub from: Option<SystemTime>,
    /// Before this time.
    pub until: Option<SystemTime>,
    /// About data of this class.
    pub class: Option<Class>,
    /// About this tool.
    pub tool: Option<Name>,
}

/// Where the next page begins. It stays valid while records are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(u64);

impl Cursor {
    /// The page after what stands at this place.
    #[must_use]
    pub const fn at(place: u64) -> Self {
        Self(place)
    }

    /// Reads what [`fmt::Display`] wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// The last place before the page.
    #[must_use]
    pub fn place(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Some records, and where to go on if there are more.
#[derive(Clone, Debug)]
pub struct Page {
    /// In the order they were asked for.
    pub records: Vec<Record>,
    /// Whose ledger each of them is in, where several gateways share an index; empty where there is one ledger only.
    pub ledgers: Vec<Ident>,
    /// The next page, if there is one.
    pub next: Option<Cursor>,
}

/// One record. Its hash was checked when it was read; that it is the one that was signed is the verifier's to say.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its place among all records.
    pub index: u64,
    /// Its chain.
    pub chain: Chain,
    /// Its place in the chain.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// The hash of the record before it in its chain.
    pub prev: Hash,
    /// Its own hash.
    pub hash: Hash,
    /// The event as it was written.
    pub event_json: Box<RawValue>,
}

impl Record {
    /// The event, if this version knows its type.
    #[must_use]
    pub fn event(&self) -> Option<Event> {
        serde_json::from_str(self.event_json.get()).ok()
    }

    /// When it happened, as RFC 3339 text.
    #[must_use]
    pub fn at_text(&self) -> String {
        record::time_text(self.at_ms)
    }

    pub(crate) fn of(view: &RecordView<'_>) -> Option<Self> {
        let event = std::str::from_utf8(view.event).ok()?.to_owned();
        Some(Self {
            index: view.index,
            chain: Chain::decode(view.chain)?,
            seq: view.seq,
            at_ms: view.at_ms,
            prev: *view.prev,
            hash: *view.hash,
            event_json: RawValue::from_string(event).ok()?,
        })
    }
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The index beside the ledger cannot be used.
    #[error("the ledger's index cannot be used: {reason}")]
    Index {
        /// What it reports.
        reason: String,
    },
    /// A record is not what was written.
    #[error("record {record} is damaged: run the verifier")]
    Damaged {
        /// Its place among all records.
        record: u64,
    },
    /// The system refused.
    #[error("the ledger cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl From<IndexError> for ReadError {
    fn from(error: IndexError) -> Self {
        match error {
            IndexError::Io(error) => Self::Io(error),
            other @ (IndexError::Sqlite(_) | IndexError::Damaged { .. }) => Self::Index {
                reason: other.to_string(),
            },
        }
    }
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        IndexError::from(error).into()
    }
}

/// Reads a ledger, also while it is being written, in this process or another. Its methods wait for the disk: call them
/// where blocking is allowed.
pub struct Reader {
    pub(crate) dir: PathBuf,
    index: Mutex<Index>,
}

/// Where a record lies.
pub(crate) struct Location {
    pub(crate) index: u64,
    pub(crate) segment: u64,
    position: u64,
    len: usize,
}

impl Reader {
    /// The most records in one page.
    pub const MAX_PAGE: usize = 1000;

    /// Prepares for reading. The index beside the ledger is used, or one in memory where nothing can be written.
    ///
    /// # Errors
    /// When there is no such directory, or no index can be made.
    pub fn open(dir: &Path) -> Result<Self, ReadError> {
        std::fs::read_dir(dir)?;
        let index = Index::open(dir).or_else(|_| Index::in_memory(dir))?;
        Ok(Self {
            dir: dir.to_owned(),
            index: Mutex::new(index),
        })
    }

    /// The next records that pass a filter, at most `limit` and [`Self::MAX_PAGE`] of them.
    ///
    /// # Errors
    /// When the ledger cannot be read, or a record in the page is damaged.
    pub fn page(&self, filter: &Filter, after: Option<Cursor>, limit: usize) -> Result<Page, ReadError> {
        self.read(filter, Way::After(after.map_or(-1, Cursor::place)), limit)
    }

    /// The newest records that pass a filter, or the ones before a cursor, newest first, at most `limit` and
    /// [`Self::MAX_PAGE`] of them.
    ///
    /// # Errors
    /// When the ledger cannot be read, or a record in the page is damaged.
    pub fn page_back(
        &self,
        filter: &Filter,
        before: Option<Cursor>,
        limit: usize,
    ) -> Result<Page, ReadError> {
        self.read(filter, Way::Before(before.map_or(i64::MAX, Cursor::place)), limit)
    }

    fn read(&self, filter: &Filter, way: Way, limit: usize) -> Result<Page, ReadError> {
        let limit = limit.clamp(1, Self::MAX_PAGE);
        let mut locations = self.locate(filter, way, limit + 1)?;
        let more = locations.len() > limit;
        locations.truncate(limit);
        let next = locations.last().filter(|_| more).map(|last| Cursor(last.index));
        let mut open: Option<(u64, File)> = None;
        let mut records = Vec::with_capacity(locations.len());
        for location in &locations {
            let file = match open.take() {
                Some((segment, file)) if segment == location.segment => file,
                _ => File::open(segment::path(&self.dir, location.segment))?,
            };
            records.push(read_one(&file, location)?);
            open = Some((location.segment, file));
        }
        Ok(Page {
            records,
            ledgers: Vec::new(),
            next,
        })
    }

    /// Checks everything that is recorded, from the files alone; see [`crate::verify`].
    ///
    /// # Errors
    /// The first thing that is not as it was written, or what the system reports.
    pub fn verify(&self, trust: Trust<'_>) -> Result<Report, VerifyError> {
        verify(&self.dir, trust)
    }

    /// One record by its chain and place there.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the record is damaged.
    pub fn record(&self, chain: &Chain, seq: u64) -> Result<Option<Record>, ReadError> {
        let location = self.location_of(chain, seq)?;
        location
            .map(|location| {
                read_one(
                    &File::open(segment::path(&self.dir, location.segment))?,
                    &location,
                )
            })
            .transpose()
    }

    pub(crate) fn location_of(&self, chain: &Chain, seq: u64) -> Result<Option<Location>, ReadError> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        index.catch_up()?;
        let mut key = Vec::new();
        chain.encode(&mut key);
        let sql = "SELECT idx, segment, position, len FROM records WHERE chain = ?1 AND seq = ?2";
        let Ok(seq) = i64::try_from(seq) else {
            return Ok(None);
        };
        Ok(index
            .db
            .prepare_cached(sql)?
            .query_row(params![key, seq], location)
            .optional()?)
    }

    fn locate(&self, filter: &Filter, way: Way, limit: usize) -> Result<Vec<Location>, ReadError> {
        let mut side = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        side.catch_up()?;
        let Query { sql, values } = index::query(filter, way, limit);
        let mut query = side.db.prepare_cached(&sql)?;
        let rows = query.query_map(params_from_iter(values), location)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn location(row: &Row<'_>) -> rusqlite::Result<Location> {
    Ok(Location {
        index: row.get::<_, i64>(0)?.cast_unsigned(),
        segment: row.get::<_, i64>(1)?.cast_unsigned(),
        position: row.get::<_, i64>(2)?.cast_unsigned(),
        len: usize::try_from(row.get::<_, i64>(3)?)
            .unwrap_or_default()
            .min(segment::MAX_PAYLOAD),
    })
}

fn read_one(file: &File, location: &Location) -> Result<Record, ReadError> {
    let damaged = ReadError::Damaged {
        record: location.index,
    };
    let mut bytes = vec![0; location.len];
    match file.read_exact_at(&mut bytes, location.position) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(damaged),
        other => other?,
    }
    RecordView::take(&mut Bytes::new(&bytes))
        .filter(|view| view.index == location.index && view.hash_holds())
        .and_then(|view| Record::of(&view))
        .ok_or(damaged)
}
