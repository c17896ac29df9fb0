//! Rows to sessions and back.
//!
//! A row that does not read as what was written is an error and never a guess: the label of the row must be the one
//! that its rises and datasets add up to, and the rises must be a chain. So a damaged row denies, it does not clear.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};
use tidegate_core::{Class, ContextState, Dataset, Halt, Ident, Kind, Kinds, Label, Moment, Name, Rise};

use super::failure::failed;
use crate::{Reset, Resumption, Session, StoreError, TokenDigest, TokenRecord};

/// A value and where its row stands.
pub(super) struct Stored<T> {
    pub(super) value: T,
    /// How many times the session was reset; always 0 for a token.
    pub(super) epoch: i64,
    /// The write that last changed it.
    pub(super) revision: i64,
}

const SESSION: &str =
    "SELECT id, user, agent, opened_at, label, kinds, halted_by, halted_at, epoch, revision FROM session";

/// The session of that id. The caller holds a transaction, so that the three reads are of one moment.
pub(super) fn session(conn: &Connection, id: &Ident) -> Result<Option<Stored<Session>>, StoreError> {
    let mut statement = conn
        .prepare_cached(&format!("{SESSION} WHERE id = ?1"))
        .map_err(failed)?;
    let head = statement
        .query_row([id.as_str()], |row| Ok(session_head(row)))
        .optional()
        .map_err(failed)?;
    head.map(|head| head?.complete(conn)).transpose()
}

/// Sessions in the order of their ids. The caller holds a transaction.
pub(super) fn sessions_after(
    conn: &Connection,
    after: &str,
    limit: i64,
) -> Result<Vec<Arc<Session>>, StoreError> {
    let mut statement = conn
        .prepare_cached(&format!("{SESSION} WHERE id > ?1 ORDER BY id LIMIT ?2"))
        .map_err(failed)?;
    let heads = statement.query_map(params![after, limit], |row| Ok(session_head(row)));
    heads
        .map_err(failed)?
        .map(|head| Ok(Arc::new(head.map_err(failed)??.complete(conn)?.value)))
        .collect()
}

pub(super) fn count_of_sessions(conn: &Connection) -> Result<u64, StoreError> {
    let mut statement = conn
        .prepare_cached("SELECT count(*) FROM session")
        .map_err(failed)?;
    let count: i64 = statement.query_row([], |row| row.get(0)).map_err(failed)?;
    Ok(count.unsigned_abs())
}

/// What the table `session` says, before its rises and datasets are read.
struct Head {
    id: Ident,
    user: Ident,
    agent: Ident,
    opened_at: Moment,
    label: Class,
    kinds: Kinds,
    halt: Option<Halt>,
    epoch: i64,
    revision: i64,
}

impl Head {
    fn complete(self, conn: &Connection) -> Result<Stored<Session>, StoreError> {
        let rises = rises(conn, &self.id, self.epoch)?;
        let datasets = datasets(conn, &self.id, self.epoch)?;
        let context = ContextState::restored(self.kinds, rises, datasets, self.halt);
        // INVARIANT (ratchet monotone): the label was written three times over; if one copy is lower, nobody may use it.
        let top = context
            .rises()
            .last()
            .map_or(Label::CLEAN.class(), |rise| rise.to);
        if context.label().class() != self.label || top != self.label {
            return Err(StoreError::Corrupt {
                what: "a session's label",
            });
        }
        Ok(Stored {
            value: Session {
                id: self.id,
                user: self.user,
                agent: self.agent,
                opened_at: self.opened_at,
                context,
            },
            epoch: self.epoch,
            revision: self.revision,
        })
    }
}

