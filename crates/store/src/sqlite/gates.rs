//! Gates in the embedded backend. Read from the file each time, by an index for each question.

use async_trait::async_trait;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use tidegate_core::{Ident, Moment, Name};

use super::failure::failed;
use super::rows::{class_name, optional, text};
use super::{Batch, SqliteStore, rows};
use crate::{
    AnswerError, Binding, Gate, GateAnswer, GateApproval, GateEnd, GateQuery, GateState, GateStore, Listed,
    OpenGateError, Opened, StoreError,
};

/// The most gates that one question gives.
const MOST_LISTED: usize = 1_000;

const GATE: &str = "SELECT id, kind, session, user, agent, asked_by, owner, binding, tool, class, rule, policy, \
    document, evidence, opened_at, expires_at, needed, state, approvals, ended_by, ended_reason, ended_at, place, tick FROM gate";

#[async_trait]
impl GateStore for SqliteStore {
    async fn open_gate(&self, gate: Gate, most: usize) -> Result<Opened, OpenGateError> {
        let open = move |batch: &Batch<'_>| {
            let waits =
                "WHERE binding = ?1 AND state = 'open' AND expires_at > ?2 ORDER BY place DESC LIMIT 1";
            let known = one(batch.conn, waits, params![gate.binding.0, gate.opened_at.0])?;
            if let Some(known) = known {
                return Ok(Opened::Known(known));
            }
            rows::session(batch.conn, &gate.session)?.ok_or(StoreError::NoSession)?;
            if waiting_in(batch.conn, &gate.session)? >= most {
                return Err(OpenGateError::TooMany);
            }
            let gate = insert(batch.conn, gate)?;
            batch.wrote_beside();
            Ok(Opened::New(gate))
        };
        self.writer.run(open).await
    }

    async fn gate(&self, id: &Ident) -> Result<Option<Gate>, StoreError> {
        self.readers.snapshot(|conn| find(conn, id))
    }

    async fn latest(&self, binding: &Binding) -> Result<Option<Gate>, StoreError> {
        let last = "WHERE binding = ?1 ORDER BY place DESC LIMIT 1";
        self.readers.snapshot(|conn| one(conn, last, params![binding.0]))
    }

    async fn answer(&self, id: &Ident, answer: GateAnswer) -> Result<Gate, AnswerError> {
        let id = id.clone();
        let take = move |batch: &Batch<'_>| {
            let mut gate = find(batch.conn, &id)?.ok_or(AnswerError::NoGate)?;
            gate.answer(answer)?;
            Ok(update(batch, gate)?)
        };
        self.writer.run(take).await
    }

    async fn spend(&self, id: &Ident, binding: &Binding, at: Moment) -> Result<Option<Gate>, StoreError> {
        let binding = *binding;
        self.step(id, move |gate| gate.spend(&binding, at)).await
    }

    async fn expire(&self, id: &Ident, reason: &str, at: Moment) -> Result<Option<Gate>, StoreError> {
        let reason = reason.to_owned();
        self.step(id, move |gate| gate.expire(&reason, at)).await
    }

    async fn gates(&self, query: &GateQuery) -> Result<Vec<Gate>, StoreError> {
        let (sql, bound) = listing(query);
        self.readers
            .snapshot(|conn| many(conn, &sql, params_from_iter(bound)))
    }

    async fn overdue(&self, at: Moment, limit: usize) -> Result<Vec<Gate>, StoreError> {
        let due = "WHERE state IN ('open', 'approved') AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2";
        self.readers
            .snapshot(|conn| many(conn, due, params![at.0, bounded(limit)]))
    }

    async fn left_open(&self, owner: &Ident, limit: usize) -> Result<Vec<Gate>, StoreError> {
        let left = "WHERE state = 'open' AND owner = ?1 ORDER BY place LIMIT ?2";
        self.readers
            .snapshot(|conn| many(conn, left, params![owner.as_str(), bounded(limit)]))
    }

    async fn changed(&self, after: i64, limit: usize) -> Result<Vec<Gate>, StoreError> {
        let changed = "WHERE tick > ?1 ORDER BY tick LIMIT ?2";
        self.readers
            .snapshot(|conn| many(conn, changed, params![after, bounded(limit)]))
    }

    async fn tick(&self) -> Result<i64, StoreError> {
        self.readers.snapshot(tick)
    }
}

impl SqliteStore {
    /// One step of a gate, if it is one.
    async fn step(
        &self,
        id: &Ident,
        step: impl FnOnce(&mut Gate) -> bool + Send + 'static,
    ) -> Result<Option<Gate>, StoreError> {
        let id = id.clone();
        let take = move |batch: &Batch<'_>| {
            let Some(mut gate) = find(batch.conn, &id)? else {
                return Ok(None);
            };
            match step(&mut gate) {
                true => update(batch, gate).map(Some),
                false => Ok(None),
            }
        };
        self.writer.run(take).await
    }
}

