//! Databases: one query at a time, that only reads, and whose result has the class of what it touched.
//!
//! Three things keep a query from writing, each enough by itself: what is not plainly a query is refused (`guard`), the
//! transaction is one that cannot write, and the operator gives the gateway a user who may not. What a result counts as
//! is worked out from the query and the database's own list of tables before the query runs (`judge`).

mod aliases;
mod attributes;
mod classes;
mod functions;
mod guard;
mod judge;
mod lexical;
mod mysql;
mod postgres;
mod reading;
mod rows;
mod running;
mod schema;
mod sqlite;
mod types;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tidegate_core::{Class, Cleared, FieldClasses, Ident, Name};
use tokio::sync::Semaphore;

pub use classes::{BadTable, TableClasses};

use crate::{Bounds, Brought, Connector, Failure, Offer, Touched};
use attributes::calls_something;
use judge::judge;
use mysql::MySql;
use postgres::Postgres;
use reading::{Named, Reading};
use running::Running;
use schema::{Described, Table};
use sqlite::Sqlite;

/// How much longer than a query the whole call may take.
const GRACE: Duration = Duration::from_secs(2);

/// The most values for a query.
const MOST_PARAMS: usize = 256;

/// A sort of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flavor {
    Postgres,
    MySql,
    Sqlite,
}

impl Flavor {
    const fn shown(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::MySql => "MySQL",
            Self::Sqlite => "SQLite",
        }
    }

    const fn place(self) -> &'static str {
        match self {
            Self::Postgres => "$1, $2, ...",
            Self::MySql | Self::Sqlite => "?",
        }
    }
}

/// What is configured of a database. It cannot print, since an address may hold a password.
pub struct Settings {
    /// What it is called.
    pub name: Ident,
    /// Where it is.
    pub place: Place,
    /// The classes of its tables and columns.
    pub classes: TableClasses,
    /// The class of the names of its tables and columns.
    pub names: Class,
    /// The highest class that a query may hold; nothing where all may.
    pub ceiling: Option<Class>,
    /// How much one call may cost.
    pub bounds: Bounds,
    /// Who signs the server's certificate, instead of those whom the system trusts.
    pub ca_file: Option<PathBuf>,
}

/// Where a database is.
pub enum Place {
    /// A server, or a file as `sqlite:PATH`.
    Url(String),
    /// A file of SQLite's.
    File(PathBuf),
}

/// A database that cannot be used as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the address of \"{name}\" {why}")]
pub struct OpenError {
    name: Ident,
    why: &'static str,
}

/// A database.
pub struct Database {
    name: Ident,
    dataset: Name,
    backend: Backend,
    classes: Arc<TableClasses>,
    names: Class,
    bounds: Bounds,
    offers: Vec<Offer>,
    places: Semaphore,
}

enum Backend {
    Postgres(Box<Postgres>),
    MySql(MySql),
    Sqlite(Sqlite),
}

/// A query on its way to a server.
struct Asked<'a> {
    reading: &'a Reading,
    params: &'a [Value],
    bounds: Bounds,
    running: &'a Running,
}

impl Database {
    /// A database as it is configured. It is not spoken to before there is a call.
    ///
    /// # Errors
    /// When the address is none.
    pub fn new(settings: Settings) -> Result<Self, OpenError> {
        let name = settings.name.clone();
        let bad = |why| OpenError {
            name: name.clone(),
            why,
        };
        let backend = backend(&settings).map_err(bad)?;
        let dataset =
            Name::parse(&format!("sql:{name}")).map_err(|_| bad("is under a name that is too long"))?;
        Ok(Self {
            offers: offers(&settings, backend.flavor()),
            name: settings.name,
            dataset,
            backend,
            classes: Arc::new(settings.classes),
            names: settings.names,
            bounds: settings.bounds,
            places: Semaphore::new(settings.bounds.at_once),
        })
    }

    async fn query(&self, query: Query, running: &Running) -> Result<Brought, Failure> {
        let flavor = self.backend.flavor();
        let read = tokio::task::spawn_blocking(move || {
            reading::read(flavor, &query.text).map(|read| (read, query.params))
        });
        let read = read
            .await
            .map_err(|_| Failure::Unavailable("reading the query was interrupted".to_owned()))?;
        let (reading, params) = read?;
        let asked = Asked {
            reading: &reading,
            params: &params,
            bounds: self.bounds,
            running,
        };
        let (rows, judgement) = match &self.backend {
            Backend::Postgres(server) => {
                let (relations, session) = server.relations(&asked).await?;
                if calls_something(&reading, &relations) {
                    return Err(no_column());
                }
                let judgement = judge(&self.classes, &reading, &relations);
                (session.run(&asked, &judgement).await?, judgement)
            }
            Backend::MySql(server) => {
                let (relations, session) = server.relations(&asked).await?;
                let judgement = judge(&self.classes, &reading, &relations);
                (session.run(&asked, &judgement).await?, judgement)
            }
            Backend::Sqlite(file) => {
                let call = sqlite::Call {
                    reading,
                    params,
                    bounds: self.bounds,
                    classes: Arc::clone(&self.classes),
                    running: running.clone(),
                };
                file.run(call).await?
            }
        };
        Ok(Brought {
            class: judgement.class,
            fields: judgement.fields(rows.columns()),
            content: rows.into_content(),
            dataset: self.dataset.clone(),
        })
    }

    async fn schema(&self) -> Result<Brought, Failure> {
        let described = match &self.backend {
            Backend::Postgres(server) => server.tables(self.bounds).await?,
            Backend::MySql(server) => server.tables(self.bounds).await?,
            Backend::Sqlite(file) => file.tables(self.bounds).await?,
        };
        Ok(Brought {
            content: described.into_content(&self.classes),
            class: self.names,
            fields: FieldClasses::NONE,
            dataset: self.dataset.clone(),
        })
    }
}