fn session_head(row: &Row<'_>) -> Result<Head, StoreError> {
    let halted_by: Option<Name> = optional(row, 6, |text| Name::parse(text).ok())?;
    let halted_at: Option<i64> = row.get(7).map_err(failed)?;
    let halt = match (halted_by, halted_at) {
        (None, None) => None,
        (Some(source), Some(at)) => Some(Halt {
            source,
            at: Moment(at),
        }),
        (None, Some(_)) | (Some(_), None) => {
            return Err(StoreError::Corrupt {
                what: "a session's halt",
            });
        }
    };
    Ok(Head {
        id: text(row, 0, |text| Ident::parse(text).ok())?,
        user: text(row, 1, |text| Ident::parse(text).ok())?,
        agent: text(row, 2, |text| Ident::parse(text).ok())?,
        opened_at: Moment(row.get(3).map_err(failed)?),
        label: text(row, 4, class_name)?,
        kinds: text(row, 5, kinds)?,
        halt,
        epoch: row.get(8).map_err(failed)?,
        revision: row.get(9).map_err(failed)?,
    })
}

fn rises(conn: &Connection, id: &Ident, epoch: i64) -> Result<Vec<Rise>, StoreError> {
    let mut statement = conn
        .prepare_cached("SELECT from_class, to_class, source, at FROM rise WHERE session = ?1 AND epoch = ?2 ORDER BY step")
        .map_err(failed)?;
    let mut rows = statement.query(params![id.as_str(), epoch]).map_err(failed)?;
    let mut rises = Vec::new();
    let mut reached = Label::CLEAN.class();
    while let Some(row) = rows.next().map_err(failed)? {
        let rise = Rise {
            from: text(row, 0, class_name)?,
            to: text(row, 1, class_name)?,
            source: text(row, 2, |text| Name::parse(text).ok())?,
            at: Moment(row.get(3).map_err(failed)?),
        };
        if rise.from != reached || rise.to <= rise.from {
            return Err(StoreError::Corrupt {
                what: "a session's rises",
            });
        }
        reached = rise.to;
        rises.push(rise);
    }
    rises.shrink_to_fit();
    Ok(rises)
}

fn datasets(conn: &Connection, id: &Ident, epoch: i64) -> Result<Vec<Dataset>, StoreError> {
    let mut statement = conn
        .prepare_cached("SELECT name, class FROM dataset WHERE session = ?1 AND epoch = ?2 ORDER BY place")
        .map_err(failed)?;
    let mut rows = statement.query(params![id.as_str(), epoch]).map_err(failed)?;
    let mut datasets = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        datasets.push(Dataset {
            name: text(row, 0, |text| Name::parse(text).ok())?,
            class: text(row, 1, class_name)?,
        });
    }
    datasets.shrink_to_fit();
    Ok(datasets)
}

pub(super) fn insert_session(conn: &Connection, session: &Session, revision: i64) -> Result<(), StoreError> {
    conn.prepare_cached(
        "INSERT INTO session (id, user, agent, opened_at, label, kinds, epoch, revision) VALUES (?1, ?2, ?3, ?4, ?5, '', 0, ?6)",
    )
    .and_then(|mut statement| {
        statement.execute(params![
            session.id.as_str(),
            session.user.as_str(),
            session.agent.as_str(),
            session.opened_at.0,
            Label::CLEAN.class().as_str(),
            revision
        ])
    })
    .map_err(failed)?;
    Ok(())
}

