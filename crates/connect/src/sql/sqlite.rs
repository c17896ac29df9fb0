//! SQLite: the file is opened for reading only, for each call, with the library's own limits set low.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, Value as Cell, ValueRef};
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, ToSql, params_from_iter};
use serde_json::Value;

use super::judge::{Judgement, Relation, judge};
use super::reading::{Named, Reading};
use super::rows::Rows;
use super::running::Running;
use super::{Described, Table, TableClasses};
use crate::{Bounds, Failure};

/// The largest value that a query may make.
const MOST_VALUE_BYTES: i32 = 4 << 20;

/// How many steps of its machine pass between looks at the clock.
const STEPS: i32 = 1_000;

/// A file.
#[derive(Clone)]
pub(super) struct Sqlite {
    path: PathBuf,
}

/// A call, with everything that the thread needs that makes it.
pub(super) struct Call {
    pub(super) reading: Reading,
    pub(super) params: Vec<Value>,
    pub(super) bounds: Bounds,
    pub(super) classes: Arc<TableClasses>,
    pub(super) running: Running,
}

impl Sqlite {
    pub(super) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Runs a query where blocking is allowed. It ends early when the future is dropped.
    pub(super) async fn run(&self, call: Call) -> Result<(Rows, Judgement), Failure> {
        let path = self.path.clone();
        on_thread(call.bounds, move |stop| {
            let connection = open(&path, call.bounds, stop)?;
            let mut relations = Vec::new();
            for named in &call.reading.relations {
                relations.extend(relation(&connection, named)?);
            }
            let judgement = judge(&call.classes, &call.reading, &relations);
            Ok((rows(&connection, &call, &judgement)?, judgement))
        })
        .await
    }

    pub(super) async fn tables(&self, bounds: Bounds) -> Result<Described, Failure> {
        let path = self.path.clone();
        on_thread(bounds, move |stop| described(&open(&path, bounds, stop)?)).await
    }
}

async fn on_thread<T: Send + 'static>(
    bounds: Bounds,
    work: impl FnOnce(Stop) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let stopped = Arc::new(AtomicBool::new(false));
    let stop = Stop {
        deadline: Instant::now() + bounds.timeout,
        stopped: Arc::clone(&stopped),
    };
    let _unwanted = Unwanted(stopped);
    let worked = tokio::task::spawn_blocking(move || work(stop)).await;
    worked.map_err(|_| Failure::Unavailable("reading the database was interrupted".to_owned()))?
}

/// When to stop.
#[derive(Clone)]
struct Stop {
    deadline: Instant,
    stopped: Arc<AtomicBool>,
}

/// Nobody waits any more once this is dropped.
struct Unwanted(Arc<AtomicBool>);

impl Drop for Unwanted {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn open(path: &Path, bounds: Bounds, stop: Stop) -> Result<Connection, Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags);
    let mut connection = opened.map_err(|_| unreachable())?;
    let set_up = || -> Result<(), Error> {
        connection.busy_timeout(bounds.timeout)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES)?;
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.execute_batch("BEGIN")
    };
    set_up().map_err(|_| unreachable())?;
    let expired = move || stop.stopped.load(Ordering::Relaxed) || Instant::now() > stop.deadline;
    connection
        .progress_handler(STEPS, Some(expired))
        .map_err(|_| unreachable())?;
    Ok(connection)
}