#[async_trait]
impl Connector for Database {
    fn name(&self) -> &str {
        self.name.as_str()
    }

    fn offers(&self) -> &[Offer] {
        &self.offers
    }

    async fn call(&self, tool: &str, arguments: Cleared<Value>) -> Result<Brought, Failure> {
        let arguments = arguments.into_inner();
        let running = Running::default();
        let work = async {
            let busy = |_| Failure::Unavailable("the gateway is stopping".to_owned());
            let _place = self.places.acquire().await.map_err(busy)?;
            match tool {
                "query" => self.query(Query::read(arguments)?, &running).await,
                "schema" => self.schema().await,
                _ => Err(Failure::Missing("there is no such tool".to_owned())),
            }
        };
        let limit = self.bounds.timeout + GRACE;
        let done = tokio::time::timeout(limit, work)
            .await
            .unwrap_or(Err(Failure::TimedOut(self.bounds.timeout.as_millis())));
        // Once a query looks at rows, there is one failure, whatever it was: which one it is may lie in what they hold.
        done.map_err(|failure| match running.class() {
            Some(class) => Failure::Unfinished(Touched {
                class,
                dataset: self.dataset.clone(),
            }),
            None => failure,
        })
    }
}

impl Backend {
    const fn flavor(&self) -> Flavor {
        match self {
            Self::Postgres(_) => Flavor::Postgres,
            Self::MySql(_) => Flavor::MySql,
            Self::Sqlite(_) => Flavor::Sqlite,
        }
    }
}

fn backend(settings: &Settings) -> Result<Backend, &'static str> {
    let url = match &settings.place {
        Place::File(path) => return Ok(Backend::Sqlite(Sqlite::at(path))),
        Place::Url(url) => url.as_str(),
    };
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("postgres" | "postgresql") => Ok(Backend::Postgres(Box::new(Postgres::at(
            url,
            settings.ca_file.as_deref(),
        )?))),
        Some("mysql" | "mariadb") => Ok(Backend::MySql(MySql::at(url)?)),
        Some("sqlite") => {
            let path = url.trim_start_matches("sqlite:").trim_start_matches("//");
            Ok(Backend::Sqlite(Sqlite::at(path.as_ref())))
        }
        _ => Err("must begin with postgres://, mysql://, mariadb:// or sqlite:"),
    }
}

/// The arguments of a query.
struct Query {
    text: String,
    params: Vec<Value>,
}

impl Query {
    fn read(arguments: Value) -> Result<Self, Failure> {
        let wrong = |why: &str| Failure::Arguments(why.to_owned());
        let Value::Object(mut arguments) = arguments else {
            return Err(wrong(
                "a query is needed: {\"query\": \"SELECT ...\", \"params\": []}",
            ));
        };
        let Some(Value::String(text)) = arguments.remove("query") else {
            return Err(wrong("query must be a text"));
        };
        let params = match arguments.remove("params") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(params)) if params.len() <= MOST_PARAMS => params,
            Some(_) => return Err(wrong("params must be a list of at most 256 values")),
        };
        if !arguments.is_empty() {
            return Err(wrong("query and params are all that is taken"));
        }
        Ok(Self { text, params })
    }
}

fn offers(settings: &Settings, flavor: Flavor) -> Vec<Offer> {
    let (name, kind, place) = (&settings.name, flavor.shown(), flavor.place());
    let Bounds { rows, timeout, .. } = settings.bounds;
    let offer = |tool: &str, title: String, description: String, input: Value, returns: Class| Offer {
        tool: tool.to_owned(),
        title,
        description,
        input,
        writes: false,
        external: false,
        returns,
        ceiling: settings.ceiling,
    };
    let query = offer(
        "query",
        format!("Query {name}"),
        format!(
            "Runs one SQL query that only reads on the {kind} database \"{name}\" and gives back columns and rows. One \
             SELECT, WITH ... SELECT or VALUES without comments; put values into params and write {place} for them. At \
             most {rows} rows and {} ms; a longer result is cut and says so. The session takes the class of the tables \
             and columns that the query touches, so select only what is needed: columns that may not be seen come as \
             stubs. Ask {name}.schema first.",
            timeout.as_millis()
        ),
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": format!("one query in the SQL of {kind}")},
                "params": {
                    "type": "array",
                    "maxItems": MOST_PARAMS,
                    "items": {"type": ["string", "number", "boolean", "null"]},
                    "description": format!("the values for {place}, in order"),
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
        settings.classes.most(),
    );
    let schema = offer(
        "schema",
        format!("Tables of {name}"),
        format!(
            "Lists the tables and columns of the {kind} database \"{name}\" with their types, and the class that a \
             session takes when it reads each."
        ),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
        settings.names,
    );
    vec![query, schema]
}

/// A name that the database does not know: one that the query itself gives is no relation.
fn not_there<T>(named: &Named) -> Result<Option<T>, Failure> {
    if named.may_be_defined {
        return Ok(None);
    }
    Err(Failure::Missing(
        "a table in the query does not exist; look at the schema tool".to_owned(),
    ))
}

fn no_column() -> Failure {
    Failure::Refused(
        "a name behind a table's is none of its columns; look at the schema tool, and give each table a name of its own"
            .to_owned(),
    )
}

fn of_the_system() -> Failure {
    Failure::Refused(
        "the database's own tables are not read; the schema tool lists tables and columns".to_owned(),
    )
}

fn wrong_number(wanted: usize) -> Failure {
    Failure::Arguments(format!(
        "the query has places for {wanted} values, and params must hold as many"
    ))
}

#[cfg(test)]
mod tests;
