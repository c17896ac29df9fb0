//! MySQL and MariaDB: a connection for each call, in a transaction that cannot write.

use std::fmt::Write;
use std::sync::Arc;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Opts, OptsBuilder, Params, Row, SslOpts, Value as Cell};
use serde_json::Value;

use super::judge::{Judgement, Relation};
use super::reading::Named;
use super::rows::Rows;
use super::{Asked, Described, Table};
use crate::{Bounds, Failure};

/// The largest message that is read from the server: one row is one message.
const MOST_PACKET_BYTES: usize = 8 << 20;

/// A server.
pub(super) struct MySql {
    opts: Opts,
}

impl MySql {
    pub(super) fn at(url: &str) -> Result<Self, &'static str> {
        let url = url.replacen("mariadb://", "mysql://", 1);
        let opts = Opts::from_url(&url).map_err(|_| "is no address of a MySQL or MariaDB server")?;
        let host = opts.ip_or_hostname();
        let is_local = host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
        let mut builder = OptsBuilder::from_opts(opts)
            .max_allowed_packet(Some(MOST_PACKET_BYTES))
            .stmt_cache_size(4)
            .prefer_socket(false);
        if !is_local && !url.contains("require_ssl=") {
            builder = builder.ssl_opts(SslOpts::default());
        }
        // The client asks for the process's provider of cryptography; there is only this one.
        let _ = rustls::crypto::CryptoProvider::install_default(rustls::crypto::ring::default_provider());
        Ok(Self { opts: builder.into() })
    }

    async fn connect(&self, bounds: Bounds) -> Result<Conn, Failure> {
        let mut connection = Conn::new(self.opts.clone()).await.map_err(|_| unreachable())?;
        let millis = bounds.timeout.as_millis();
        // MariaDB counts in seconds, MySQL in milliseconds; each refuses the other's word.
        let (seconds, rest) = (millis / 1_000, millis % 1_000);
        let mariadb = format!("SET SESSION max_statement_time = {seconds}.{rest:03}");
        if connection.query_drop(mariadb).await.is_err() {
            let mysql = format!("SET SESSION max_execution_time = {millis}");
            connection.query_drop(mysql).await.map_err(failed)?;
        }
        for set_up in [
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES'".to_owned(),
            "SET SESSION group_concat_max_len = 65536".to_owned(),
            format!("SET SESSION sql_select_limit = {}", bounds.rows + 1),
            "SET SESSION TRANSACTION READ ONLY".to_owned(),
            "START TRANSACTION READ ONLY".to_owned(),
        ] {
            connection.query_drop(set_up).await.map_err(failed)?;
        }
        Ok(connection)
    }

    pub(super) async fn relations(&self, asked: &Asked<'_>) -> Result<(Vec<Relation>, Session), Failure> {
        let mut connection = self.connect(asked.bounds).await?;
        let mut relations = Vec::new();
        for named in &asked.reading.relations {
            relations.extend(relation(&mut connection, named).await?);
        }
        Ok((relations, Session(connection)))
    }

    pub(super) async fn tables(&self, bounds: Bounds) -> Result<Described, Failure> {
        let mut connection = self.connect(bounds).await?;
        let query = "SELECT t.table_schema, t.table_name, c.column_name, c.column_type, t.table_type = 'BASE TABLE' \
                     FROM information_schema.tables t JOIN information_schema.columns c \
                     ON c.table_schema = t.table_schema AND c.table_name = t.table_name \
                     WHERE t.table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') \
                     ORDER BY 1, 2, c.ordinal_position LIMIT 20001";
        let rows: Vec<(String, String, String, String, bool)> =
            connection.query(query).await.map_err(failed)?;
        let mut described = Described::default();
        for (schema, name, column, kind, is_table) in rows {
            described.add(Table {
                schema,
                name,
                column,
                kind,
                is_table,
            });
        }
        Ok(described)
    }
}

/// A transaction in which the relations were looked up, for the query itself.
pub(super) struct Session(Conn);