fn relation(connection: &Connection, named: &Named) -> Result<Option<Relation>, Failure> {
    let (schema, name) = (named.exact.0.as_deref().unwrap_or("main"), named.exact.1.as_str());
    let is_system = |name: &str| name.to_ascii_lowercase().starts_with("sqlite_");
    let is_pragma = named.name.starts_with("pragma_");
    if is_system(name) || is_pragma || named.name == "dbstat" {
        return Err(super::of_the_system());
    }
    if !schema.eq_ignore_ascii_case("main") {
        return super::not_there(named);
    }
    // A virtual table shows what its module finds, as a view does.
    let query = "SELECT type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' FROM sqlite_schema \
                 WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE";
    let found = optional(connection.query_row(query, [name], |row| row.get::<_, bool>(0)))?;
    let Some(is_table) = found else {
        return super::not_there(named);
    };
    let columns = connection
        .prepare("SELECT name FROM pragma_table_xinfo(?1)")
        .and_then(|mut statement| {
            let names = statement.query_map([name], |row| row.get::<_, String>(0))?;
            names.collect::<Result<Vec<_>, _>>()
        })
        .map_err(failed)?;
    Ok(Some(Relation::new(named, "main", name, is_table, columns)))
}

fn optional<T>(found: Result<T, Error>) -> Result<Option<T>, Failure> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::QueryReturnedNoRows) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

fn rows(connection: &Connection, call: &Call, judgement: &Judgement) -> Result<Rows, Failure> {
    let mut statement = connection.prepare(&call.reading.text).map_err(failed)?;
    if !statement.readonly() {
        return Err(Failure::Refused("the query would change data".to_owned()));
    }
    if statement.parameter_count() != call.params.len() {
        return Err(super::wrong_number(statement.parameter_count()));
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let width = columns.len();
    let mut rows = Rows::new(columns, call.bounds);
    call.running.begin(judgement);
    let mut found = statement
        .query(params_from_iter(call.params.iter().map(Param)))
        .map_err(failed)?;
    while let Some(row) = found.next().map_err(failed)? {
        let mut cells = Vec::with_capacity(width);
        for at in 0..width {
            cells.push(cell(&mut rows, row.get_ref(at).map_err(failed)?));
        }
        if !rows.push(cells) {
            break;
        }
    }
    Ok(rows)
}

fn cell(rows: &mut Rows, value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => rows.bytes(bytes.to_vec()),
    }
}

fn described(connection: &Connection) -> Result<Described, Failure> {
    let query = "SELECT s.name, c.name, c.type, s.type = 'table' FROM sqlite_schema s, pragma_table_xinfo(s.name) c \
                 WHERE s.type IN ('table', 'view') AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY s.name, c.cid";
    let mut described = Described::default();
    let mut statement = connection.prepare(query).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        described.add(Table {
            schema: "main".to_owned(),
            name: row.get(0).map_err(failed)?,
            column: row.get(1).map_err(failed)?,
            kind: row.get::<_, String>(2).map_err(failed)?.to_lowercase(),
            is_table: row.get(3).map_err(failed)?,
        });
    }
    Ok(described)
}

fn unreachable() -> Failure {
    Failure::Unavailable("the database file cannot be opened for reading".to_owned())
}

/// In our own words: the library's may quote what is in a table.
fn failed(error: Error) -> Failure {
    let rejected = |why: &str| Failure::Rejected(why.to_owned());
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => {
            rejected("the query took longer than a query may take and was stopped")
        }
        Some(ErrorCode::TooBig) => rejected("a value in the query is larger than a value may be"),
        Some(
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied,
        ) => rejected("the query would change data, and only reading is allowed"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Failure::Unavailable("the database is busy".to_owned())
        }
        Some(
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen,
        ) => unreachable(),
        _ => rejected(
            "the database refuses the query as it is written; look at the schema tool for tables and columns",
        ),
    }
}

/// A parameter, as the type that it has in JSON.
struct Param<'a>(&'a Value);

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let cell = match self.0 {
            Value::Null => Cell::Null,
            Value::Bool(flag) => Cell::Integer(i64::from(*flag)),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => Cell::Integer(whole),
                (None, Some(number)) => Cell::Real(number),
                (None, None) => Cell::Text(number.to_string()),
            },
            Value::String(text) => Cell::Text(text.clone()),
            other => Cell::Text(other.to_string()),
        };
        Ok(ToSqlOutput::Owned(cell))
    }
}