/// What a page is read by. The conditions are spelled as the indexes spell theirs, so that one of them fits.
fn listing(query: &GateQuery) -> (String, Vec<Value>) {
    let mut conditions = Vec::new();
    let mut bound = Vec::new();
    let mut bind = |value: Value| {
        bound.push(value);
        bound.len()
    };
    let (order, beyond) = match query.listed {
        Listed::Open => ("ASC", ">"),
        Listed::Decided | Listed::All => ("DESC", "<"),
    };
    match query.listed {
        Listed::Open => {
            conditions.push("state = 'open'".to_owned());
            conditions.push(format!("expires_at > ?{}", bind(query.at.0.into())));
        }
        Listed::Decided => conditions.push("state <> 'open'".to_owned()),
        Listed::All => {}
    }
    if let Some(session) = &query.session {
        conditions.push(format!("session = ?{}", bind(session.to_string().into())));
    }
    if let Some(kind) = query.kind {
        conditions.push(format!("kind = ?{}", bind(kind.to_string().into())));
    }
    if let Some(after) = query.after {
        conditions.push(format!("place {beyond} ?{}", bind(after.into())));
    }
    let limit = bind(bounded(query.limit).into());
    let index = index_of(query);
    let conditions = match conditions.is_empty() {
        true => String::new(),
        false => format!("WHERE {}", conditions.join(" AND ")),
    };
    (
        format!("{index} {conditions} ORDER BY place {order} LIMIT ?{limit}"),
        bound,
    )
}

/// Which index holds what is open and nothing else. Left alone, SQLite may take one that also holds what is decided, and
/// walk through all of it.
const fn index_of(query: &GateQuery) -> &'static str {
    match (query.listed, &query.session, query.kind) {
        (Listed::Open, Some(_), _) => "INDEXED BY gate_open_by_session",
        (Listed::Open, None, Some(_)) => "INDEXED BY gate_open_by_kind",
        (Listed::Open, None, None) => "INDEXED BY gate_open",
        (Listed::Decided | Listed::All, _, _) => "",
    }
}

fn bounded(limit: usize) -> i64 {
    i64::try_from(limit.min(MOST_LISTED)).unwrap_or(0)
}

fn find(conn: &Connection, id: &Ident) -> Result<Option<Gate>, StoreError> {
    one(conn, "WHERE id = ?1", params![id.as_str()])
}

fn one(conn: &Connection, rest: &str, bound: impl rusqlite::Params) -> Result<Option<Gate>, StoreError> {
    let mut statement = conn.prepare_cached(&format!("{GATE} {rest}")).map_err(failed)?;
    let row = statement
        .query_row(bound, |row| Ok(read(row)))
        .optional()
        .map_err(failed)?;
    row.transpose()
}

fn many(conn: &Connection, rest: &str, bound: impl rusqlite::Params) -> Result<Vec<Gate>, StoreError> {
    let mut statement = conn.prepare_cached(&format!("{GATE} {rest}")).map_err(failed)?;
    let mut rows = statement.query(bound).map_err(failed)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn waiting_in(conn: &Connection, session: &Ident) -> Result<usize, StoreError> {
    let sql = "SELECT count(*) FROM gate WHERE state = 'open' AND session = ?1";
    let count: i64 = conn
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row([session.as_str()], |row| row.get(0)))
        .map_err(failed)?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}

fn tick(conn: &Connection) -> Result<i64, StoreError> {
    conn.prepare_cached("SELECT tick FROM gate_clock WHERE only = 1")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(failed)
}

fn next_tick(conn: &Connection) -> Result<i64, StoreError> {
    conn.prepare_cached("UPDATE gate_clock SET tick = tick + 1 WHERE only = 1 RETURNING tick")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(failed)
}

fn insert(conn: &Connection, mut gate: Gate) -> Result<Gate, StoreError> {
    gate.tick = next_tick(conn)?;
    let sql = "INSERT INTO gate (id, kind, session, user, agent, asked_by, owner, binding, tool, class, rule, policy, \
               document, evidence, opened_at, expires_at, needed, state, approvals, tick) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, 'open', '[]', ?18) \
               RETURNING place";
    let placed = conn.prepare_cached(sql).and_then(|mut statement| {
        let bound = params![
            gate.id.as_str(),
            gate.kind.as_str(),
            gate.session.as_str(),
            gate.user.as_str(),
            gate.agent.as_str(),
            gate.asked_by.as_str(),
            gate.owner.as_str(),
            gate.binding.0,
            gate.tool.as_ref().map(Name::as_str),
            gate.class.as_str(),
            gate.rule,
            gate.policy,
            gate.document,
            gate.evidence,
            gate.opened_at.0,
            gate.expires_at.0,
            gate.needed,
            gate.tick,
        ];
        statement.query_row(bound, |row| row.get(0))
    });
    gate.place = placed.map_err(failed)?;
    Ok(gate)
}

