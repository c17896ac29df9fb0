//! How processes hear of each other's changes, also from a file of an older version and after a long absence.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use tidegate_core::{Class, Entry, Ident, Kinds, Moment, Name};
use tidegate_store::{Opening, SessionStore, SqliteOptions, SqliteStore};
use tokio::task::JoinSet;

fn ident(text: &str) -> Ident {
    Ident::parse(text).unwrap()
}

fn state() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tidegate.db");
    (dir, file)
}

fn store(file: &Path) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(file, SqliteOptions::default()).unwrap())
}

async fn open_session(store: &SqliteStore, id: &str) {
    let opening = Opening {
        id: ident(id),
        user: ident("ada"),
        agent: ident("agent-1"),
        at: Moment(1),
    };
    store.open(opening).await.unwrap();
}

async fn raise(store: &SqliteStore, id: &str, class: Class) {
    let entry = Entry {
        class,
        kinds: Kinds::NONE,
        source: Name::parse("crm").unwrap(),
        at: Moment(2),
    };
    store.raise(&ident(id), entry).await.unwrap();
}

async fn class_of(store: &SqliteStore, id: &str) -> Class {
    let session = store.current(&ident(id)).await.unwrap().unwrap();
    session.context.label().class()
}

/// Version 4 counted in one row, and found changed sessions by an index.
#[tokio::test]
async fn a_file_that_counted_in_one_row_is_taken_over() {
    let (_dir, file) = state();
    let old = Connection::open(&file).unwrap();
    for step in [
        include_str!("../src/sqlite/schema.sql"),
        include_str!("../src/sqlite/origins.sql"),
        include_str!("../src/sqlite/memory.sql"),
        include_str!("../src/sqlite/gates.sql"),
        "INSERT INTO session (id, user, agent, opened_at, label, kinds, epoch, revision)
         VALUES ('s', 'ada', 'agent-1', 1, 'internal', '', 0, 7)",
        "INSERT INTO rise VALUES ('s', 0, 0, 'public', 'internal', 'mail', 1)",
        "UPDATE store SET revision = 7",
        "PRAGMA user_version = 4",
    ] {
        old.execute_batch(step).unwrap();
    }
    let (one, other) = (store(&file), store(&file));
    for store in [&one, &other] {
        assert_eq!(class_of(store, "s").await, Class::Internal);
    }
    raise(&one, "s", Class::Secret).await;
    assert_eq!(class_of(&other, "s").await, Class::Secret);
    let revision = old.query_row("SELECT max(revision) FROM change", [], |row| row.get(0));
    assert_eq!(revision, Ok(8));
    // What a process of that version would do next.
    assert!(old.execute_batch("UPDATE store SET revision = 9").is_err());
}

/// More changes than are kept on file pass between two reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_comes_back_late_sees_what_it_missed() {
    const MISSED: u32 = 20_000;
    let (_dir, file) = state();
    let (late, busy) = (store(&file), store(&file));
    open_session(&busy, "s").await;
    assert_eq!(class_of(&late, "s").await, Class::Public);
    raise(&busy, "s", Class::Secret).await;
    let mut opening = JoinSet::new();
    for number in 0..MISSED {
        let busy = Arc::clone(&busy);
        opening.spawn(async move { open_session(&busy, &format!("other-{number}")).await });
        if opening.len() >= 1_000 {
            opening.join_next().await.unwrap().unwrap();
        }
    }
    while let Some(opened) = opening.join_next().await {
        opened.unwrap();
    }
    assert_eq!(class_of(&late, "s").await, Class::Secret);
    let raw = Connection::open(&file).unwrap();
    let count = |sql: &str| -> u32 { raw.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM change WHERE session = 's'"), 0);
    assert!((10_000..MISSED).contains(&count("SELECT count(*) FROM change")));
    raise(&busy, "other-1", Class::Secret).await;
    assert_eq!(class_of(&late, "other-1").await, Class::Secret);
}
