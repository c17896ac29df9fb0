//! Pages and kinship in the embedded backend. Read from the file each time: they are rare beside decisions.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row, params};
use tidegate_core::{Ident, Moment, Name};

use super::failure::failed;
use super::rows::{class_name, text};
use super::{Batch, SqliteStore, rows};
use crate::{Kin, KinError, MemoryStore, Page, Shelf, StoreError, TurnError};

/// The longest line of ancestors that is followed.
const MOST_ANCESTORS: usize = 64;

#[async_trait]
impl MemoryStore for SqliteStore {
    async fn page(&self, shelf: &Shelf) -> Result<Option<Page>, StoreError> {
        self.readers.snapshot(|conn| page(conn, shelf))
    }

    async fn turn_page(&self, shelf: &Shelf, before: Option<&str>, new: Page) -> Result<(), TurnError> {
        let (shelf, before) = (shelf.clone(), before.map(str::to_owned));
        let turn = move |batch: &Batch<'_>| {
            if let Shelf::Run(id) = &shelf {
                let session = rows::session(batch.conn, id)?.ok_or(StoreError::NoSession)?;
                if session.value.context.halted().is_some() {
                    return Err(TurnError::Closed);
                }
            }
            if page(batch.conn, &shelf)?.map(|page| page.pointer) != before {
                return Err(TurnError::Moved);
            }
            put_page(batch.conn, &shelf, &new)?;
            batch.wrote_beside();
            Ok(())
        };
        self.writer.run(turn).await
    }

    async fn clear_shelf(&self, shelf: &Shelf) -> Result<Option<Page>, StoreError> {
        let shelf = shelf.clone();
        let clear = move |batch: &Batch<'_>| {
            let taken = page(batch.conn, &shelf)?;
            if taken.is_some() {
                let (kind, user, owner) = place_of(&shelf);
                batch
                    .conn
                    .prepare_cached("DELETE FROM page WHERE shelf = ?1 AND user = ?2 AND owner = ?3")
                    .and_then(|mut statement| statement.execute(params![kind, user, owner]))
                    .map_err(failed)?;
                batch.wrote_beside();
            }
            Ok(taken)
        };
        self.writer.run(clear).await
    }

    async fn left_behind(&self, halted_by: &Name, limit: usize) -> Result<Vec<Ident>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = "SELECT session.id FROM page JOIN session ON session.id = page.owner
                   WHERE page.shelf = 'run' AND session.halted_by = ?1 ORDER BY session.id LIMIT ?2";
        self.readers
            .snapshot(|conn| idents(conn, sql, params![halted_by.as_str(), limit]))
    }

    async fn adopt(&self, kin: Kin, most: usize) -> Result<(), KinError> {
        let adopt = move |batch: &Batch<'_>| {
            refuse_strange_kin(batch.conn, &kin, most)?;
            insert_kin(batch.conn, &kin)?;
            batch.wrote_beside();
            Ok(())
        };
        self.writer.run(adopt).await
    }

    async fn kin(&self, child: &Ident) -> Result<Option<Kin>, StoreError> {
        self.readers.snapshot(|conn| kin(conn, child))
    }

    async fn children(&self, parent: &Ident) -> Result<Vec<Ident>, StoreError> {
        self.readers.snapshot(|conn| children(conn, parent))
    }

    async fn take_answer(&self, child: &Ident, bits: u32, most: u32) -> Result<u32, KinError> {
        let child = child.clone();
        let take = move |batch: &Batch<'_>| {
            if taken_of(batch.conn, &child)?.ok_or(KinError::NoChild)?.is_some() {
                return Err(KinError::Answered);
            }
            let taken = taken_in_tree_of(batch.conn, &child)?.saturating_add(bits);
            if bits > 0 && taken > most {
                return Err(KinError::BitsSpent);
            }
            batch
                .conn
                .prepare_cached("UPDATE kin SET taken_bits = ?2 WHERE child = ?1")
                .and_then(|mut statement| statement.execute(params![child.as_str(), bits]))
                .map_err(failed)?;
            batch.wrote_beside();
            Ok(taken)
        };
        self.writer.run(take).await
    }
}

/// The three columns that name a shelf.
fn place_of(shelf: &Shelf) -> (&'static str, &str, &str) {
    match shelf {
        Shelf::Run(session) => ("run", "", session.as_str()),
        Shelf::Agent { user, agent } => ("agent", user.as_str(), agent.as_str()),
    }
}

fn page(conn: &Connection, shelf: &Shelf) -> Result<Option<Page>, StoreError> {
    let (kind, user, owner) = place_of(shelf);
    let sql = "SELECT pointer, class, at FROM page WHERE shelf = ?1 AND user = ?2 AND owner = ?3";
    let mut statement = conn.prepare_cached(sql).map_err(failed)?;
    let row = statement
        .query_row(params![kind, user, owner], |row| Ok(read_page(row)))
        .optional()
        .map_err(failed)?;
    row.transpose()
}

