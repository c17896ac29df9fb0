//! Which sessions changed, in order: how a process learns what others wrote.
//!
//! Each transaction that changes a session or a token takes the next revision, and appends a row with it for each session
//! that it changed. So the newest row tells how far the file is, and a reader that has followed up to some revision
//! walks back from the newest row to that one. Old rows are taken away now and then: a reader that is so far behind forgets
//! everything instead.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::cache::Cache;
use super::failure::failed;
use crate::{Session, StoreError, TokenDigest};

/// When more rows than this changed since the last look, it is cheaper to forget them all than to name them.
const MOST_DROPPED: i64 = 10_000;

/// How many changes stay on file, well over [`MOST_DROPPED`].
const KEPT: i64 = 16_384;

/// Old changes are taken away when the count of changes passes a multiple of this.
const SWEEP: i64 = 64;

/// The revision of the last change, by whatever process.
pub(super) fn revision(conn: &Connection) -> Result<i64, StoreError> {
    conn.prepare_cached("SELECT revision FROM change ORDER BY place DESC LIMIT 1")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(failed)
}

/// Notes that a transaction changed these sessions, or tokens alone. It must be the one that changed them.
pub(super) fn note(conn: &Connection, revision: i64, sessions: &[Arc<Session>]) -> Result<(), StoreError> {
    let mut noted = HashSet::new();
    let mut ids: Vec<_> = sessions.iter().map(|session| session.id.as_str()).collect();
    ids.retain(|id| noted.insert(*id));
    if ids.is_empty() {
        ids.push("");
    }
    let mut insert = conn
        .prepare_cached("INSERT INTO change (revision, session) VALUES (?1, ?2)")
        .map_err(failed)?;
    let mut swept = false;
    for id in ids {
        let place = insert.insert(params![revision, id]).map_err(failed)?;
        swept |= place % SWEEP == 0;
    }
    if swept {
        conn.prepare_cached("DELETE FROM change WHERE place <= (SELECT max(place) FROM change) - ?1")
            .and_then(|mut statement| statement.execute([KEPT]))
            .map_err(failed)?;
    }
    Ok(())
}

/// Drops every row that changed after `applied` from the cache.
pub(super) fn drop_changed(conn: &Connection, cache: &Cache, applied: i64) -> Result<(), StoreError> {
    if !drop_sessions(conn, cache, applied).map_err(failed)? {
        cache.sessions.drop_all();
    }
    if !drop_tokens(conn, cache, applied).map_err(failed)? {
        cache.tokens.drop_all();
    }
    Ok(())
}

/// Says whether the walk back reached what is applied; if not, there may be changes that it did not see.
fn drop_sessions(conn: &Connection, cache: &Cache, applied: i64) -> rusqlite::Result<bool> {
    let mut statement =
        conn.prepare_cached("SELECT session, revision FROM change ORDER BY place DESC LIMIT ?1")?;
    let mut rows = statement.query([MOST_DROPPED])?;
    while let Some(row) = rows.next()? {
        let revision = row.get(1)?;
        if revision <= applied {
            return Ok(true);
        }
        cache.sessions.drop_older(row.get_ref(0)?.as_str()?, revision);
    }
    Ok(false)
}

/// Says whether that were all.
fn drop_tokens(conn: &Connection, cache: &Cache, applied: i64) -> rusqlite::Result<bool> {
    let mut statement =
        conn.prepare_cached("SELECT digest, revision FROM token WHERE revision > ?1 LIMIT ?2")?;
    let mut rows = statement.query(params![applied, MOST_DROPPED])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        cache.tokens.drop_older(&TokenDigest(row.get(0)?), row.get(1)?);
        count += 1;
    }
    Ok(count < MOST_DROPPED)
}
