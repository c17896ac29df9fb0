//! Real databases: what a query is refused, what its result counts as, and that a huge one is cut.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod cleared;

use std::time::Duration;

use cleared::cleared;
use mysql_async::prelude::Queryable;
use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate_connect::sql::{Database, Place, Settings, TableClasses};
use tidegate_connect::{Bounds, Brought, Connector, Failure, Touched};
use tidegate_core::{Class, Ident, Name};
use xtask::services::address;

const TABLES: [&str; 9] = [
    "CREATE TABLE guests (id int, name varchar(40), email varchar(80), city varchar(40))",
    "INSERT INTO guests VALUES (1, 'Ada', 'ada@example.org', 'London'), (2, 'Grace', 'grace@example.org', 'New York')",
    "CREATE TABLE rooms (id int, name varchar(40), price decimal(8, 2), opened date)",
    "INSERT INTO rooms VALUES (1, 'Sea', 120.50, '2020-01-02'), (2, 'Hill', NULL, NULL)",
    "CREATE TABLE notes (id int, body varchar(40))",
    "INSERT INTO notes VALUES (1, 'canary')",
    "CREATE VIEW everyone AS SELECT id, email FROM guests",
    "CREATE TABLE digits (d int)",
    "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
];

fn database(place: Place, rows: usize) -> Database {
    let mut classes = TableClasses::new(Class::Confidential);
    for (table, class) in [
        ("guests", Class::Internal),
        ("rooms", Class::Public),
        ("digits", Class::Public),
    ] {
        classes.table(table, class).unwrap();
    }
    classes.column("guests.email", Class::Pii).unwrap();
    let settings = Settings {
        name: Ident::parse("crm").unwrap(),
        place,
        classes,
        names: Class::Internal,
        ceiling: None,
        bounds: Bounds {
            rows,
            timeout: Duration::from_secs(30),
            ..Bounds::STANDARD
        },
        ca_file: None,
    };
    Database::new(settings).unwrap()
}

async fn ask(database: &Database, query: &str, params: Value) -> Result<Brought, Failure> {
    let arguments = json!({"query": query, "params": params});
    database.call("query", cleared(arguments)).await
}

/// Everything that holds on every database. `place` writes the nth place for a value.
async fn check_all(database: &Database, place: fn(usize) -> String) {
    check_classes(database).await;
    check_refused(database).await;
    let (one, two) = (place(1), place(2));
    let query = format!("SELECT name, price, opened FROM rooms WHERE id = {one} OR name = {two} ORDER BY id");
    let rooms = ask(database, &query, json!([2, "Sea"])).await.unwrap().content;
    assert_eq!(rooms["columns"], json!(["name", "price", "opened"]));
    assert_eq!(
        (&rooms["row_count"], &rooms["truncated"]),
        (&json!(2), &json!(false))
    );
    assert_eq!(rooms["rows"][1], json!(["Hill", null, null]));
    assert_eq!(rooms["rows"][0][0], "Sea");
    assert_eq!(rooms["rows"][0][2], "2020-01-02");
    // A value that looks like a query stays a value.
    let query = format!("SELECT count(*) AS n FROM rooms WHERE name = {one}");
    let none = ask(database, &query, json!(["x' OR '1'='1"]))
        .await
        .unwrap()
        .content;
    assert_eq!(none["rows"], json!([[0]]));
    assert!(matches!(
        ask(database, &query, json!([])).await,
        Err(Failure::Arguments(_))
    ));
    let schema = database.call("schema", cleared(json!({}))).await.unwrap();
    assert_eq!(schema.class, Class::Internal);
    let listed = schema.content["tables"].as_array().unwrap().iter();
    let guests = listed.filter(|table| table["table"].as_str().unwrap().ends_with(".guests"));
    let guests: Vec<_> = guests.collect();
    assert_eq!(guests.len(), 1);
    assert_eq!(guests[0]["class"], "internal");
    assert_eq!(guests[0]["columns"][2]["name"], "email");
    assert_eq!(guests[0]["columns"][2]["class"], "pii");
}