fn read_page(row: &Row<'_>) -> Result<Page, StoreError> {
    Ok(Page {
        pointer: row.get(0).map_err(failed)?,
        class: text(row, 1, class_name)?,
        at: Moment(row.get(2).map_err(failed)?),
    })
}

fn put_page(conn: &Connection, shelf: &Shelf, page: &Page) -> Result<(), StoreError> {
    let (kind, user, owner) = place_of(shelf);
    let sql = "INSERT INTO page (shelf, user, owner, pointer, class, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
               ON CONFLICT (shelf, user, owner) DO UPDATE SET pointer = excluded.pointer, class = excluded.class, at = excluded.at";
    conn.prepare_cached(sql)
        .and_then(|mut statement| {
            statement.execute(params![
                kind,
                user,
                owner,
                page.pointer,
                page.class.as_str(),
                page.at.0
            ])
        })
        .map_err(failed)?;
    Ok(())
}

const KIN: &str = "SELECT child, parent, answer, answer_bits, at FROM kin WHERE child = ?1";

fn kin(conn: &Connection, child: &Ident) -> Result<Option<Kin>, StoreError> {
    let mut statement = conn.prepare_cached(KIN).map_err(failed)?;
    let row = statement
        .query_row([child.as_str()], |row| Ok(read_kin(row)))
        .optional()
        .map_err(failed)?;
    row.transpose()
}

fn read_kin(row: &Row<'_>) -> Result<Kin, StoreError> {
    Ok(Kin {
        child: text(row, 0, |text| Ident::parse(text).ok())?,
        parent: text(row, 1, |text| Ident::parse(text).ok())?,
        answer: row.get(2).map_err(failed)?,
        answer_bits: row.get(3).map_err(failed)?,
        at: Moment(row.get(4).map_err(failed)?),
    })
}

fn children(conn: &Connection, parent: &Ident) -> Result<Vec<Ident>, StoreError> {
    let sql = "SELECT child FROM kin WHERE parent = ?1 ORDER BY place";
    idents(conn, sql, [parent.as_str()])
}

fn idents(conn: &Connection, sql: &str, bound: impl rusqlite::Params) -> Result<Vec<Ident>, StoreError> {
    let mut statement = conn.prepare_cached(sql).map_err(failed)?;
    let mut rows = statement.query(bound).map_err(failed)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        found.push(text(row, 0, |text| Ident::parse(text).ok())?);
    }
    Ok(found)
}

fn refuse_strange_kin(conn: &Connection, new: &Kin, most: usize) -> Result<(), KinError> {
    for id in [&new.child, &new.parent] {
        rows::session(conn, id)?.ok_or(StoreError::NoSession)?;
    }
    if kin(conn, &new.child)?.is_some() {
        return Err(KinError::NotFree);
    }
    let mut ancestor = Some(new.parent.clone());
    for _ in 0..MOST_ANCESTORS {
        let Some(id) = ancestor else {
            return match children(conn, &new.parent)?.len() {
                count if count < most => Ok(()),
                _ => Err(KinError::TooMany),
            };
        };
        if id == new.child {
            return Err(KinError::NotFree);
        }
        ancestor = kin(conn, &id)?.map(|kin| kin.parent);
    }
    Err(KinError::NotFree)
}

fn insert_kin(conn: &Connection, kin: &Kin) -> Result<(), StoreError> {
    conn.prepare_cached(
        "INSERT INTO kin (child, parent, answer, answer_bits, at) VALUES (?1, ?2, ?3, ?4, ?5)",
    )
    .and_then(|mut statement| {
        let (child, parent) = (kin.child.as_str(), kin.parent.as_str());
        statement.execute(params![child, parent, kin.answer, kin.answer_bits, kin.at.0])
    })
    .map_err(failed)?;
    Ok(())
}

/// The bits that a child's answer took, if it has answered, and if it is somebody's child.
fn taken_of(conn: &Connection, child: &Ident) -> Result<Option<Option<u32>>, StoreError> {
    conn.prepare_cached("SELECT taken_bits FROM kin WHERE child = ?1")
        .and_then(|mut statement| statement.query_row([child.as_str()], |row| row.get(0)).optional())
        .map_err(failed)
}

/// In the whole tree: a value that a grandchild handed to a clean child is handed on from there without costing anything
/// again.
const TAKEN_IN_TREE: &str = "WITH RECURSIVE above (id) AS (
         SELECT parent FROM kin WHERE child = ?1
         UNION SELECT kin.parent FROM kin JOIN above ON kin.child = above.id
     ), below (child, bits) AS (
         SELECT kin.child, kin.taken_bits FROM kin JOIN above ON kin.parent = above.id
         UNION SELECT kin.child, kin.taken_bits FROM kin JOIN below ON kin.parent = below.child
     )
     SELECT coalesce(sum(bits), 0) FROM below";

fn taken_in_tree_of(conn: &Connection, child: &Ident) -> Result<u32, StoreError> {
    conn.prepare_cached(TAKEN_IN_TREE)
        .and_then(|mut statement| statement.query_row([child.as_str()], |row| row.get(0)))
        .map_err(failed)
}
