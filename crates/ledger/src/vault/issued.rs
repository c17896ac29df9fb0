//! What was given out in place of values: for each session its stubs and handles, each with the evidence behind it.
//!
//! A token and its evidence are written together or not at all, so that nobody is shown a stub that a crash could leave
//! without a value. The table holds names, classes and keyed digests; whatever says more about a value is evidence. Of a
//! secret that is held in memory not even the digest is written: its row only keeps the number from being used again.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use tidegate_core::{Class, Confined, Ident};

use super::{Keep, VaultError};
use crate::EvidencePointer;

/// The most tokens of one session.
pub const MAX_ISSUED: usize = 20_000;

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A text.
    Text,
    /// Any other JSON value.
    Json,
    /// A sealed result; its first piece describes it.
    Sealed,
    /// A part of a sealed result; its only piece says which.
    Selection,
}

impl TokenKind {
    const ALL: [Self; 4] = [Self::Text, Self::Json, Self::Sealed, Self::Selection];

    /// The number that rows keep.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Text => 0,
            Self::Json => 1,
            Self::Sealed => 2,
            Self::Selection => 3,
        }
    }

    /// The kind that a row's number says.
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// A token to give out: `{NAME_NUMBER}`.
#[derive(Debug)]
pub struct Issue {
    /// The part before the number.
    pub name: String,
    /// The number.
    pub number: u32,
    /// What it stands for.
    pub kind: TokenKind,
    /// The value's digest under a key that is the session's own, by which the value is known again.
    pub digest: Option<[u8; 32]>,
    /// The evidence behind it, in order, all of one class.
    pub pieces: Vec<Vec<u8>>,
    /// The class of what it stands for.
    pub class: Class,
    /// Where the evidence goes.
    pub keep: Keep,
}

impl Issue {
    /// The digest that rows keep. Of a secret that is held in memory not even that is written.
    #[must_use]
    pub fn kept_digest(&self) -> Option<[u8; 32]> {
        let is_written = self.class < Class::Secret || self.keep == Keep::OnDisk;
        self.digest.filter(|_| is_written)
    }
}

/// A token that was given out.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The part before the number.
    pub name: String,
    /// The number.
    pub number: u32,
    /// What it stands for.
    pub kind: TokenKind,
    /// The class of what it stands for.
    pub class: Class,
    /// The value's digest, where one is kept.
    pub digest: Option<[u8; 32]>,
    /// The evidence behind it, in order.
    pub pieces: Vec<EvidencePointer>,
    /// Whether the evidence was there when this was read.
    pub alive: bool,
    /// Whether it was put into a call already.
    pub resolved: bool,
}

pub(super) const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS issued (
    session TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL, kind INTEGER NOT NULL,
    class INTEGER NOT NULL, digest BLOB, pieces BLOB NOT NULL, resolved INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, name, number)) WITHOUT ROWID;
";

/// The issue as a deposit for each of its pieces.
pub(super) fn deposits(session: &Ident, issue: &mut Issue) -> Vec<super::Deposit> {
    let (class, keep) = (issue.class, issue.keep);
    let pieces = std::mem::take(&mut issue.pieces).into_iter();
    pieces
        .map(|content| super::Deposit {
            session: session.clone(),
            content: Confined::new(class, content),
            keep,
        })
        .collect()
}

/// Writes a token's row, or gives an existing one new evidence after the old was destroyed.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    session: &Ident,
    issue: &Issue,
    pieces: &[EvidencePointer],
) -> Result<(), VaultError> {
    let sql = "INSERT INTO issued (session, name, number, kind, class, digest, pieces)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
               ON CONFLICT (session, name, number) DO UPDATE SET pieces = excluded.pieces
               WHERE digest IS NOT NULL AND digest = excluded.digest";
    let changed = transaction.prepare_cached(sql)?.execute(params![
        session.as_str(),
        issue.name,
        issue.number,
        issue.kind.number(),
        issue.class.rank(),
        issue.kept_digest(),
        pieces
            .iter()
            .flat_map(|pointer| *pointer.id())
            .collect::<Vec<u8>>(),
    ])?;
    // A number that another value has already: nothing may be given out under it.
    if changed == 1 {
        Ok(())
    } else {
        Err(VaultError::TokenTaken)
    }
}

/// Every token of a session, in the order of names and numbers.
pub(super) fn of_session(db: &Connection, session: &Ident) -> Result<Vec<Issued>, VaultError> {
    let sql = "SELECT name, number, kind, class, digest, pieces, resolved FROM issued
               WHERE session = ?1 ORDER BY name, number";
    let mut query = db.prepare_cached(sql)?;
    let mut rows = query.query([session.as_str()])?;
    let mut issued = Vec::new();
    while let Some(row) = rows.next()? {
        let class = Class::from_rank(row.get(3)?).ok_or(VaultError::Unreadable)?;
        let pieces: Vec<u8> = row.get(5)?;
        issued.push(Issued {
            name: row.get(0)?,
            number: row.get(1)?,
            kind: TokenKind::of_number(row.get(2)?).ok_or(VaultError::Unreadable)?,
            class,
            digest: row.get(4)?,
            pieces: pointers(class, &pieces)?,
            alive: false,
            resolved: row.get(6)?,
        });
    }
    for token in &mut issued {
        token.alive = is_there(db, &token.pieces)?;
    }
    Ok(issued)
}

/// The pieces of a token from their ids side by side.
pub(super) fn pointers(class: Class, ids: &[u8]) -> Result<Vec<EvidencePointer>, VaultError> {
    let (ids, rest) = ids.as_chunks::<16>();
    if !rest.is_empty() {
        return Err(VaultError::Unreadable);
    }
    Ok(ids.iter().map(|id| EvidencePointer::new(class, *id)).collect())
}

fn is_there(db: &Connection, pieces: &[EvidencePointer]) -> Result<bool, VaultError> {
    let sql = "SELECT 1 FROM evidence WHERE id = ?1 AND class = ?2 AND destroyed_ms IS NULL";
    let mut query = db.prepare_cached(sql)?;
    for piece in pieces {
        let found = query.query_row(params![piece.id(), piece.class().rank()], |_| Ok(()));
        if found.optional()?.is_none() {
            return Ok(false);
        }
    }
    Ok(!pieces.is_empty())
}