/// Writes what `after` has and `before` had not.
pub(super) fn update_session(
    conn: &Connection,
    before: &Stored<Session>,
    after: &ContextState,
    revision: i64,
) -> Result<(), StoreError> {
    let id = before.value.id.as_str();
    write_head(conn, id, after, revision)?;
    let known = &before.value.context;
    for (step, rise) in after.rises().iter().enumerate().skip(known.rises().len()) {
        conn.prepare_cached(
            "INSERT INTO rise (session, epoch, step, from_class, to_class, source, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )
        .and_then(|mut statement| {
            let (from, to) = (rise.from.as_str(), rise.to.as_str());
            statement.execute(params![id, before.epoch, place(step), from, to, rise.source.as_str(), rise.at.0])
        })
        .map_err(failed)?;
    }
    for (at, dataset) in after.datasets().iter().enumerate() {
        if known.datasets().get(at) == Some(dataset) {
            continue;
        }
        conn.prepare_cached(
            "INSERT INTO dataset (session, epoch, place, name, class) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (session, epoch, place) DO UPDATE SET class = excluded.class",
        )
        .and_then(|mut statement| {
            let (name, class) = (dataset.name.as_str(), dataset.class.as_str());
            statement.execute(params![id, before.epoch, place(at), name, class])
        })
        .map_err(failed)?;
    }
    Ok(())
}

/// Starts the context anew: the old rises and datasets stay under their epoch, as history.
pub(super) fn reset_session(
    conn: &Connection,
    before: &Stored<Session>,
    reset: &Reset,
    revision: i64,
) -> Result<(), StoreError> {
    let id = before.value.id.as_str();
    let epoch = before.epoch + 1;
    conn.prepare_cached(
        "INSERT INTO reset (session, epoch, decided_by, reason, at) VALUES (?1, ?2, ?3, ?4, ?5)",
    )
    .and_then(|mut statement| {
        statement.execute(params![id, epoch, reset.by.as_str(), reset.reason, reset.at.0])
    })
    .map_err(failed)?;
    conn.prepare_cached(
        "UPDATE session SET label = ?2, kinds = '', halted_by = NULL, halted_at = NULL, epoch = ?3, revision = ?4
         WHERE id = ?1",
    )
    .and_then(|mut statement| {
        statement.execute(params![id, Label::CLEAN.class().as_str(), epoch, revision])
    })
    .map_err(failed)?;
    Ok(())
}

/// Who lets a halted run go on. Without it the halt cannot be lifted.
pub(super) fn insert_resumption(
    conn: &Connection,
    before: &Stored<Session>,
    halt: &Halt,
    resumption: &Resumption,
) -> Result<(), StoreError> {
    conn.prepare_cached(
        "INSERT INTO resumption (session, epoch, halted_by, halted_at, decided_by, reason, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
    )
    .and_then(|mut statement| {
        statement.execute(params![
            before.value.id.as_str(),
            before.epoch,
            halt.source.as_str(),
            halt.at.0,
            resumption.by.as_str(),
            resumption.reason,
            resumption.at.0
        ])
    })
    .map_err(failed)?;
    Ok(())
}

/// Writes a session's row in its epoch: one that names no epoch does not ask for the reset that would explain another.
fn write_head(conn: &Connection, id: &str, state: &ContextState, revision: i64) -> Result<(), StoreError> {
    let kinds: Vec<_> = state.kinds().iter().map(Kind::as_str).collect();
    conn.prepare_cached(
        "UPDATE session SET label = ?2, kinds = ?3, halted_by = ?4, halted_at = ?5, revision = ?6 WHERE id = ?1",
    )
    .and_then(|mut statement| {
        let halt = state.halted();
        let (halted_by, halted_at) = (halt.map(|halt| halt.source.as_str()), halt.map(|halt| halt.at.0));
        let label = state.label().class().as_str();
        statement.execute(params![id, label, kinds.join(","), halted_by, halted_at, revision])
    })
    .map_err(failed)?;
    Ok(())
}

pub(super) fn resets(conn: &Connection, id: &Ident) -> Result<Vec<Reset>, StoreError> {
    let mut statement = conn
        .prepare_cached("SELECT decided_by, reason, at FROM reset WHERE session = ?1 ORDER BY epoch")
        .map_err(failed)?;
    let mut rows = statement.query([id.as_str()]).map_err(failed)?;
    let mut resets = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        resets.push(Reset {
            by: text(row, 0, |text| Ident::parse(text).ok())?,
            reason: row.get(1).map_err(failed)?,
            at: Moment(row.get(2).map_err(failed)?),
        });
    }
    Ok(resets)
}

const TOKEN: &str = "SELECT id, digest, role, principal, agent, issued_at, revoked_at, revision FROM token";

pub(super) fn token(
    conn: &Connection,
    digest: &TokenDigest,
) -> Result<Option<Stored<TokenRecord>>, StoreError> {
    one_token(
        conn,
        &format!("{TOKEN} WHERE digest = ?1"),
        params![digest.0.as_slice()],
    )
}