/// Writes what a step may have changed.
fn update(batch: &Batch<'_>, mut gate: Gate) -> Result<Gate, StoreError> {
    gate.tick = next_tick(batch.conn)?;
    let sql = "UPDATE gate SET state = ?2, approvals = ?3, expires_at = ?4, ended_by = ?5, ended_reason = ?6, \
               ended_at = ?7, tick = ?8 WHERE place = ?1";
    let written = batch.conn.prepare_cached(sql).and_then(|mut statement| {
        let end = gate.end.as_ref();
        statement.execute(params![
            gate.place,
            gate.state.as_str(),
            GateApproval::write_all(&gate.approvals),
            gate.expires_at.0,
            end.and_then(|end| end.by.as_ref()).map(Ident::as_str),
            end.map(|end| end.reason.as_str()),
            end.map(|end| end.at.0),
            gate.tick,
        ])
    });
    written.map_err(failed)?;
    batch.wrote_beside();
    Ok(gate)
}

fn read(row: &Row<'_>) -> Result<Gate, StoreError> {
    let ident = |column| text(row, column, |text| Ident::parse(text).ok());
    let at = |column| row.get(column).map(Moment).map_err(failed);
    let string = |column| row.get::<_, String>(column).map_err(failed);
    let ended_at: Option<i64> = row.get(21).map_err(failed)?;
    let end = match ended_at {
        None => None,
        Some(at) => Some(GateEnd {
            by: optional(row, 19, |text| Ident::parse(text).ok())?,
            reason: string(20)?,
            at: Moment(at),
        }),
    };
    Ok(Gate {
        id: ident(0)?,
        kind: text(row, 1, |text| text.parse().ok())?,
        session: ident(2)?,
        user: ident(3)?,
        agent: ident(4)?,
        asked_by: ident(5)?,
        owner: ident(6)?,
        binding: Binding(row.get(7).map_err(failed)?),
        tool: optional(row, 8, |text| Name::parse(text).ok())?,
        class: text(row, 9, class_name)?,
        rule: string(10)?,
        policy: string(11)?,
        document: string(12)?,
        evidence: row.get(13).map_err(failed)?,
        opened_at: at(14)?,
        expires_at: at(15)?,
        needed: row.get(16).map_err(failed)?,
        state: text(row, 17, |text| {
            GateState::ALL.into_iter().find(|state| state.as_str() == text)
        })?,
        approvals: text(row, 18, GateApproval::read_all)?,
        end,
        place: row.get(22).map_err(failed)?,
        tick: row.get(23).map_err(failed)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GateKind, SqliteOptions};

    /// Each page of each question is found by an index that holds nothing else: nothing is sorted, and nothing is looked at
    /// only to be left out.
    #[test]
    fn pages_are_found_by_an_index() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("t.db"), SqliteOptions::default()).unwrap();
        let session = || Some(Ident::parse("s-1").unwrap());
        let kind = Some(GateKind::ToolApproval);
        let cases = [
            (Listed::Open, None, None, "gate_open"),
            (Listed::Open, kind, None, "gate_open_by_kind"),
            (Listed::Open, None, session(), "gate_open_by_session"),
            (Listed::Decided, None, None, "gate_decided"),
            (Listed::All, kind, None, "gate_by_kind"),
            (Listed::All, None, session(), "gate_by_session"),
        ];
        for (listed, kind, session, index) in cases {
            for after in [None, Some(7)] {
                let query = GateQuery {
                    listed,
                    kind,
                    session: session.clone(),
                    after,
                    limit: 50,
                    at: Moment(1),
                };
                let (rest, bound) = listing(&query);
                let plan = store.readers.snapshot(|conn| {
                    let mut statement = conn
                        .prepare(&format!("EXPLAIN QUERY PLAN {GATE} {rest}"))
                        .map_err(failed)?;
                    let rows = statement
                        .query_map(params_from_iter(bound), |row| row.get::<_, String>(3))
                        .map_err(failed)?;
                    Ok(rows.map(|row| row.unwrap()).collect::<Vec<_>>().join("; "))
                });
                let plan = plan.unwrap();
                assert!(
                    plan.contains(&format!("INDEX {index}")) && !plan.contains("TEMP B-TREE"),
                    "{rest}: {plan}"
                );
            }
        }
    }
}
