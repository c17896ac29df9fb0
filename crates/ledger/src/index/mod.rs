//! A side index over the segments, so that a page of records or a chain's last record is found without reading
//! everything. It is derived: it may be deleted at any time and is rebuilt from the segments, and the verifier never
//! looks at it.

mod about;
mod marks;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use about::About;
pub(crate) use marks::{Query, Way, query};

use crate::bytes::Bytes;
use crate::record::{Chain, Hash, NO_HASH, RecordView};
use crate::segment::{self, FRAME_HEADER_LEN, FrameKind, Header};

/// Rows written in one transaction: readers and the writer take turns between them.
const ROWS_AT_ONCE: u64 = 8192;

/// What the index's pages may take in memory. With SQLite's own default of 2 MiB a transaction does not fit, and each of
/// its pages is written several times.
const CACHE_KIB: i64 = 16 << 10;
/// Pages in the write-ahead log before they are moved to the index itself: the same few pages are written again and
/// again, and moved once.
const CHECKPOINT_PAGES: i64 = 8192;

const SCHEMA_VERSION: i64 = 2;

const SCHEMA: &str = "
CREATE TABLE progress (one INTEGER PRIMARY KEY CHECK (one = 1), segment INTEGER, position INTEGER, header BLOB);
INSERT INTO progress VALUES (1, 0, 0, zeroblob(32));
CREATE TABLE records (
    idx INTEGER PRIMARY KEY, chain BLOB NOT NULL, seq INTEGER NOT NULL, at_ms INTEGER NOT NULL, type TEXT NOT NULL,
    class INTEGER, tool TEXT, segment INTEGER NOT NULL, position INTEGER NOT NULL, len INTEGER NOT NULL,
    hash BLOB NOT NULL);
CREATE INDEX by_chain ON records (chain, seq);
";

/// Why the index is of no use now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IndexError {
    #[error("the ledger's index cannot be used: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the ledger cannot be read: {0}")]
    Io(#[from] std::io::Error),
    #[error("segment {segment} is damaged: run the verifier")]
    Damaged { segment: u64 },
}

/// The last record of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) seq: u64,
    pub(crate) hash: Hash,
}

pub(crate) struct Index {
    dir: PathBuf,
    pub(crate) db: Connection,
}

#[derive(Clone, Copy)]
struct Progress {
    segment: u64,
    /// Where to go on; 0 when the segment has not been looked at.
    position: u64,
    /// The hash of the segment's header: another one means another ledger.
    header: Hash,
}

impl Progress {
    const NOTHING: Self = Self {
        segment: 0,
        position: 0,
        header: NO_HASH,
    };
}

