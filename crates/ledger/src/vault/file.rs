//! The vault's rows in one SQLite file, for one process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use tidegate_core::{Class, Ident};

use super::VaultError;
use super::contract::{Held, NewTokens, Rewrap, Row, Sealed, VaultRows};
use super::issued::{self, Issued};
use crate::EvidencePointer;

pub(super) struct FileRows {
    db: Mutex<Connection>,
    /// Two vaults on one file would each keep the other's keys and secrets wrong. Given up after the database.
    _lock: File,
}

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS evidence (
    id BLOB PRIMARY KEY, class INTEGER NOT NULL, session TEXT NOT NULL, stored_ms INTEGER NOT NULL,
    destroyed_ms INTEGER, key_id BLOB, wrapped BLOB, content BLOB) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS alive ON evidence (class, stored_ms) WHERE destroyed_ms IS NULL;
CREATE INDEX IF NOT EXISTS in_memory ON evidence (session) WHERE destroyed_ms IS NULL AND content IS NULL;
CREATE INDEX IF NOT EXISTS by_key ON evidence (key_id) WHERE key_id IS NOT NULL;
";

/// Pieces that are put under a new key in one transaction.
const AT_ONCE: usize = 1000;

impl FileRows {
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
        Ok(Self {
            db: Mutex::new(db),
            _lock: lock,
        })
    }

    fn db(&self) -> MutexGuard<'_, Connection> {
        // A transaction that panicked is rolled back when it is dropped.
        self.db.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VaultRows for FileRows {
    fn key_ids(&self) -> Result<Vec<[u8; 8]>, VaultError> {
        let db = self.db();
        let mut query = db.prepare("SELECT DISTINCT key_id FROM evidence WHERE key_id IS NOT NULL")?;
        let ids = query.query_map([], |row| row.get(0))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    /// The lock keeps everyone else away.
    fn common(&self, _fresh: &Sealed) -> Result<Option<Sealed>, VaultError> {
        Ok(None)
    }

    fn put(&self, _key_id: &[u8; 8], rows: &[Row], tokens: Option<NewTokens<'_>>) -> Result<(), VaultError> {
        let mut db = self.db();
        let transaction = begin(&mut db)?;
        insert_evidence(&transaction, rows)?;
        if let Some((session, issues)) = tokens {
            for (issue, pieces) in issues {
                issued::insert(&transaction, session, issue, pieces)?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn find(&self, pointer: &EvidencePointer) -> Result<Option<Held>, VaultError> {
        let sql = "SELECT destroyed_ms, key_id, wrapped, content FROM evidence WHERE id = ?1 AND class = ?2";
        let db = self.db();
        let mut query = db.prepare_cached(sql)?;
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

    fn bury(&self, pointers: &[EvidencePointer], at_ms: i64) -> Result<Vec<EvidencePointer>, VaultError> {
        let mut db = self.db();
        let transaction = begin(&mut db)?;
        let sql = "UPDATE evidence SET destroyed_ms = ?2, key_id = NULL, wrapped = NULL, content = NULL
                   WHERE id = ?1 AND class = ?3 AND destroyed_ms IS NULL";
        let mut buried = Vec::new();
        for pointer in pointers {
            let values = params![pointer.id(), at_ms, pointer.class().rank()];
            if transaction.prepare_cached(sql)?.execute(values)? > 0 {
                buried.push(*pointer);
            }
        }
        transaction.commit()?;
        empty_journal(&db)?;
        Ok(buried)
    }

    fn bury_memory(&self, session: Option<&Ident>, at_ms: i64) -> Result<(), VaultError> {
        self.db().execute(
            "UPDATE evidence SET destroyed_ms = ?2
             WHERE destroyed_ms IS NULL AND content IS NULL AND (?1 IS NULL OR session = ?1)",
            params![session.map(Ident::as_str), at_ms],
        )?;
        Ok(())
    }

    /// There is nobody else.
    fn buried_elsewhere(&self, _pointers: &[EvidencePointer]) -> Result<Vec<EvidencePointer>, VaultError> {
        Ok(Vec::new())
    }

    fn stored_before(&self, class: Class, stored_ms: i64) -> Result<Vec<EvidencePointer>, VaultError> {
        let sql = "SELECT id FROM evidence WHERE class = ?1 AND stored_ms < ?2 AND destroyed_ms IS NULL";
        let db = self.db();
        let mut query = db.prepare_cached(sql)?;
        let found = query.query_map(params![class.rank(), stored_ms], |row| {
            Ok(EvidencePointer::new(class, row.get(0)?))
        })?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    fn issued(&self, session: &Ident) -> Result<Vec<Issued>, VaultError> {
        issued::of_session(&self.db(), session)
    }

    /// What this process knows is all there is.
    fn generation(&self, _session: &Ident) -> Result<u64, VaultError> {
        Ok(0)
    }

    fn mark_resolved(&self, session: &Ident, tokens: &[(String, u32)]) -> Result<(), VaultError> {
        let mut db = self.db();
        let transaction = begin(&mut db)?;
        let sql = "UPDATE issued SET resolved = 1 WHERE session = ?1 AND name = ?2 AND number = ?3";
        for (name, number) in tokens {
            transaction
                .prepare_cached(sql)?
                .execute(params![session.as_str(), name, number])?;
        }
        Ok(transaction.commit()?)
    }

    fn withdraw(&self, session: &Ident) -> Result<(), VaultError> {
        self.db().execute(
            "UPDATE issued SET digest = NULL WHERE session = ?1",
            [session.as_str()],
        )?;
        Ok(())
    }

    fn rewrap(&self, key_id: &[u8; 8], rewrap: &Rewrap<'_>) -> Result<u64, VaultError> {
        let mut db = self.db();
        let mut rewrapped = 0;
        loop {
            let transaction = begin(&mut db)?;
            let others = under_other_keys(&transaction, key_id)?;
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
                empty_journal(&db)?;
                return Ok(rewrapped);
            }
        }
    }
}

fn begin(db: &mut Connection) -> Result<Transaction<'_>, VaultError> {
    Ok(db.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

/// Some pieces that lie under another key than this one, without their content.
fn under_other_keys(
    transaction: &Transaction<'_>,
    key_id: &[u8; 8],
) -> Result<Vec<(EvidencePointer, Sealed)>, VaultError> {
    let sql = "SELECT id, class, key_id, wrapped FROM evidence
               WHERE key_id IS NOT NULL AND key_id <> ?1 LIMIT ?2";
    let mut query = transaction.prepare_cached(sql)?;
    let most = i64::try_from(AT_ONCE).unwrap_or(i64::MAX);
    let others = query.query_map(params![key_id, most], |row| {
        let class = Class::from_rank(row.get(1)?).unwrap_or(Class::Secret);
        let sealed = Sealed {
            key_id: row.get(2)?,
            wrapped: row.get(3)?,
            content: Vec::new(),
        };
        Ok((EvidencePointer::new(class, row.get(0)?), sealed))
    })?;
    Ok(others.collect::<Result<_, _>>()?)
}

/// Moves everything into the main file, so that the journal keeps no copy of what was destroyed.
fn empty_journal(db: &Connection) -> Result<(), VaultError> {
    let busy: bool = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy {
        Err(VaultError::JournalInUse)
    } else {
        Ok(())
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
