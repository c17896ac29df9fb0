//! PostgreSQL: a connection for each call, in a transaction that cannot write.
//!
//! Every value comes as text and cut to a length by the server itself, because the client holds a row whole, however
//! large a value the query makes.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use futures_util::TryStreamExt;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::judge::{Judgement, Relation};
use super::reading::{Named, Reading};
use super::rows::{MOST_CHARACTERS, Rows};
use super::{Asked, Described, Table};
use crate::{Bounds, Failure};

/// A server.
pub(super) struct Postgres {
    config: Config,
    tls: MakeRustlsConnect,
}

impl Postgres {
    pub(super) fn at(url: &str, authorities: Option<&Path>) -> Result<Self, &'static str> {
        let mut config: Config = url.parse().map_err(|_| "is no address of a PostgreSQL server")?;
        let is_local = config.get_hosts().iter().all(|host| match host {
            Host::Tcp(name) => {
                name == "localhost" || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
            }
            Host::Unix(_) => true,
        });
        if !is_local && !url.contains("sslmode=") {
            config.ssl_mode(SslMode::Require);
        }
        config.application_name("tidegate");
        Ok(Self {
            config,
            tls: connector(authorities)?,
        })
    }

    async fn connect(&self, bounds: Bounds) -> Result<Link, Failure> {
        let (client, connection) = self
            .config
            .connect(self.tls.clone())
            .await
            .map_err(|_| unreachable())?;
        let driver = tokio::spawn(async move {
            // Whoever waits for an answer hears of its end.
            let _ = connection.await;
        });
        let link = Link { client, driver };
        let millis = bounds.timeout.as_millis();
        let begin = format!(
            "SET standard_conforming_strings = on; SET default_transaction_read_only = on; \
             SET statement_timeout = {millis}; SET lock_timeout = {millis}; \
             BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        );
        link.client.batch_execute(&begin).await.map_err(failed)?;
        Ok(link)
    }

    pub(super) async fn relations(&self, asked: &Asked<'_>) -> Result<(Vec<Relation>, Session), Failure> {
        let link = self.connect(asked.bounds).await?;
        let mut relations = Vec::new();
        for named in &asked.reading.relations {
            relations.extend(relation(&link.client, named).await?);
        }
        Ok((relations, Session(link)))
    }

    pub(super) async fn tables(&self, bounds: Bounds) -> Result<Described, Failure> {
        let link = self.connect(bounds).await?;
        let query = "SELECT n.nspname::text, c.relname::text, a.attname::text, \
                     format_type(a.atttypid, a.atttypmod), c.relkind IN ('r', 'p') \
                     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
                     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%' \
                     AND n.nspname <> 'information_schema' AND has_table_privilege(c.oid, 'SELECT') \
                     ORDER BY 1, 2, a.attnum LIMIT 20001";
        let rows = link.client.query(query, &[]).await.map_err(failed)?;
        let mut described = Described::default();
        for row in rows {
            let text = |at: usize| row.try_get::<_, String>(at).map_err(failed);
            described.add(Table {
                schema: text(0)?,
                name: text(1)?,
                column: text(2)?,
                kind: text(3)?,
                is_table: row.try_get(4).map_err(failed)?,
            });
        }
        Ok(described)
    }
}

/// A transaction in which the relations were looked up, for the query itself.
pub(super) struct Session(Link);

impl Session {
    pub(super) async fn run(self, asked: &Asked<'_>, judgement: &Judgement) -> Result<Rows, Failure> {
        let client = &self.0.client;
        let Asked { reading, bounds, .. } = asked;
        let plain = client.prepare(&reading.text).await.map_err(failed)?;
        let columns: Vec<(String, Type)> = plain
            .columns()
            .iter()
            .map(|column| (column.name().to_owned(), column.type_().clone()))
            .collect();
        let params: Vec<Text<'_>> = asked.params.iter().map(Text).collect();
        if plain.params().len() != params.len() {
            return Err(super::wrong_number(plain.params().len()));
        }
        let bounded = client
            .prepare_typed(&bounded(reading, columns.len(), bounds.rows), plain.params())
            .await
            .map_err(failed)?;
        let names = columns.iter().map(|(name, _)| name.clone()).collect();
        let mut rows = Rows::new(names, *bounds);
        asked.running.begin(judgement);
        let stream = client.query_raw(&bounded, params).await.map_err(failed)?;
        let mut stream = std::pin::pin!(stream);
        while let Some(row) = stream.try_next().await.map_err(failed)? {
            let mut cells = Vec::with_capacity(columns.len());
            for (at, (_, kind)) in columns.iter().enumerate() {
                let text: Option<String> = row.try_get(at).map_err(failed)?;
                cells.push(text.map_or(Value::Null, |text| cell(&mut rows, kind, text)));
            }
            if !rows.push(cells) {
                break;
            }
        }
        Ok(rows)
    }
}