impl Index {
    /// The index beside a ledger's directory: `ledger` has `ledger.index`.
    pub(crate) fn open(dir: &Path) -> Result<Self, IndexError> {
        let mut name = dir.as_os_str().to_owned();
        name.push(".index");
        let path = PathBuf::from(name);
        // SQLite gives its side files the permissions of the main one.
        // Only a file that is new is opened here: closing one that SQLite has open elsewhere in this process would drop
        // its locks.
        match OpenOptions::new()
            .create_new(true)
            .append(true)
            .mode(0o600)
            .open(&path)
        {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
        match Self::prepare(dir, Connection::open(&path)?) {
            Err(IndexError::Sqlite(error)) if is_unusable(&error) => {
                for suffix in ["", "-wal", "-shm"] {
                    let mut file = path.as_os_str().to_owned();
                    file.push(suffix);
                    let _ = std::fs::remove_file(file);
                }
                Self::prepare(dir, Connection::open(&path)?)
            }
            prepared => prepared,
        }
    }

    /// An index in memory, for a ledger whose surroundings cannot be written.
    pub(crate) fn in_memory(dir: &Path) -> Result<Self, IndexError> {
        Self::prepare(dir, Connection::open_in_memory()?)
    }

    fn prepare(dir: &Path, mut db: Connection) -> Result<Self, IndexError> {
        db.busy_timeout(Duration::from_secs(30))?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.pragma_update(None, "cache_size", -CACHE_KIB)?;
        db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != SCHEMA_VERSION {
            for table in ["progress", "records", "marks", "spans"] {
                transaction.execute_batch(&format!("DROP TABLE IF EXISTS {table};"))?;
            }
            transaction.execute_batch(SCHEMA)?;
            transaction.execute_batch(marks::SCHEMA)?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        }
        transaction.commit()?;
        Ok(Self {
            dir: dir.to_owned(),
            db,
        })
    }

    /// Takes in every whole frame that was written since the last time, and reads nothing else.
    pub(crate) fn catch_up(&mut self) -> Result<(), IndexError> {
        // What was there at the start is enough. Chasing a ledger that is being written would keep the index from
        // everyone else for as long as the writing goes on.
        let mut goal = None;
        loop {
            let transaction = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut progress = progress(&transaction)?;
            let numbers = segment::numbers(&self.dir)?;
            let Some(last) = numbers.last().copied() else {
                return Ok(());
            };
            let goal = *goal.get_or_insert(last);
            if last < progress.segment {
                progress = forget(&transaction)?;
            }
            let Some(number) = numbers.into_iter().find(|number| *number >= progress.segment) else {
                return Ok(());
            };
            let file = File::open(segment::path(&self.dir, number))?;
            let ended = index_segment(&transaction, &file, number, &mut progress)?;
            if ended && number < last {
                progress = Progress {
                    segment: number + 1,
                    ..Progress::NOTHING
                };
            }
            save(&transaction, progress)?;
            transaction.commit()?;
            if ended && (number == last || number >= goal) {
                return Ok(());
            }
        }
    }

    /// The last record of a chain, as of the last [`Self::catch_up`].
    pub(crate) fn head(&self, chain: &Chain) -> Result<Option<Head>, IndexError> {
        let mut key = Vec::new();
        chain.encode(&mut key);
        let mut query = self
            .db
            .prepare_cached("SELECT seq, hash FROM records WHERE chain = ?1 ORDER BY seq DESC LIMIT 1")?;
        let head = query.query_row(params![key], |row| {
            Ok(Head {
                seq: row.get::<_, i64>(0)?.cast_unsigned(),
                hash: row.get(1)?,
            })
        });
        Ok(head.optional()?)
    }
}

/// Takes in the rest of one segment, or [`ROWS_AT_ONCE`] of it. Says whether its end was reached.
fn index_segment(
    transaction: &Transaction<'_>,
    file: &File,
    number: u64,
    progress: &mut Progress,
) -> Result<bool, IndexError> {
    let damaged = || IndexError::Damaged { segment: number };
    let header = segment::read_header(file)?.ok_or_else(damaged)?;
    if progress.position != 0 && progress.header != header.hash() {
        *progress = forget(transaction)?;
        return Ok(false);
    }
    if progress.position == 0 {
        // What lay behind the end of the segment before had been refused: forget it.
        transaction.execute(
            "DELETE FROM records WHERE idx >= ?1",
            params![header.first_index.cast_signed()],
        )?;
        *progress = Progress {
            segment: number,
            position: Header::LEN as u64,
            header: header.hash(),
        };
    }
    let (mut rows, mut bytes, mut block) = (0, Vec::new(), None);
    let mut ended = true;
    while let Some(frame) = segment::read_frame(file, progress.position, &mut bytes)? {
        if frame.kind == FrameKind::Records {
            let mut rest = Bytes::new(frame.payload);
            let mut position = progress.position + FRAME_HEADER_LEN as u64;
            for _ in 0..frame.count {
                let record = RecordView::take(&mut rest).ok_or_else(damaged)?;
                let len = 4 + record.body.len() + record.hash.len();
                let about = About::of(record.event);
                insert(transaction, &record, &about, number, position, len)?;
                marks::add(
                    transaction,
                    &mut block,
                    record.index.cast_signed(),
                    record.at_ms,
                    &about,
                )?;
                position += len as u64;
                rows += 1;
            }
        }
        progress.position += frame.len() as u64;
        if rows >= ROWS_AT_ONCE {
            ended = false;
            break;
        }
    }
    if let Some(block) = &block {
        marks::save(transaction, block)?;
    }
    Ok(ended)
}

fn insert(
    transaction: &Transaction<'_>,
    record: &RecordView<'_>,
    about: &About<'_>,
    segment: u64,
    position: u64,
    len: usize,
) -> Result<(), IndexError> {
    let mut insert = transaction.prepare_cached(
        "INSERT OR REPLACE INTO records VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    insert.execute(params![
        record.index.cast_signed(),
        record.chain,
        record.seq.cast_signed(),
        record.at_ms,
        about.kind,
        about.class,
        about.tool,
        segment.cast_signed(),
        position.cast_signed(),
        i64::try_from(len).unwrap_or(i64::MAX),
        record.hash,
    ])?;
    Ok(())
}

/// Starts again: what was indexed belongs to another ledger.
fn forget(transaction: &Transaction<'_>) -> Result<Progress, IndexError> {
    for table in ["records", "marks", "spans"] {
        transaction.execute(&format!("DELETE FROM {table}"), [])?;
    }
    Ok(Progress::NOTHING)
}

fn progress(transaction: &Transaction<'_>) -> Result<Progress, IndexError> {
    let (segment, position, header) =
        transaction.query_row("SELECT segment, position, header FROM progress", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get(2)?))
        })?;
    Ok(Progress {
        segment: segment.cast_unsigned(),
        position: position.cast_unsigned(),
        header,
    })
}

fn save(transaction: &Transaction<'_>, progress: Progress) -> Result<(), IndexError> {
    transaction.execute(
        "UPDATE progress SET segment = ?1, position = ?2, header = ?3",
        params![
            progress.segment.cast_signed(),
            progress.position.cast_signed(),
            progress.header
        ],
    )?;
    Ok(())
}

/// Whether the file is no database, or a broken one: rebuilding helps. Anything else (a full disk, a lock) stays.
fn is_unusable(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt)
    )
}