impl Session {
    pub(super) async fn run(mut self, asked: &Asked<'_>, judgement: &Judgement) -> Result<Rows, Failure> {
        let statement = self.0.prep(asked.reading.text.as_str()).await.map_err(failed)?;
        if usize::from(statement.num_params()) != asked.params.len() {
            return Err(super::wrong_number(usize::from(statement.num_params())));
        }
        let params = match asked.params {
            [] => Params::Empty,
            params => Params::Positional(params.iter().map(param).collect()),
        };
        asked.running.begin(judgement);
        let mut found = self.0.exec_iter(&statement, params).await.map_err(failed)?;
        let columns: Option<Arc<[_]>> = found.columns();
        let columns = columns.ok_or_else(|| Failure::Rejected("the query gives no rows".to_owned()))?;
        let names = columns
            .iter()
            .map(|column| column.name_str().into_owned())
            .collect();
        let mut rows = Rows::new(names, asked.bounds);
        while let Some(row) = found.next().await.map_err(failed)? {
            let row: Row = row;
            let cells = row
                .unwrap()
                .into_iter()
                .map(|value| cell(&mut rows, value))
                .collect();
            if !rows.push(cells) {
                break;
            }
        }
        Ok(rows)
    }
}

fn cell(rows: &mut Rows, value: Cell) -> Value {
    match value {
        Cell::NULL => Value::Null,
        Cell::Bytes(bytes) => rows.bytes(bytes),
        Cell::Int(number) => number.into(),
        Cell::UInt(number) => number.into(),
        Cell::Float(number) => number.into(),
        Cell::Double(number) => number.into(),
        Cell::Date(year, month, day, hour, minute, second, micros) => {
            let mut text = format!("{year:04}-{month:02}-{day:02}");
            if (hour, minute, second, micros) != (0, 0, 0, 0) {
                let _ = write!(text, " {hour:02}:{minute:02}:{second:02}");
            }
            if micros > 0 {
                let _ = write!(text, ".{micros:06}");
            }
            Value::String(text)
        }
        Cell::Time(is_negative, days, hours, minutes, seconds, _) => {
            let sign = if is_negative { "-" } else { "" };
            let hours = u64::from(days) * 24 + u64::from(hours);
            Value::String(format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"))
        }
    }
}

fn param(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::NULL,
        Value::Bool(flag) => Cell::Int(i64::from(*flag)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Cell::Int(whole),
            (None, Some(number)) => Cell::Double(number),
            (None, None) => Cell::Bytes(number.to_string().into_bytes()),
        },
        Value::String(text) => Cell::Bytes(text.clone().into_bytes()),
        other => Cell::Bytes(other.to_string().into_bytes()),
    }
}

async fn relation(connection: &mut Conn, named: &Named) -> Result<Option<Relation>, Failure> {
    let (schema, name) = &named.exact;
    let system = ["mysql", "information_schema", "performance_schema", "sys"];
    if named
        .schema
        .as_deref()
        .is_some_and(|schema| system.contains(&schema))
    {
        return Err(super::of_the_system());
    }
    let query = "SELECT t.table_schema, t.table_name, t.table_type = 'BASE TABLE', c.column_name \
                 FROM information_schema.tables t JOIN information_schema.columns c \
                 ON c.table_schema = t.table_schema AND c.table_name = t.table_name \
                 WHERE t.table_schema = COALESCE(?, DATABASE()) AND t.table_name = ? LIMIT 5000";
    let rows: Vec<(String, String, bool, String)> = connection
        .exec(query, (schema.clone(), name.clone()))
        .await
        .map_err(failed)?;
    let Some((schema, table, is_table, _)) = rows.first().cloned() else {
        return super::not_there(named);
    };
    if system.contains(&schema.to_lowercase().as_str()) {
        return Err(super::of_the_system());
    }
    let columns = rows.into_iter().map(|(_, _, _, column)| column).collect();
    Ok(Some(Relation::new(named, &schema, &table, is_table, columns)))
}

fn unreachable() -> Failure {
    Failure::Unavailable("the database cannot be reached, or does not let the gateway in".to_owned())
}

/// In our own words: the server's may quote what is in a table.
fn failed(error: Error) -> Failure {
    let Error::Server(error) = error else {
        return Failure::Unavailable(
            "the database went away before it answered, or sent more in one row than is taken".to_owned(),
        );
    };
    let why = match error.code {
        1064 | 1149 => "the database cannot read the query: it has an error in its syntax",
        1146 | 1051 => "there is no such table; look at the schema tool",
        1054 | 1052 => {
            "a column is unknown or could be one of several; look at the schema tool and qualify it"
        }
        1055 | 1140 => "a column must be in GROUP BY or inside an aggregate",
        1305 => "there is no such function",
        1142 | 1143 | 1044 | 1045 => "the database does not let the gateway read this",
        1792 => "the query would change data, and only reading is allowed",
        1317 | 1969 | 3024 => "the query took longer than a query may take and was stopped",
        _ => "the database refuses the query",
    };
    Failure::Rejected(format!("{why} (code {})", error.code))
}