async fn check_classes(database: &Database) {
    for (query, class, email) in [
        ("SELECT name FROM rooms", Class::Public, None),
        ("SELECT name, city FROM guests", Class::Internal, None),
        ("SELECT name, email FROM guests", Class::Pii, Some(Class::Pii)),
        ("SELECT * FROM guests", Class::Pii, Some(Class::Pii)),
        ("SELECT id FROM guests WHERE email LIKE 'a%'", Class::Pii, None),
        ("SELECT body FROM notes", Class::Confidential, None),
        ("SELECT id FROM everyone", Class::Pii, None),
        (
            "WITH g AS (SELECT * FROM guests) SELECT count(*) AS n FROM g",
            Class::Pii,
            None,
        ),
        (
            "SELECT r.name FROM rooms r JOIN guests g ON g.id = r.id",
            Class::Internal,
            None,
        ),
    ] {
        let brought = ask(database, query, json!([])).await.unwrap();
        assert_eq!(brought.class, class, "{query}");
        assert_eq!(brought.fields.column("email"), email, "{query}");
        assert_eq!(brought.dataset.as_str(), "sql:crm");
    }
    let by_name = ask(database, "SELECT name, email FROM guests", json!([]))
        .await
        .unwrap();
    assert_eq!(by_name.fields.column("name"), Some(Class::Internal));
}

async fn check_refused(database: &Database) {
    for query in [
        "INSERT INTO rooms VALUES (3, 'x', 1, NULL)",
        "UPDATE rooms SET name = 'x'",
        "DELETE FROM rooms",
        "DROP TABLE rooms",
        "SELECT 1; DROP TABLE rooms",
        "WITH gone AS (DELETE FROM rooms RETURNING *) SELECT * FROM gone",
        "SELECT * FROM rooms FOR UPDATE",
        "SELECT * INTO copy FROM rooms",
        "COPY rooms TO '/tmp/x'",
        "CALL p()",
        "SET x = 1",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT LOAD_FILE('/etc/passwd')",
        "SELECT nextval('s')",
        "SELECT pg_sleep(1)",
        "SELECT SLEEP(1)",
        "SELECT load_extension('x')",
        "SELECT add_one(1)",
        "SELECT name FROM rooms INTO OUTFILE '/tmp/x'",
        "SELECT * FROM pg_shadow",
        "SELECT * FROM pg_catalog.pg_authid",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM mysql.user",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM sqlite_schema",
        "SELECT * FROM pragma_table_info",
        "SELECT * FROM nowhere",
        "SELECT nothing FROM rooms",
        "WITH \"only\" AS (SELECT 1 AS x) SELECT name, city FROM ONLY guests",
        "WITH only AS (SELECT 1 AS x) SELECT name, city FROM ONLY guests",
        "WITH \"only\" AS (SELECT 1 AS x) SELECT usename FROM ONLY pg_shadow",
        "WITH \"only\" AS (SELECT 1 AS x) SELECT g.name FROM rooms, LATERAL (SELECT * FROM ONLY guests) AS g",
    ] {
        let refused = ask(database, query, json!([])).await;
        let failure = refused.expect_err(query).to_string();
        assert!(
            !failure.contains("canary") && !failure.contains("Ada"),
            "{failure}"
        );
    }
    let left = ask(database, "SELECT count(*) AS n FROM rooms", json!([]))
        .await
        .unwrap();
    assert_eq!(left.content["rows"], json!([[2]]));
}

/// A query that fails on a value, whichever it is, says nothing but that it failed, and counts as what it looked at.
async fn check_failing(database: &Database, queries: &[&str], class: Class) {
    for query in queries {
        let touched = Touched {
            class,
            dataset: Name::parse("sql:crm").unwrap(),
        };
        let failed = ask(database, query, json!([])).await;
        assert_eq!(failed.expect_err(query), Failure::Unfinished(touched), "{query}");
    }
    // What is wrong with a query itself is told as before.
    let misspelt = ask(database, "SELECT nothing FROM guests", json!([])).await;
    assert!(matches!(misspelt, Err(Failure::Rejected(_))), "{misspelt:?}");
}

/// The most memory that this process has had, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    peak.trim_end_matches("kB").trim().parse().unwrap()
}

/// Ten million rows, of which only the first are given, with a word about it. Held whole, they would take hundreds of
/// mebibytes.
async fn check_cut(database: &Database, query: &str) {
    let before = peak_kib();
    let brought = ask(database, query, json!([])).await.unwrap();
    let grown = peak_kib() - before;
    assert!(grown < 64 * 1024, "{query}: {grown} KiB more");
    let content = &brought.content;
    assert_eq!(content["row_count"], 5);
    assert_eq!(content["truncated"], true);
    let note = content["note"].as_str().unwrap();
    assert!(
        note.starts_with("only the first 5 rows are here; there are more"),
        "{note}"
    );
}

