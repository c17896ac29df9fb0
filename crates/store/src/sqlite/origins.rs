//! Origins as rows: one for the memory of a session, one for each chunk with its digests side by side.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Row, params};
use tidegate_core::{Ident, Name};

use super::SqliteStore;
use super::failure::failed;
use super::writer::Batch;
use crate::{Origin, OriginBounds, OriginChunk, OriginMemory, OriginStore, Recalled, StoreError};

#[async_trait]
impl OriginStore for SqliteStore {
    async fn begin(&self, session: &Ident) -> Result<(), StoreError> {
        let session = session.clone();
        let begin = move |batch: &Batch<'_>| {
            demand_session(batch.conn, &session)?;
            put_memory(batch.conn, &session, false)?;
            batch.wrote_beside();
            Ok(())
        };
        self.writer.run(begin).await
    }

    async fn remember(
        &self,
        session: &Ident,
        chunks: Vec<OriginChunk>,
        bounds: OriginBounds,
    ) -> Result<(), StoreError> {
        let session = session.clone();
        let remember = move |batch: &Batch<'_>| {
            let mut memory = of_writer(batch.conn, &session)?;
            for chunk in &chunks {
                if memory.takes(chunk, bounds) {
                    put_chunk(batch.conn, &session, chunk)?;
                }
            }
            write(batch.conn, &session, memory)?;
            batch.wrote_beside();
            Ok(())
        };
        self.writer.run(remember).await
    }

    async fn close(&self, session: &Ident) -> Result<(), StoreError> {
        let session = session.clone();
        let close = move |batch: &Batch<'_>| {
            let mut memory = of_writer(batch.conn, &session)?;
            memory.closed = true;
            write(batch.conn, &session, memory)?;
            batch.wrote_beside();
            Ok(())
        };
        self.writer.run(close).await
    }

    async fn recall(&self, session: &Ident, after: u64) -> Result<Recalled, StoreError> {
        self.readers.snapshot(|conn| {
            let Some(memory) = memory(conn, session)? else {
                demand_session(conn, session)?;
                return Ok(Recalled {
                    closed: true,
                    last: 0,
                    chunks: Vec::new(),
                });
            };
            let chunks = chunks_after(conn, session, after)?;
            Ok(Recalled {
                closed: memory.closed,
                last: last_place(conn, session)?,
                chunks,
            })
        })
    }
}

/// The memory to write to; one that was never begun is closed from its start.
fn of_writer(conn: &Connection, session: &Ident) -> Result<OriginMemory, StoreError> {
    if let Some(memory) = memory(conn, session)? {
        return Ok(memory);
    }
    demand_session(conn, session)?;
    put_memory(conn, session, true)?;
    Ok(OriginMemory::NEVER_BEGUN)
}

fn write(conn: &Connection, session: &Ident, memory: OriginMemory) -> Result<(), StoreError> {
    let sql = "UPDATE origin SET closed = ?2, operator_kept = ?3, others_kept = ?4 WHERE session = ?1";
    conn.prepare_cached(sql)
        .and_then(|mut statement| {
            statement.execute(params![
                session.as_str(),
                memory.closed,
                count(memory.operator),
                count(memory.others)
            ])
        })
        .map_err(failed)?;
    Ok(())
}

fn demand_session(conn: &Connection, session: &Ident) -> Result<(), StoreError> {
    let found = conn
        .prepare_cached("SELECT 1 FROM session WHERE id = ?1")
        .and_then(|mut statement| statement.exists([session.as_str()]))
        .map_err(failed)?;
    if found { Ok(()) } else { Err(StoreError::NoSession) }
}

fn memory(conn: &Connection, session: &Ident) -> Result<Option<OriginMemory>, StoreError> {
    let read = |row: &Row<'_>| {
        let kept = |column| {
            row.get::<_, i64>(column)
                .map(|number| usize::try_from(number).unwrap_or(usize::MAX))
        };
        Ok(OriginMemory {
            closed: row.get(0)?,
            operator: kept(1)?,
            others: kept(2)?,
        })
    };
    conn.prepare_cached("SELECT closed, operator_kept, others_kept FROM origin WHERE session = ?1")
        .and_then(|mut statement| statement.query_row([session.as_str()], read).optional())
        .map_err(failed)
}

fn put_memory(conn: &Connection, session: &Ident, closed: bool) -> Result<(), StoreError> {
    let sql = "INSERT INTO origin (session, closed, operator_kept, others_kept) VALUES (?1, ?2, 0, 0) ON CONFLICT DO NOTHING";
    conn.prepare_cached(sql)
        .and_then(|mut statement| statement.execute(params![session.as_str(), closed]))
        .map_err(failed)?;
    Ok(())
}

fn put_chunk(conn: &Connection, session: &Ident, chunk: &OriginChunk) -> Result<(), StoreError> {
    let digests: Vec<u8> = chunk
        .digests
        .iter()
        .flat_map(|digest| digest.to_be_bytes())
        .collect();
    let sql = "INSERT INTO origin_chunk (session, place, origin, source, digests)
               VALUES (?1, (SELECT coalesce(max(place), 0) + 1 FROM origin_chunk WHERE session = ?1), ?2, ?3, ?4)";
    conn.prepare_cached(sql)
        .and_then(|mut statement| {
            statement.execute(params![
                session.as_str(),
                chunk.origin.as_str(),
                chunk.source.as_str(),
                digests
            ])
        })
        .map_err(failed)?;
    Ok(())
}

fn last_place(conn: &Connection, session: &Ident) -> Result<u64, StoreError> {
    let last: i64 = conn
        .prepare_cached("SELECT coalesce(max(place), 0) FROM origin_chunk WHERE session = ?1")
        .and_then(|mut statement| statement.query_row([session.as_str()], |row| row.get(0)))
        .map_err(failed)?;
    Ok(u64::try_from(last).unwrap_or_default())
}

fn chunks_after(conn: &Connection, session: &Ident, after: u64) -> Result<Vec<OriginChunk>, StoreError> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let sql =
        "SELECT origin, source, digests FROM origin_chunk WHERE session = ?1 AND place > ?2 ORDER BY place";
    let mut statement = conn.prepare_cached(sql).map_err(failed)?;
    let mut rows = statement
        .query(params![session.as_str(), after])
        .map_err(failed)?;
    let mut chunks = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        chunks.push(read_chunk(row)?);
    }
    Ok(chunks)
}

fn read_chunk(row: &Row<'_>) -> Result<OriginChunk, StoreError> {
    let corrupt = || StoreError::Corrupt {
        what: "where a value came from",
    };
    let text = |column| {
        let value = row.get_ref(column).map_err(failed)?;
        value.as_str().map_err(|_| corrupt())
    };
    let name = text(0)?;
    let origin = Origin::ALL.into_iter().find(|origin| origin.as_str() == name);
    let digests = row.get_ref(2).map_err(failed)?;
    let (digests, rest) = digests.as_blob().map_err(|_| corrupt())?.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(corrupt());
    }
    Ok(OriginChunk {
        origin: origin.ok_or_else(corrupt)?,
        source: Name::parse(text(1)?).map_err(|_| corrupt())?,
        digests: digests.iter().map(|bytes| u64::from_be_bytes(*bytes)).collect(),
    })
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
