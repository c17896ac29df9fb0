//! Destructions that are owed to the record: what is destroyed is remembered with the tombstone until a record says so, so that
//! neither a crash nor a record that cannot be written leaves one untold.

use rusqlite::{Connection, Transaction, params};
use tidegate_core::{Class, Ident};

use super::VaultError;
use super::holders::Holder;
use crate::event::{DestructionCause, EvidenceDestroyed};
use crate::{Chain, EvidencePointer, Name};

pub(super) const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS owed (
    id BLOB PRIMARY KEY, cause INTEGER NOT NULL, asker TEXT, holder TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS owed_by ON owed (holder);
";

/// Why evidence is destroyed, as its record will say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// What for.
    pub cause: DestructionCause,
    /// Who asked for it, when somebody did.
    pub by: Option<Name>,
}

/// A destruction that no record says yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owed {
    /// What was destroyed.
    pub pointer: EvidencePointer,
    /// The session it belonged to.
    pub session: Ident,
    /// Why.
    pub why: Why,
}

impl Why {
    /// Its class's retention ran out.
    pub const RETENTION: Self = Self::of(DestructionCause::Retention);
    /// It was held for the session's life only.
    pub const SESSION_END: Self = Self::of(DestructionCause::SessionEnd);

    const fn of(cause: DestructionCause) -> Self {
        Self { cause, by: None }
    }

    /// Somebody asked.
    #[must_use]
    pub const fn request(by: Name) -> Self {
        Self {
            cause: DestructionCause::Request,
            by: Some(by),
        }
    }

    /// The number that rows keep for the cause.
    #[must_use]
    pub const fn number(&self) -> u8 {
        match self.cause {
            DestructionCause::Retention => 0,
            DestructionCause::Request => 1,
            DestructionCause::SessionEnd => 2,
        }
    }

    /// What a row says.
    #[must_use]
    pub fn of_row(number: u8, by: Option<&str>) -> Option<Self> {
        let cause = match number {
            0 => DestructionCause::Retention,
            1 => DestructionCause::Request,
            2 => DestructionCause::SessionEnd,
            _ => return None,
        };
        let by = by.map(Name::or_unnameable);
        Some(Self { cause, by })
    }
}

impl Owed {
    /// The chain that its record belongs to.
    #[must_use]
    pub fn chain(&self) -> Chain {
        match self.why.cause {
            DestructionCause::SessionEnd => Chain::Session(self.session.clone()),
            DestructionCause::Retention | DestructionCause::Request => Chain::Gateway,
        }
    }

    /// What its record says.
    #[must_use]
    pub fn event(&self) -> EvidenceDestroyed {
        EvidenceDestroyed {
            evidence_pointer: self.pointer,
            cause: self.why.cause,
            by: self.why.by.clone(),
        }
    }
}

pub(super) fn owe(
    transaction: &Transaction<'_>,
    id: &[u8; 16],
    why: &Why,
    holder: &Holder,
) -> Result<(), VaultError> {
    let sql = "INSERT INTO owed (id, cause, asker, holder) VALUES (?1, ?2, ?3, ?4)";
    let values = params![id, why.number(), why.by.as_ref().map(Name::as_str), holder.name];
    transaction.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// Leaves tombstones for what is held in memory for a session, wherever that is, and owes them to the record.
pub(super) fn end_session(
    transaction: &Transaction<'_>,
    session: &Ident,
    at_ms: i64,
    holder: &Holder,
) -> Result<(), VaultError> {
    let of_session = "destroyed_ms IS NULL AND content IS NULL AND session = ?1";
    let sql =
        format!("INSERT INTO owed (id, cause, holder) SELECT id, ?2, ?3 FROM evidence WHERE {of_session}");
    let values = params![session.as_str(), Why::SESSION_END.number(), holder.name];
    transaction.execute(&sql, values)?;
    let sql = format!("UPDATE evidence SET destroyed_ms = ?2 WHERE {of_session}");
    transaction.execute(&sql, params![session.as_str(), at_ms])?;
    Ok(())
}

/// What this process owes, and those that are gone.
pub(super) fn of_holder(db: &Connection, holder: &Holder, most: usize) -> Result<Vec<Owed>, VaultError> {
    let mut query = db.prepare_cached("SELECT DISTINCT holder FROM owed")?;
    let names = query.query_map([], |row| row.get(0))?;
    let names: Vec<String> = names.collect::<Result<_, _>>()?;
    let mut owed = Vec::new();
    for name in names {
        if name == holder.name || !holder.is_alive(&name)? {
            owed.extend(under_name(db, &name, most - owed.len())?);
        }
    }
    Ok(owed)
}

fn under_name(db: &Connection, name: &str, most: usize) -> Result<Vec<Owed>, VaultError> {
    let sql = "SELECT evidence.id, evidence.class, evidence.session, owed.cause, owed.asker
               FROM owed JOIN evidence ON evidence.id = owed.id WHERE owed.holder = ?1 LIMIT ?2";
    let mut query = db.prepare_cached(sql)?;
    let mut rows = query.query(params![name, i64::try_from(most).unwrap_or(i64::MAX)])?;
    let mut owed = Vec::new();
    while let Some(row) = rows.next()? {
        let class = Class::from_rank(row.get(1)?).ok_or(VaultError::Unreadable)?;
        let session: String = row.get(2)?;
        let by: Option<String> = row.get(4)?;
        owed.push(Owed {
            pointer: EvidencePointer::new(class, row.get(0)?),
            session: Ident::parse(&session).map_err(|_| VaultError::Unreadable)?,
            why: Why::of_row(row.get(3)?, by.as_deref()).ok_or(VaultError::Unreadable)?,
        });
    }
    Ok(owed)
}

pub(super) fn settle(transaction: &Transaction<'_>, pointers: &[EvidencePointer]) -> Result<(), VaultError> {
    let mut settled = transaction.prepare_cached("DELETE FROM owed WHERE id = ?1")?;
    for pointer in pointers {
        settled.execute(params![pointer.id()])?;
    }
    Ok(())
}