/// The query with every value as text of a bounded length.
fn bounded(reading: &Reading, columns: usize, rows: usize) -> String {
    let (mut values, mut names) = (String::new(), String::new());
    for at in 0..columns {
        let comma = if at == 0 { "" } else { ", " };
        let _ = write!(values, "{comma}left((q.c{at})::text, {})", MOST_CHARACTERS + 1);
        let _ = write!(names, "{comma}c{at}");
    }
    let alias = if columns == 0 {
        String::new()
    } else {
        format!("({names})")
    };
    format!(
        "SELECT {values} FROM ({}) AS q{alias} LIMIT {}",
        reading.text,
        rows + 1
    )
}

fn cell(rows: &mut Rows, kind: &Type, text: String) -> Value {
    let number = |text: &str| serde_json::from_str::<serde_json::Number>(text).ok();
    let read = match *kind {
        Type::BOOL => text.parse().ok().map(Value::Bool),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::FLOAT4 | Type::FLOAT8 => {
            number(&text).map(Value::Number)
        }
        Type::JSON | Type::JSONB if text.len() <= MOST_CHARACTERS => serde_json::from_str(&text).ok(),
        _ => None,
    };
    read.unwrap_or_else(|| rows.text(text))
}

async fn relation(client: &Client, named: &Named) -> Result<Option<Relation>, Failure> {
    let query = "SELECT n.nspname::text, c.relname::text, c.relkind IN ('r', 'p'), \
                 ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) \
                 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)";
    let found = client.query_opt(query, &[&named.written]).await.map_err(failed)?;
    let Some(row) = found else {
        return super::not_there(named);
    };
    let schema: String = row.try_get(0).map_err(failed)?;
    let name: String = row.try_get(1).map_err(failed)?;
    if schema.starts_with("pg_") || schema == "information_schema" {
        return Err(super::of_the_system());
    }
    let is_table = row.try_get(2).map_err(failed)?;
    let columns = row.try_get(3).map_err(failed)?;
    Ok(Some(Relation::new(named, &schema, &name, is_table, columns)))
}

/// A connection; when dropped, it is closed, and the server gives up what it was doing.
struct Link {
    client: Client,
    driver: tokio::task::JoinHandle<()>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

fn unreachable() -> Failure {
    Failure::Unavailable("the database cannot be reached, or does not let the gateway in".to_owned())
}

/// In our own words: the server's may quote what is in a table.
fn failed(error: Error) -> Failure {
    let Some(code) = error.code() else {
        return Failure::Unavailable("the database went away before it answered".to_owned());
    };
    let code = code.code();
    let why = match code {
        "42601" => "the database cannot read the query: it has an error in its syntax",
        "42P01" => "there is no such table; look at the schema tool",
        "42703" | "42702" => {
            "a column is unknown or could be one of several; look at the schema tool and qualify it"
        }
        "42883" | "42725" => "a function or operator does not fit the types it is given; cast them",
        "42501" => "the database does not let the gateway read this",
        "42803" => "a column must be in GROUP BY or inside an aggregate",
        "57014" => "the query took longer than a query may take and was stopped",
        "25006" => "the query would change data, and only reading is allowed",
        code if code.starts_with("42") => "the database refuses the query as it is written",
        code if code.starts_with("22") => "a value has the wrong form or is out of range",
        code if code.starts_with("53") || code.starts_with("57") => {
            return Failure::Unavailable(format!("the database cannot answer now (code {code})"));
        }
        _ => "the database refuses the query",
    };
    Failure::Rejected(format!("{why} (code {code})"))
}

/// A parameter as text, which the server reads as whatever type it is.
#[derive(Debug)]
struct Text<'a>(&'a Value);

impl ToSql for Text<'_> {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self.0 {
            Value::Null => return Ok(IsNull::Yes),
            Value::String(text) => out.extend_from_slice(text.as_bytes()),
            other => out.extend_from_slice(other.to_string().as_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

fn connector(authorities: Option<&Path>) -> Result<MakeRustlsConnect, &'static str> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(path) => {
            let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let certificates = read.map_err(|_| "has a ca_file that cannot be read as PEM")?;
            for certificate in certificates {
                roots
                    .add(certificate)
                    .map_err(|_| "has a ca_file with a certificate that cannot be used")?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| "cannot be used with this build's TLS")?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
