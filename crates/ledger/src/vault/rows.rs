//! The vault's table.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use tidegate_core::{Class, Ident};

use super::VaultError;
use super::cipher::Sealed;
use super::issued::{self, Issue};
use crate::EvidencePointer;

pub(super) struct Rows {
    db: Connection,
    /// Two vaults on one file would each keep the other's keys and secrets wrong. Given up after the database.
    _lock: File,
}

pub(super) struct Row {
    pub(super) pointer: EvidencePointer,
    pub(super) session: Ident,
    pub(super) stored_ms: i64,
    pub(super) held: Held,
}

/// Where a piece of evidence is.
pub(super) enum Held {
    Disk(Sealed),
    Memory,
    Destroyed { at_ms: i64 },
}

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS evidence (
    id BLOB PRIMARY KEY, class INTEGER NOT NULL, session TEXT NOT NULL, stored_ms INTEGER NOT NULL,
    destroyed_ms INTEGER, key_id BLOB, wrapped BLOB, content BLOB) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS alive ON evidence (class, stored_ms) WHERE destroyed_ms IS NULL;
CREATE INDEX IF NOT EXISTS in_memory ON evidence (session) WHERE destroyed_ms IS NULL AND content IS NULL;
CREATE INDEX IF NOT EXISTS by_key ON evidence (key_id) WHERE key_id IS NOT NULL;
";

