//! The contract holds on a cluster, under a sentinel and over TLS; a failover never lowers a label.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod house;

use std::time::Duration;

use house::{entry, patiently, with_label};
use tidegate_core::{Class, Ident};
use tidegate_store::{Remote, SessionStore, conformance};
use tidegate_store_redis::{RedisStore, connect};
use xtask::services::{self, Authority, Place, Redis, RedisCluster, Service};

fn is_there() -> bool {
    services::address("TIDEGATE_TEST_REDIS").unwrap().is_some()
}

/// A state of its own for each case.
async fn open(remote: &Remote, case: &str) -> RedisStore {
    let mut remote = remote.clone();
    remote.namespace = case.chars().take(38).collect();
    remote.timeout = Duration::from_secs(20);
    connect(&remote).await.unwrap()
}

async fn check(remote: &Remote) {
    conformance::run_all(|case| open(remote, case)).await;
    conformance::run_shared(|case| open(remote, case)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cluster() {
    if !is_there() {
        return;
    }
    let place = Place::new().unwrap();
    let cluster = RedisCluster::start(&place.directory("cluster").unwrap()).unwrap();
    let mut remote = Remote::at(cluster.url());
    remote.replicas = Some(0);
    check(&remote).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn over_tls() {
    if !is_there() {
        return;
    }
    let place = Place::new().unwrap();
    let state = place.directory("state").unwrap();
    let keys = place.directory("keys").unwrap();
    let authority = Authority::new(&keys, "authority.pem").unwrap();
    let other = Authority::new(&keys, "other.pem").unwrap();
    let certified = authority.certify(&keys).unwrap();
    let port = services::free_port().unwrap();
    let server = Redis.start_tls(&state, port, &certified).unwrap();
    let mut remote = Remote::at(server.url());
    remote.ca_file = Some(authority.file.clone());
    check(&remote).await;
    for untrusting in [Some(other.file), None] {
        remote.ca_file = untrusting;
        assert!(
            connect(&remote).await.is_err(),
            "a certificate that nobody here trusts"
        );
    }
    let plain = Remote::at(&format!("redis://127.0.0.1:{port}"));
    assert!(connect(&plain).await.is_err(), "it speaks nothing but TLS");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_failover_under_a_sentinel() {
    if !is_there() {
        return;
    }
    let place = Place::new().unwrap();
    let port = || services::free_port().unwrap();
    let (first_port, second_port) = (port(), port());
    let first_state = place.directory("first").unwrap();
    let first = Redis.start(&first_state, first_port).unwrap();
    let second = Redis
        .start_replica(&place.directory("second").unwrap(), second_port, first_port)
        .unwrap();
    let sentinel = Redis
        .start_sentinel(&place.directory("sentinel").unwrap(), port(), first_port)
        .unwrap();
    let mut remote = Remote::at(sentinel.url());
    remote.replicas = Some(1);
    let store = patiently(async || connect(&remote).await.ok()).await;
    conformance::run_shared(|case| open(&remote, case)).await;

    let id = Ident::parse("s-1").unwrap();
    with_label(&store, &id).await;
    first.kill();
    // Nobody can tell the label now, and later the new primary has no replica to vouch for it: each answer is a refusal.
    let refused = async || assert!(store.current(&id).await.is_err(), "one of two cannot be believed");
    patiently(async || {
        refused().await;
        is_primary(second.url()).await.then_some(())
    })
    .await;
    refused().await;
    refused().await;
    let _third = Redis
        .start_replica(&first_state, first_port, second_port)
        .unwrap();
    let session = patiently(async || store.current(&id).await.ok()).await;
    assert_eq!(session.unwrap().context.label().class(), Class::Pii);
    let entry = entry(Class::Secret);
    store
        .raise(&id, entry)
        .await
        .expect("the new primary takes a rise");
}

async fn is_primary(url: &str) -> bool {
    let client = redis::Client::open(url).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let role: Vec<redis::Value> = redis::cmd("ROLE").query_async(&mut connection).await.unwrap();
    role.first() == Some(&redis::Value::BulkString(b"master".to_vec()))
}
