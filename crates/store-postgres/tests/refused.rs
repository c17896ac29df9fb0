//! A server that could forget what it acknowledged is refused, and the tables refuse what would lower a label.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use tidegate_core::{Class, Entry, Ident, Kinds, Moment, Name};
use tidegate_store::{Opening, Remote, SessionStore, StoreError};
use tidegate_store_postgres::{PostgresStore, connect};
use tokio_postgres::{Client, NoTls};
use xtask::services::{self, Place, Postgres, Running, Service};

/// A server of the test's own, and a way to spoil it; nothing where there is no PostgreSQL.
async fn server() -> Option<(Running, Place, Client)> {
    services::address("TIDEGATE_TEST_POSTGRES").unwrap()?;
    let place = Place::new().unwrap();
    let server = Postgres
        .start(&place.directory("state").unwrap(), services::free_port().unwrap())
        .unwrap();
    let (operator, connection) = tokio_postgres::connect(server.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    Some((server, place, operator))
}

async fn with_session(url: &str) -> (PostgresStore, Ident) {
    let store = connect(&Remote::at(url)).await.unwrap();
    let id = Ident::parse("s-1").unwrap();
    let opening = Opening {
        id: id.clone(),
        user: id.clone(),
        agent: id.clone(),
        at: Moment(0),
    };
    store.open(opening).await.unwrap();
    let entry = Entry {
        class: Class::Pii,
        kinds: Kinds::NONE,
        source: Name::parse("crm").unwrap(),
        at: Moment(1),
    };
    store.raise(&id, entry).await.unwrap();
    (store, id)
}

#[tokio::test]
async fn settings_by_which_labels_would_fall() {
    let Some((server, _place, operator)) = server().await else {
        return;
    };
    for setting in ["synchronous_commit", "full_page_writes", "fsync"] {
        for (value, refused) in [("off", true), ("on", false)] {
            operator
                .batch_execute(&format!("ALTER SYSTEM SET {setting} = {value}"))
                .await
                .unwrap();
            operator.batch_execute("SELECT pg_reload_conf()").await.unwrap();
            // The server takes the setting over when it has read the file.
            let mut seen = connect(&Remote::at(server.url())).await.map(drop);
            for _ in 0..100 {
                if seen.is_err() == refused {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                seen = connect(&Remote::at(server.url())).await.map(drop);
            }
            match (seen, refused) {
                (Ok(()), false) => {}
                (Err(error), true) => assert!(error.to_string().contains(setting), "{error}"),
                (seen, _) => panic!("{setting} = {value}: {seen:?}"),
            }
        }
    }
}

#[tokio::test]
async fn the_tables_never_lower_a_label() {
    let Some((server, _place, operator)) = server().await else {
        return;
    };
    let (store, id) = with_session(server.url()).await;
    let before = store.current(&id).await.unwrap();
    for statement in [
        "UPDATE tidegate.session SET label = 'public'",
        "UPDATE tidegate.session SET label = 'public', version = version + 1",
        "SET search_path = tidegate; UPDATE session SET label = 'public', version = version + 1, epoch = epoch + 1",
        "DELETE FROM tidegate.session",
        "TRUNCATE tidegate.session CASCADE",
        "UPDATE tidegate.session SET id = 's-2', version = version + 1",
    ] {
        operator
            .batch_execute("SET search_path = tidegate")
            .await
            .unwrap();
        assert!(operator.batch_execute(statement).await.is_err(), "{statement}");
        assert_eq!(store.current(&id).await.unwrap(), before, "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_that_start_at_once_make_the_tables_once() {
    let Some((server, _place, operator)) = server().await else {
        return;
    };
    let mut remote = Remote::at(server.url());
    remote.timeout = std::time::Duration::from_secs(20);
    let starting = (0..6).map(|_| {
        let remote = remote.clone();
        tokio::spawn(async move { connect(&remote).await.map(drop) })
    });
    for started in starting.collect::<Vec<_>>() {
        started.await.unwrap().unwrap();
    }
    operator
        .batch_execute("UPDATE tidegate.store SET schema_version = 99")
        .await
        .unwrap();
    assert!(matches!(
        connect(&remote).await.map(drop),
        Err(StoreError::TooNew { found: 99, .. })
    ));
}