impl Rows {
    pub(super) fn open(path: &Path) -> Result<Self, VaultError> {
        let lock = lock(path)?;
        // SQLite gives its side files the permissions of the main one.
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path)?;
        let db = Connection::open(path)?;
        db.busy_timeout(Duration::from_secs(10))?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "FULL")?;
        // What is destroyed is overwritten, not merely unlinked.
        db.pragma_update(None, "secure_delete", true)?;
        db.execute_batch(SCHEMA)?;
        db.execute_batch(issued::SCHEMA)?;
        Ok(Self { db, _lock: lock })
    }

    pub(super) fn db(&self) -> &Connection {
        &self.db
    }

    pub(super) fn begin(&mut self) -> Result<Transaction<'_>, VaultError> {
        Ok(self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?)
    }

    pub(super) fn insert(&mut self, rows: &[Row]) -> Result<(), VaultError> {
        let transaction = self.begin()?;
        insert_evidence(&transaction, rows)?;
        Ok(transaction.commit()?)
    }

    /// Writes evidence together with the tokens that lead to it, each with as many of the pieces as it says.
    pub(super) fn insert_issued(
        &mut self,
        session: &Ident,
        rows: &[Row],
        issues: &[(Issue, Vec<EvidencePointer>)],
    ) -> Result<(), VaultError> {
        let transaction = self.begin()?;
        insert_evidence(&transaction, rows)?;
        for (issue, pieces) in issues {
            issued::insert(&transaction, session, issue, pieces)?;
        }
        Ok(transaction.commit()?)
    }

    pub(super) fn find(&self, pointer: &EvidencePointer) -> Result<Option<Held>, VaultError> {
        let sql = "SELECT destroyed_ms, key_id, wrapped, content FROM evidence WHERE id = ?1 AND class = ?2";
        let mut query = self.db.prepare_cached(sql)?;
        let held = query.query_row(params![pointer.id(), pointer.class().rank()], |row| {
            Ok(match (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?) {
                (Some(at_ms), ..) => Held::Destroyed { at_ms },
                (None, Some(key_id), Some(wrapped), Some(content)) => Held::Disk(Sealed {
                    key_id,
                    wrapped,
                    content,
                }),
                (None, ..) => Held::Memory,
            })
        });
        Ok(held.optional()?)
    }

    /// Leaves tombstones and overwrites the rest. Says how many pieces there were.
    pub(super) fn bury(&mut self, pointers: &[EvidencePointer], at_ms: i64) -> Result<usize, VaultError> {
        let transaction = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sql = "UPDATE evidence SET destroyed_ms = ?2, key_id = NULL, wrapped = NULL, content = NULL
                   WHERE id = ?1 AND class = ?3 AND destroyed_ms IS NULL";
        let mut buried = 0;
        for pointer in pointers {
            buried += transaction.prepare_cached(sql)?.execute(params![
                pointer.id(),
                at_ms,
                pointer.class().rank()
            ])?;
        }
        transaction.commit()?;
        self.empty_journal()?;
        Ok(buried)
    }

    /// Leaves tombstones for what was held in memory: of one session, or of all.
    pub(super) fn bury_memory(&self, session: Option<&Ident>, at_ms: i64) -> Result<(), VaultError> {
        self.db.execute(
            "UPDATE evidence SET destroyed_ms = ?2
             WHERE destroyed_ms IS NULL AND content IS NULL AND (?1 IS NULL OR session = ?1)",
            params![session.map(Ident::as_str), at_ms],
        )?;
        Ok(())
    }

    pub(super) fn stored_before(
        &self,
        class: Class,
        stored_ms: i64,
    ) -> Result<Vec<EvidencePointer>, VaultError> {
        let sql = "SELECT id FROM evidence WHERE class = ?1 AND stored_ms < ?2 AND destroyed_ms IS NULL";
        let mut query = self.db.prepare_cached(sql)?;
        let found = query.query_map(params![class.rank(), stored_ms], |row| {
            Ok(EvidencePointer::new(class, row.get(0)?))
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// The keys that something lies under.
    pub(super) fn key_ids(&self) -> Result<Vec<[u8; 8]>, VaultError> {
        let mut query = self
            .db
            .prepare("SELECT DISTINCT key_id FROM evidence WHERE key_id IS NOT NULL")?;
        let ids = query.query_map([], |row| row.get(0))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    /// Puts everything that lies under another key under this one, some pieces at a time.
    pub(super) fn rewrap(
        &mut self,
        key_id: &[u8; 8],
        rewrap: impl Fn(&EvidencePointer, &Sealed) -> Result<Vec<u8>, VaultError>,
    ) -> Result<u64, VaultError> {
        const AT_ONCE: usize = 1000;
        let mut rewrapped = 0;
        loop {
            let transaction = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            let sql = "SELECT id, class, key_id, wrapped FROM evidence
                       WHERE key_id IS NOT NULL AND key_id <> ?1 LIMIT ?2";
            let others: Vec<(EvidencePointer, Sealed)> = transaction
                .prepare_cached(sql)?
                .query_map(
                    params![key_id, i64::try_from(AT_ONCE).unwrap_or(i64::MAX)],
                    |row| {
                        let class = Class::from_rank(row.get(1)?).unwrap_or(Class::Secret);
                        let sealed = Sealed {
                            key_id: row.get(2)?,
                            wrapped: row.get(3)?,
                            content: Vec::new(),
                        };
                        Ok((EvidencePointer::new(class, row.get(0)?), sealed))
                    },
                )?
                .collect::<Result<_, _>>()?;
            for (pointer, sealed) in &others {
                let wrapped = rewrap(pointer, sealed)?;
                let sql = "UPDATE evidence SET key_id = ?2, wrapped = ?3 WHERE id = ?1";
                transaction
                    .prepare_cached(sql)?
                    .execute(params![pointer.id(), key_id, wrapped])?;
            }
            transaction.commit()?;
            rewrapped += others.len() as u64;
            if others.len() < AT_ONCE {
                self.empty_journal()?;
                return Ok(rewrapped);
            }
        }
    }

    /// Moves everything into the main file, so that the journal keeps no copy of what was destroyed.
    fn empty_journal(&self) -> Result<(), VaultError> {
        let busy: bool = self
            .db
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy {
            Err(VaultError::JournalInUse)
        } else {
            Ok(())
        }
    }
}

fn insert_evidence(transaction: &Transaction<'_>, rows: &[Row]) -> Result<(), VaultError> {
    let sql = "INSERT INTO evidence VALUES (?1, ?2, ?3, ?4, NULL, ?5, ?6, ?7)";
    for row in rows {
        let (key_id, wrapped, content) = match &row.held {
            Held::Disk(sealed) => (Some(&sealed.key_id), Some(&sealed.wrapped), Some(&sealed.content)),
            Held::Memory | Held::Destroyed { .. } => (None, None, None),
        };
        transaction.prepare_cached(sql)?.execute(params![
            row.pointer.id(),
            row.pointer.class().rank(),
            row.session.as_str(),
            row.stored_ms,
            key_id,
            wrapped,
            content
        ])?;
    }
    Ok(())
}

fn lock(path: &Path) -> Result<File, VaultError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(name)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(VaultError::InUse),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}
