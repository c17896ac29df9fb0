//! A server that could forget what it acknowledged is refused, each time for the reason it gives.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use redis::aio::MultiplexedConnection;
use tidegate_core::{Class, Entry, Ident, Kinds, Moment, Name};
use tidegate_store::{Opening, Remote, SessionStore, StoreError};
use tidegate_store_redis::{RedisStore, connect};
use xtask::services::{self, Place, Redis, Running, Service};

/// A server of the test's own, and a way to spoil it; nothing where there is no Redis.
async fn server() -> Option<(Running, Place, MultiplexedConnection)> {
    services::address("TIDEGATE_TEST_REDIS").unwrap()?;
    let place = Place::new().unwrap();
    let server = Redis
        .start(&place.directory("state").unwrap(), services::free_port().unwrap())
        .unwrap();
    let client = redis::Client::open(server.url()).unwrap();
    let operator = client.get_multiplexed_async_connection().await.unwrap();
    Some((server, place, operator))
}

async fn tell(operator: &mut MultiplexedConnection, words: &[&str]) {
    let mut cmd = redis::cmd(words.first().unwrap());
    for word in words.iter().skip(1) {
        cmd.arg(*word);
    }
    let _: redis::Value = cmd.query_async(operator).await.unwrap();
}

fn reason<T>(answer: Result<T, StoreError>) -> String {
    match answer {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error.to_string(),
    }
}

async fn with_session(url: &str) -> (RedisStore, Ident) {
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
    let Some((server, _place, mut operator)) = server().await else {
        return;
    };
    for (setting, bad, good) in [
        ("appendonly", "no", "yes"),
        ("appendfsync", "everysec", "always"),
        ("no-appendfsync-on-rewrite", "yes", "no"),
        ("maxmemory-policy", "allkeys-lru", "noeviction"),
        ("maxmemory-policy", "volatile-ttl", "noeviction"),
    ] {
        tell(&mut operator, &["CONFIG", "SET", setting, bad]).await;
        let why = reason(connect(&Remote::at(server.url())).await);
        assert!(why.contains(&format!("{setting} = {bad}")), "{why}");
        tell(&mut operator, &["CONFIG", "SET", setting, good]).await;
    }
    connect(&Remote::at(server.url())).await.unwrap();
}

#[tokio::test]
async fn a_session_that_would_expire() {
    let Some((server, _place, mut operator)) = server().await else {
        return;
    };
    let (store, id) = with_session(server.url()).await;
    let keys: Vec<String> = redis::cmd("KEYS")
        .arg("*:session:s-1")
        .query_async(&mut operator)
        .await
        .unwrap();
    let key = keys.first().unwrap();
    tell(&mut operator, &["EXPIRE", key, "1000"]).await;
    assert!(reason(store.current(&id).await).contains("expire"));
    tell(&mut operator, &["PERSIST", key]).await;
    assert!(store.current(&id).await.unwrap().is_some());
    // A session that is gone cannot be opened anew with a clean label.
    tell(&mut operator, &["DEL", key]).await;
    assert_eq!(store.current(&id).await.unwrap(), None);
    let again = Opening {
        id: id.clone(),
        user: id.clone(),
        agent: id.clone(),
        at: Moment(0),
    };
    assert!(store.open(again).await.is_err());
}

#[tokio::test]
async fn a_server_that_lost_its_data() {
    let Some((server, _place, mut operator)) = server().await else {
        return;
    };
    let (store, id) = with_session(server.url()).await;
    tell(&mut operator, &["FLUSHALL"]).await;
    tell(
        &mut operator,
        &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"],
    )
    .await;
    let mut reasons = Vec::new();
    for _ in 0..20 {
        reasons.extend(store.current(&id).await.err().map(|error| error.to_string()));
    }
    assert!(
        reasons.iter().any(|why| why.contains("lost the data")),
        "{reasons:?}"
    );
}

#[tokio::test]
async fn a_replica_and_a_failover_without_replicas() {
    let Some((server, _place, mut operator)) = server().await else {
        return;
    };
    for url in ["redis+sentinel://127.0.0.1/main", "redis+cluster://127.0.0.1"] {
        assert!(reason(connect(&Remote::at(url)).await).contains("replicas"));
    }
    let mut remote = Remote::at(server.url());
    remote.replicas = Some(1);
    remote.timeout = std::time::Duration::from_millis(300);
    assert!(connect(&remote).await.is_err(), "there is no replica");
    tell(&mut operator, &["REPLICAOF", "127.0.0.1", "1"]).await;
    assert!(reason(connect(&Remote::at(server.url())).await).contains("replica"));
}
