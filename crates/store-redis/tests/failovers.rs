//! In a cluster, what one server was told is vouched for by that server's replicas alone, and a new primary is looked at before it is
//! believed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod house;

use std::time::Duration;

use house::{entry, ident, patiently, with_label};
use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, Value};
use tidegate_core::Class;
use tidegate_store::{Remote, Row, Rows, SessionStore, StoreError};
use tidegate_store_redis::{RedisStore, connect};
use xtask::services::{self, Place, RedisCluster};

/// Three primaries with a replica each, and a store that wants each change on both; nothing where there is no Redis.
struct House {
    store: RedisStore,
    cluster: RedisCluster,
    _place: Place,
}

impl House {
    async fn start() -> Option<Self> {
        services::address("TIDEGATE_TEST_REDIS").unwrap()?;
        let place = Place::new().unwrap();
        let cluster = RedisCluster::start_with_replicas(&place.directory("cluster").unwrap()).unwrap();
        let mut remote = Remote::at(cluster.url());
        remote.replicas = Some(1);
        remote.timeout = Duration::from_secs(10);
        let store = patiently(async || connect(&remote).await.ok()).await;
        Some(Self {
            store,
            cluster,
            _place: place,
        })
    }

    /// The ports of the primary that has a key of this pattern, and of its replica.
    async fn pair_with(&self, pattern: &str) -> (u16, u16) {
        let (mut primary, mut replicas) = (None, Vec::new());
        for port in self.cluster.ports() {
            if let Some(followed) = followed_by(port).await {
                replicas.push((port, followed));
            } else if !ask::<Vec<String>>(port, &["KEYS", pattern]).await.is_empty() {
                primary = Some(port);
            }
        }
        let primary = primary.unwrap();
        let replica = replicas.iter().find(|(_, followed)| *followed == primary);
        (primary, replica.unwrap().0)
    }
}

/// The port of the primary that the server at this port follows, if it is a replica.
async fn followed_by(port: u16) -> Option<u16> {
    let role: Vec<Value> = ask(port, &["ROLE"]).await;
    let mut role = role.into_iter();
    let name: String = redis::from_redis_value(role.next().unwrap()).unwrap();
    (name == "slave").then(|| redis::from_redis_value(role.nth(1).unwrap()).unwrap())
}

async fn connection(port: u16) -> MultiplexedConnection {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    client.get_multiplexed_async_connection().await.unwrap()
}

async fn ask<T: FromRedisValue>(port: u16, words: &[&str]) -> T {
    let mut cmd = redis::cmd(words.first().unwrap());
    for word in words.iter().skip(1) {
        cmd.arg(*word);
    }
    cmd.query_async(&mut connection(port).await).await.unwrap()
}

async fn tell(port: u16, words: &[&str]) {
    let _: Value = ask(port, words).await;
}

/// Waits until someone waits for the replicas of this server.
async fn until_one_waits(port: u16) {
    patiently(async || {
        let clients: String = ask(port, &["INFO", "clients"]).await;
        let none = clients.lines().any(|line| line.trim_end() == "blocked_clients:0");
        (!none).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_change_that_no_replica_has_when_its_primary_dies_does_not_count() {
    let Some(mut house) = House::start().await else {
        return;
    };
    let id = ident("s-1");
    with_label(&house.store, &id).await;
    let (primary, replica) = house.pair_with("*:session:s-1").await;
    let rows = house.store.rows();
    let before = rows.read(&id).await.unwrap().unwrap();
    house.cluster.node(replica).unwrap().pause();
    let after = Row {
        version: before.version + 1,
        label: Class::Secret,
        ..before
    };
    let changing = tokio::spawn(async move { rows.replace(&id, &after, None).await });
    until_one_waits(primary).await;
    let risen: Option<String> = ask(primary, &["HGET", &key_of(primary).await, "label"]).await;
    assert_eq!(
        risen.as_deref(),
        Some("secret"),
        "it is in force, and waits for the replica"
    );
    house.cluster.take(primary).unwrap().kill();
    house.cluster.node(replica).unwrap().resume();
    let changed = changing.await.unwrap();
    assert!(
        changed.is_err(),
        "another server's replicas do not have it: {changed:?}"
    );
}

async fn key_of(primary: u16) -> String {
    let keys: Vec<String> = ask(primary, &["KEYS", "*:session:s-1"]).await;
    keys.into_iter().next().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_read_that_no_replica_vouches_for_when_its_primary_dies_is_refused() {
    let Some(mut house) = House::start().await else {
        return;
    };
    let id = ident("s-1");
    with_label(&house.store, &id).await;
    let (primary, replica) = house.pair_with("*:session:s-1").await;
    let rows = house.store.rows();
    house.cluster.node(replica).unwrap().pause();
    let reading = tokio::spawn(async move { rows.read(&id).await });
    until_one_waits(primary).await;
    house.cluster.take(primary).unwrap().kill();
    house.cluster.node(replica).unwrap().resume();
    let read = reading.await.unwrap();
    assert!(
        read.is_err(),
        "another server's replicas know nothing of it: {read:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_new_primary_that_could_forget_is_refused() {
    let Some(house) = House::start().await else {
        return;
    };
    let (store, id) = (&house.store, ident("s-1"));
    with_label(store, &id).await;
    let (_, replica) = house.pair_with("*:session:s-1").await;
    tell(replica, &["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]).await;
    promote(replica).await;
    let mut reasons = Vec::new();
    for _ in 0..10 {
        let read = store.current(&id).await;
        reasons.push(reason(read));
        reasons.push(reason(store.raise(&id, entry(Class::Secret)).await));
    }
    assert!(
        reasons
            .iter()
            .any(|why| why.contains("maxmemory-policy = allkeys-lru")),
        "{reasons:?}"
    );
    assert!(store.ready().await.is_err(), "nor is the store ready");

    tell(replica, &["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await;
    let session = patiently(async || store.current(&id).await.ok()).await;
    assert_eq!(session.unwrap().context.label().class(), Class::Pii);
    let raised = patiently(async || store.raise(&id, entry(Class::Secret)).await.ok()).await;
    assert_eq!(raised.session.context.label().class(), Class::Secret);
    patiently(async || store.ready().await.ok()).await;
}

/// Makes a replica the primary, in order.
async fn promote(replica: u16) {
    tell(replica, &["CLUSTER", "FAILOVER"]).await;
    patiently(async || {
        let followed = followed_by(replica).await;
        followed.is_none().then_some(())
    })
    .await;
}

fn reason<T>(answer: Result<T, StoreError>) -> String {
    match answer {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_primary_that_lost_its_data_is_refused() {
    let Some(house) = House::start().await else {
        return;
    };
    let store = &house.store;
    let mut flushed = Vec::new();
    for number in 0..12 {
        let id = ident(&format!("s-{number}"));
        with_label(store, &id).await;
        let (primary, _) = house.pair_with(&format!("*:session:{id}")).await;
        if flushed.iter().any(|(known, _)| *known == primary) {
            continue;
        }
        flushed.push((primary, id));
    }
    assert_eq!(flushed.len(), 3, "sessions on each of the primaries");
    for (primary, id) in flushed {
        tell(primary, &["FLUSHALL"]).await;
        tell(primary, &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await;
        let mut reasons = Vec::new();
        for _ in 0..20 {
            reasons.extend(store.current(&id).await.err().map(|error| error.to_string()));
        }
        assert!(
            reasons.iter().any(|why| why.contains("lost the data")),
            "{reasons:?}"
        );
    }
}