const TEN_MILLION: &str =
    "SELECT a.d AS n FROM digits a, digits b, digits c, digits d, digits e, digits f, digits g";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres() {
    let Some(url) = address("TIDEGATE_TEST_POSTGRES").unwrap() else {
        return;
    };
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    let schema = format!("connect_{}", std::process::id());
    let begin = format!(
        "DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}; SET search_path = {schema}; CREATE SEQUENCE s"
    );
    client.batch_execute(&begin).await.unwrap();
    for statement in TABLES {
        client.batch_execute(statement).await.unwrap();
    }
    let function = "CREATE FUNCTION add_one(n int) RETURNS int LANGUAGE sql AS 'SELECT n + 1'";
    client.batch_execute(function).await.unwrap();
    let checked = "CREATE DOMAIN checked AS text CHECK (add_one(length(VALUE)) > 0)";
    client.batch_execute(checked).await.unwrap();
    let of_a_row = "CREATE FUNCTION told(g guests) RETURNS text LANGUAGE sql AS 'SELECT g.name'";
    client.batch_execute(of_a_row).await.unwrap();
    let joint = if url.contains('?') { "&" } else { "?" };
    let place = || Place::Url(format!("{url}{joint}options=-c%20search_path%3D{schema}"));
    check_all(&database(place(), 1_000), |n| format!("${n}")).await;
    let small = database(place(), 5);
    check_cut(&small, "SELECT n FROM generate_series(1, 10000000) AS n").await;
    check_cut(&small, TEN_MILLION).await;
    // What one value unfolds to is bounded by the server.
    let wide = ask(
        &small,
        "SELECT string_agg(n::text, ',') AS all FROM generate_series(1, 300000) AS n",
        json!([]),
    );
    let wide = wide.await.unwrap().content;
    assert_eq!(wide["rows"][0][0].as_str().unwrap().chars().count(), 16_385);
    assert!(wide["note"].as_str().unwrap().contains("end in …"));
    let guesses = [
        "SELECT CASE WHEN email LIKE 'a%' THEN 1 / (id - id) ELSE CAST(email AS int) END FROM guests WHERE id = 1",
        "SELECT CASE WHEN email LIKE 'b%' THEN 1 / (id - id) ELSE CAST(email AS int) END FROM guests WHERE id = 1",
    ];
    check_failing(&small, &guesses, Class::Confidential).await;
    check_failing(&small, &["SELECT 1 / (id - id) FROM rooms"], Class::Public).await;
    for query in [
        "SELECT ('work_mem').current_setting",
        "SELECT g.current_setting FROM unnest(ARRAY['work_mem']) AS g",
        "SELECT j.current_setting FROM json_array_elements_text('[\"work_mem\"]') AS j",
        "SELECT g.told FROM guests g",
        "SELECT g::regclass::text FROM generate_series(16380, 16390) AS g",
        "SELECT 10::regrole::text AS x",
        "SELECT CAST('guests' AS regclass)::oid::int AS x",
        "SELECT regclass 'guests' AS x",
        "SELECT name::checked AS x FROM rooms",
        "SELECT id FROM guests WHERE guests.told = 'Ada'",
    ] {
        let refused = ask(&small, query, json!([])).await;
        assert!(
            matches!(refused, Err(Failure::Refused(_))),
            "{query}: {refused:?}"
        );
    }
    let given = "SELECT j.key, e.n FROM json_each('{\"a\": 1}') AS j, unnest(ARRAY[1]) AS e(n)";
    assert!(ask(&small, given, json!([])).await.is_ok());
    // A setting that would let a transaction write does not help.
    let session = ask(&small, "SELECT to_json(g) AS g FROM guests g LIMIT 1", json!([]))
        .await
        .unwrap();
    assert_eq!(session.class, Class::Pii);
    client
        .batch_execute(&format!("DROP SCHEMA {schema} CASCADE"))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mariadb() {
    let Some(url) = address("TIDEGATE_TEST_MARIADB").unwrap() else {
        return;
    };
    let name = format!("connect_{}", std::process::id());
    let mut connection = mysql_async::Conn::from_url(&url).await.unwrap();
    for statement in [
        format!("DROP DATABASE IF EXISTS {name}"),
        format!("CREATE DATABASE {name}"),
        format!("USE {name}"),
        "CREATE FUNCTION add_one(n int) RETURNS int DETERMINISTIC RETURN n + 1".to_owned(),
    ] {
        connection.query_drop(statement).await.unwrap();
    }
    for statement in TABLES {
        connection.query_drop(statement).await.unwrap();
    }
    let (server, _) = url.rsplit_once('/').unwrap();
    let place = || Place::Url(format!("{server}/{name}"));
    check_all(&database(place(), 1_000), |_| "?".to_owned()).await;
    let small = database(place(), 5);
    check_cut(&small, TEN_MILLION).await;
    check_cut(&small, &format!("{TEN_MILLION} LIMIT 10000000")).await;
    let guess =
        "SELECT CASE WHEN email LIKE 'a%' THEN (SELECT d FROM digits) END AS x FROM guests WHERE id = 1";
    check_failing(&small, &[guess], Class::Confidential).await;
    check_failing(&small, &["SELECT (SELECT d FROM digits) AS x"], Class::Public).await;
    for query in [
        "SELECT 1 /*! UNION SELECT 2 */",
        "SELECT @@datadir",
        "SELECT BENCHMARK(100, MD5('x'))",
        "SELECT 'a\\' OR 1=1'",
    ] {
        assert!(ask(&small, query, json!([])).await.is_err(), "{query}");
    }
    connection
        .query_drop(format!("DROP DATABASE {name}"))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite() {
    let place = TempDir::new().unwrap();
    let path = place.path().join("crm.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    for statement in TABLES {
        connection.execute_batch(statement).unwrap();
    }
    drop(connection);
    check_all(&database(Place::File(path.clone()), 1_000), |_| "?".to_owned()).await;
    let small = database(Place::Url(format!("sqlite:{}", path.display())), 5);
    check_cut(&small, TEN_MILLION).await;
    let counted =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000) SELECT i FROM n";
    check_cut(&small, counted).await;
    let guess = "SELECT CASE WHEN email LIKE 'a%' THEN abs(-9223372036854775807 - 1) END AS x FROM guests WHERE id = 1";
    check_failing(&small, &[guess], Class::Confidential).await;
    check_failing(
        &small,
        &["SELECT sum(9223372036854775807) AS x FROM digits"],
        Class::Public,
    )
    .await;
    let bomb = "SELECT printf('%.*c', 100000000, 'x') AS x";
    assert!(ask(&small, bomb, json!([])).await.is_err());
    // One that does not exist is not made.
    let missing = database(Place::File(place.path().join("missing.db")), 5);
    assert!(matches!(
        ask(&missing, "SELECT 1", json!([])).await,
        Err(Failure::Unavailable(_))
    ));
    assert!(!place.path().join("missing.db").exists());
}

#[tokio::test]
async fn an_endless_query_is_stopped_and_a_dead_server_told_of_without_its_address() {
    let place = TempDir::new().unwrap();
    let path = place.path().join("crm.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE t (a)")
        .unwrap();
    let settings = |place, timeout| Settings {
        name: Ident::parse("crm").unwrap(),
        place,
        classes: TableClasses::new(Class::Public),
        names: Class::Public,
        ceiling: None,
        bounds: Bounds {
            timeout,
            ..Bounds::STANDARD
        },
        ca_file: None,
    };
    let quick = Database::new(settings(Place::File(path), Duration::from_millis(200))).unwrap();
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS n FROM n";
    let stopped = ask(&quick, endless, json!([])).await.unwrap_err();
    assert!(stopped.to_string().contains("took longer"), "{stopped}");
    for url in [
        "postgres://u:canary@127.0.0.1:1/x",
        "mysql://u:canary@127.0.0.1:1/x",
    ] {
        let dead = Database::new(settings(Place::Url(url.to_owned()), Duration::from_secs(5))).unwrap();
        let failure = ask(&dead, "SELECT 1", json!([])).await.unwrap_err();
        assert!(matches!(failure, Failure::Unavailable(_)), "{failure}");
        assert!(!format!("{failure:?}").contains("canary"));
    }
    for url in ["oracle://u:canary@h/x", "postgres:// :canary", ""] {
        let refused = Database::new(settings(Place::Url(url.to_owned()), Duration::from_secs(5)))
            .err()
            .unwrap();
        assert!(!refused.to_string().contains("canary"), "{refused}");
    }
}
