//! The vault's rows in one SQLite file, for the processes of one machine: a gateway that serves and those on the standard streams of
//! clients. Each knows what it holds in memory, and rows say whose memory that is.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use tidegate_core::{Class, Ident};

use super::VaultError;
use super::contract::{COMMON, Held, NewTokens, Rewrap, Row, Sealed, VaultRows};
use super::holders::Holder;
use super::issued::{self, Issued};
use super::owed::{self, Owed, Why};
use crate::EvidencePointer;
use crate::record::to_ms;

pub(super) struct FileRows {
    db: Mutex<Connection>,
    /// Given up after the database.
    holder: Holder,
}

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS evidence (
    id BLOB PRIMARY KEY, class INTEGER NOT NULL, session TEXT NOT NULL, stored_ms INTEGER NOT NULL,
    destroyed_ms INTEGER, key_id BLOB, wrapped BLOB, content BLOB) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS alive ON evidence (class, stored_ms) WHERE destroyed_ms IS NULL;
CREATE INDEX IF NOT EXISTS in_memory ON evidence (session) WHERE destroyed_ms IS NULL AND content IS NULL;
CREATE INDEX IF NOT EXISTS by_key ON evidence (key_id) WHERE key_id IS NOT NULL;
CREATE TABLE IF NOT EXISTS holding (id BLOB PRIMARY KEY, holder TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vault (
    one INTEGER PRIMARY KEY CHECK (one = 1), key_id BLOB NOT NULL, wrapped BLOB NOT NULL, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS issuing (session TEXT PRIMARY KEY, generation INTEGER NOT NULL) WITHOUT ROWID;
";

/// Pieces that are put under a new key in one transaction.
const AT_ONCE: usize = 1000;

impl FileRows {
    pub(super) fn open(path: &Path) -> Result<Self, VaultError> {
        let holder = Holder::enter(path)?;
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
        db.execute_batch(&format!(
            "BEGIN IMMEDIATE; {SCHEMA} {} {} COMMIT;",
            issued::SCHEMA,
            owed::SCHEMA
        ))?;
        Ok(Self {
            db: Mutex::new(db),
            holder,
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
        let sql =
            "SELECT key_id FROM vault UNION SELECT DISTINCT key_id FROM evidence WHERE key_id IS NOT NULL";
        let mut query = db.prepare(sql)?;
        let ids = query.query_map([], |row| row.get(0))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    fn common(&self, fresh: &Sealed) -> Result<Sealed, VaultError> {
        let mut db = self.db();
        let transaction = begin(&mut db)?;
        transaction.execute(
            "INSERT INTO vault (one, key_id, wrapped, content) VALUES (1, ?1, ?2, ?3) ON CONFLICT DO NOTHING",
            params![fresh.key_id, fresh.wrapped, fresh.content],
        )?;
        let common = common(&transaction)?;
        transaction.commit()?;
        Ok(common)
    }

    fn put(&self, key_id: &[u8; 8], rows: &[Row], tokens: Option<NewTokens<'_>>) -> Result<(), VaultError> {
        let mut db = self.db();
        let transaction = begin(&mut db)?;
        if common(&transaction)?.key_id != *key_id {
            return Err(VaultError::KeyChanged);
        }
        insert_evidence(&transaction, rows, &self.holder.name)?;
        if let Some((session, issues)) = tokens {
            for (issue, pieces) in issues {
                issued::insert(&transaction, session, issue, pieces)?;
            }
            count_change(&transaction, session)?;
        }
        Ok(transaction.commit()?)
    }

    fn find(&self, pointer: &EvidencePointer) -> Result<Option<Held>, VaultError> {
        match self.look_up(pointer)? {
            // Whoever held it may be gone since this process looked last.
            Some(Held::Memory) => {
                self.bury_if_its_holder_is_gone(pointer)?;
                self.look_up(pointer)
            }
            other => Ok(other),
        }
    }

    fn bury(
        &self,
        pointers: &[EvidencePointer],
        at_ms: i64,
        why: Option<&Why>,
    ) -> Result<Vec<EvidencePointer>, VaultError> {
        let mut db = self.db();
        let transaction = begin(&mut db)?;
        let sql = "UPDATE evidence SET destroyed_ms = ?2, key_id = NULL, wrapped = NULL, content = NULL
                   WHERE id = ?1 AND class = ?3 AND destroyed_ms IS NULL";
        let mut buried = Vec::new();
        for pointer in pointers {
            let values = params![pointer.id(), at_ms, pointer.class().rank()];
            if transaction.prepare_cached(sql)?.execute(values)? > 0 {
                buried.push(*pointer);
                why.map_or(Ok(()), |why| {
                    owed::owe(&transaction, pointer.id(), why, &self.holder)
                })?;
            }
        }
        transaction.commit()?;
        empty_journal(&db)?;
        Ok(buried)
    }

    fn owed(&self, most: usize, _: i64) -> Result<Vec<Owed>, VaultError> {
        owed::of_holder(&self.db(), &self.holder, most)
    }

    fn settle(&self, pointers: &[EvidencePointer]) -> Result<(), VaultError> {
        let mut db = self.db();
        let transaction = begin(&mut db)?;
        owed::settle(&transaction, pointers)?;
        Ok(transaction.commit()?)
    }

    fn bury_memory(&self, session: Option<&Ident>, at_ms: i64) -> Result<(), VaultError> {
        let mut db = self.db();
        let transaction = begin(&mut db)?;
        match session {
            Some(session) => owed::end_session(&transaction, session, at_ms, &self.holder)?,
            None => self.bury_those_of_the_dead(&transaction, at_ms)?,
        }
        Ok(transaction.commit()?)
    }

    fn buried_elsewhere(&self, pointers: &[EvidencePointer]) -> Result<Vec<EvidencePointer>, VaultError> {
        let db = self.db();
        let sql = "SELECT 1 FROM evidence WHERE id = ?1 AND class = ?2 AND destroyed_ms IS NOT NULL";
        let mut query = db.prepare_cached(sql)?;
        let mut buried = Vec::new();
        for pointer in pointers {
            if query.exists(params![pointer.id(), pointer.class().rank()])? {
                buried.push(*pointer);
            }
        }
        Ok(buried)
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

    fn generation(&self, session: &Ident) -> Result<u64, VaultError> {
        let db = self.db();
        let mut query = db.prepare_cached("SELECT generation FROM issuing WHERE session = ?1")?;
        let generation = query.query_row([session.as_str()], |row| row.get::<_, i64>(0));
        Ok(generation.optional()?.unwrap_or_default().unsigned_abs())
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
        count_change(&transaction, session)?;
        Ok(transaction.commit()?)
    }

    fn withdraw(&self, session: &Ident) -> Result<(), VaultError> {
        let mut db = self.db();
        let transaction = begin(&mut db)?;
        transaction.execute(
            "UPDATE issued SET digest = NULL WHERE session = ?1",
            [session.as_str()],
        )?;
        count_change(&transaction, session)?;
        Ok(transaction.commit()?)
    }

    fn rewrap(&self, key_id: &[u8; 8], rewrap: &Rewrap<'_>) -> Result<u64, VaultError> {
        // First the key in force: from here on nothing more is put under the old one.
        let mut db = self.db();
        let transaction = begin(&mut db)?;
        let sealed = common(&transaction)?;
        if sealed.key_id != *key_id {
            let wrapped = rewrap(&COMMON, &sealed)?;
            transaction.execute(
                "UPDATE vault SET key_id = ?1, wrapped = ?2",
                params![key_id, wrapped],
            )?;
        }
        transaction.commit()?;
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

impl FileRows {
    fn look_up(&self, pointer: &EvidencePointer) -> Result<Option<Held>, VaultError> {
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

    fn bury_if_its_holder_is_gone(&self, pointer: &EvidencePointer) -> Result<(), VaultError> {
        let db = self.db();
        let mut query = db.prepare_cached("SELECT holder FROM holding WHERE id = ?1")?;
        let holder: Option<String> = query.query_row([pointer.id()], |row| row.get(0)).optional()?;
        let is_held = holder.map_or(Ok(false), |holder| self.holder.is_alive(&holder))?;
        if !is_held {
            db.prepare_cached(
                "UPDATE evidence SET destroyed_ms = ?2 WHERE id = ?1 AND destroyed_ms IS NULL",
            )?
            .execute(params![pointer.id(), to_ms(SystemTime::now())])?;
        }
        Ok(())
    }

    /// Leaves tombstones for what was in the memory of processes that are gone.
    fn bury_those_of_the_dead(&self, transaction: &Transaction<'_>, at_ms: i64) -> Result<(), VaultError> {
        let mut alive = Vec::new();
        for name in self.holder.others()? {
            if self.holder.is_alive(&name)? {
                alive.push(name);
            } else {
                self.holder.sweep(&name);
            }
        }
        transaction.execute(
            "DELETE FROM holding WHERE id IN (SELECT id FROM evidence WHERE destroyed_ms IS NOT NULL)",
            [],
        )?;
        let mut query = transaction.prepare(
            "SELECT evidence.id, holding.holder FROM evidence LEFT JOIN holding ON holding.id = evidence.id
             WHERE evidence.destroyed_ms IS NULL AND evidence.content IS NULL",
        )?;
        let held = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let held: Vec<(Vec<u8>, Option<String>)> = held.collect::<Result<_, _>>()?;
        for (id, holder) in held {
            if holder.is_none_or(|holder| !alive.contains(&holder)) {
                transaction
                    .prepare_cached("UPDATE evidence SET destroyed_ms = ?2 WHERE id = ?1")?
                    .execute(params![id, at_ms])?;
            }
        }
        Ok(())
    }
}

fn common(transaction: &Transaction<'_>) -> Result<Sealed, VaultError> {
    let sql = "SELECT key_id, wrapped, content FROM vault";
    Ok(transaction.prepare_cached(sql)?.query_row([], |row| {
        Ok(Sealed {
            key_id: row.get(0)?,
            wrapped: row.get(1)?,
            content: row.get(2)?,
        })
    })?)
}

/// Lets other processes know that what they remember of a session's tokens is old.
fn count_change(transaction: &Transaction<'_>, session: &Ident) -> Result<(), VaultError> {
    let sql = "INSERT INTO issuing (session, generation) VALUES (?1, 1)
               ON CONFLICT (session) DO UPDATE SET generation = generation + 1";
    transaction.prepare_cached(sql)?.execute([session.as_str()])?;
    Ok(())
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

fn insert_evidence(transaction: &Transaction<'_>, rows: &[Row], holder: &str) -> Result<(), VaultError> {
    let sql = "INSERT INTO evidence (id, class, session, stored_ms, key_id, wrapped, content) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
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
        if content.is_none() {
            transaction
                .prepare_cached("INSERT INTO holding (id, holder) VALUES (?1, ?2)")?
                .execute(params![row.pointer.id(), holder])?;
        }
    }
    Ok(())
}

/// Keeps others from opening the vault until this one is open: two first starts at once would each make a key.
pub(super) fn alone(path: &Path) -> Result<File, VaultError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(name)?;
    file.lock()?;
    Ok(file)
}