pub(super) fn token_by_id(conn: &Connection, id: &Ident) -> Result<Option<Stored<TokenRecord>>, StoreError> {
    one_token(conn, &format!("{TOKEN} WHERE id = ?1"), params![id.as_str()])
}

fn one_token(
    conn: &Connection,
    sql: &str,
    key: impl rusqlite::Params,
) -> Result<Option<Stored<TokenRecord>>, StoreError> {
    let mut statement = conn.prepare_cached(sql).map_err(failed)?;
    let row = statement
        .query_row(key, |row| Ok(read_token(row)))
        .optional()
        .map_err(failed)?;
    row.transpose()
}

pub(super) fn tokens(conn: &Connection) -> Result<Vec<Arc<TokenRecord>>, StoreError> {
    let mut statement = conn
        .prepare_cached(&format!("{TOKEN} ORDER BY issued_at, place"))
        .map_err(failed)?;
    let rows = statement
        .query_map([], |row| Ok(read_token(row)))
        .map_err(failed)?;
    rows.map(|row| Ok(Arc::new(row.map_err(failed)??.value)))
        .collect()
}

fn read_token(row: &Row<'_>) -> Result<Stored<TokenRecord>, StoreError> {
    Ok(Stored {
        value: TokenRecord {
            id: text(row, 0, |text| Ident::parse(text).ok())?,
            digest: TokenDigest(row.get(1).map_err(failed)?),
            role: text(row, 2, |text| text.parse().ok())?,
            principal: text(row, 3, |text| Ident::parse(text).ok())?,
            agent: optional(row, 4, |text| Ident::parse(text).ok())?,
            issued_at: Moment(row.get(5).map_err(failed)?),
            revoked_at: row.get::<_, Option<i64>>(6).map_err(failed)?.map(Moment),
        },
        epoch: 0,
        revision: row.get(7).map_err(failed)?,
    })
}

pub(super) fn insert_token(conn: &Connection, token: &TokenRecord, revision: i64) -> Result<(), StoreError> {
    conn.prepare_cached(
        "INSERT INTO token (id, digest, role, principal, agent, issued_at, revoked_at, revision)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )
    .and_then(|mut statement| {
        statement.execute(params![
            token.id.as_str(),
            token.digest.0.as_slice(),
            token.role.as_str(),
            token.principal.as_str(),
            token.agent.as_ref().map(Ident::as_str),
            token.issued_at.0,
            token.revoked_at.map(|at| at.0),
            revision
        ])
    })
    .map_err(failed)?;
    Ok(())
}

pub(super) fn revoke_token(
    conn: &Connection,
    id: &Ident,
    at: Moment,
    revision: i64,
) -> Result<(), StoreError> {
    conn.prepare_cached("UPDATE token SET revoked_at = ?2, revision = ?3 WHERE id = ?1")
        .and_then(|mut statement| statement.execute(params![id.as_str(), at.0, revision]))
        .map_err(failed)?;
    Ok(())
}

fn place(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

/// Only the canonical names: an alias in the file is not something this program wrote.
pub(super) fn class_name(text: &str) -> Option<Class> {
    Class::ALL.into_iter().find(|class| class.as_str() == text)
}

fn kinds(text: &str) -> Option<Kinds> {
    let mut names = text.split(',').filter(|name| !name.is_empty());
    names.try_fold(Kinds::NONE, |kinds, name| {
        let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == name)?;
        Some(kinds.with(kind))
    })
}

pub(super) fn text<T>(
    row: &Row<'_>,
    column: usize,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, StoreError> {
    optional(row, column, parse)?.ok_or(StoreError::Corrupt { what: "a row" })
}

pub(super) fn optional<T>(
    row: &Row<'_>,
    column: usize,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, StoreError> {
    let corrupt = StoreError::Corrupt { what: "a row" };
    let value = row.get_ref(column).map_err(failed)?;
    let Some(text) = value.as_str_or_null().map_err(|_| corrupt.clone())? else {
        return Ok(None);
    };
    parse(text).map(Some).ok_or(corrupt)
}
