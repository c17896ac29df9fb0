//! What counts on a server whose replicas must have each change: nothing that they may lack.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod house;

use std::time::Duration;

use house::{entry, ident, patiently};
use tidegate_core::{Class, Moment, Role};
use tidegate_store::{Opening, Remote, Reset, SessionStore, TokenDigest, TokenRecord, TokenStore};
use tidegate_store_redis::{RedisStore, connect};
use xtask::services::{self, Place, Redis, Running, Service};

/// A server with one replica, and a store on it that wants each change on both; nothing where there is no Redis.
struct Pair {
    store: RedisStore,
    _primary: Running,
    replica: Running,
    _place: Place,
}

impl Pair {
    async fn start() -> Option<Self> {
        services::address("TIDEGATE_TEST_REDIS").unwrap()?;
        let place = Place::new().unwrap();
        let (first, second) = (services::free_port().unwrap(), services::free_port().unwrap());
        let primary = Redis.start(&place.directory("primary").unwrap(), first).unwrap();
        let replica = Redis
            .start_replica(&place.directory("replica").unwrap(), second, first)
            .unwrap();
        let mut remote = Remote::at(primary.url());
        remote.replicas = Some(1);
        remote.timeout = Duration::from_secs(1);
        let store = patiently(async || connect(&remote).await.ok()).await;
        Some(Self {
            store,
            _primary: primary,
            replica,
            _place: place,
        })
    }
}

fn opening(id: &str) -> Opening {
    Opening {
        id: ident(id),
        user: ident("ada"),
        agent: ident("agent"),
        at: Moment(0),
    }
}

#[tokio::test]
async fn a_rise_that_was_refused_is_not_acknowledged_when_it_comes_again() {
    let Some(pair) = Pair::start().await else {
        return;
    };
    let (store, id) = (&pair.store, ident("s-1"));
    store.open(opening("s-1")).await.unwrap();
    pair.replica.pause();
    for attempt in 0..3 {
        let raised = store.raise(&id, entry(Class::Pii)).await;
        assert!(raised.is_err(), "attempt {attempt}: no replica has it");
    }
    assert!(store.current(&id).await.is_err(), "nor can it be read");
    pair.replica.resume();
    let raised = patiently(async || store.raise(&id, entry(Class::Pii)).await.ok()).await;
    assert_eq!(raised.session.context.label().class(), Class::Pii);
}

#[tokio::test]
async fn a_primary_that_was_deposed_is_not_believed() {
    let Some(pair) = Pair::start().await else {
        return;
    };
    let (store, id) = (&pair.store, ident("s-1"));
    store.open(opening("s-1")).await.unwrap();
    let reset = Reset {
        by: ident("root"),
        reason: "why".to_owned(),
        at: Moment(2),
    };
    store.reset(&id, Class::Secret, reset).await.unwrap();
    store.issue(token()).await.unwrap();
    assert!(store.find(&token().digest).await.unwrap().is_some());

    // From now on the other one is the primary, and changes there are unknown here.
    let client = redis::Client::open(pair.replica.url()).unwrap();
    let mut operator = client.get_multiplexed_async_connection().await.unwrap();
    let promote = redis::cmd("REPLICAOF").arg("NO").arg("ONE").clone();
    let _: () = promote.query_async(&mut operator).await.unwrap();
    assert!(store.current(&id).await.is_err(), "sessions");
    assert!(store.find(&token().digest).await.is_err(), "a token");
    assert!(store.tokens().await.is_err(), "all tokens");
    assert!(store.resets(&id).await.is_err(), "resets");
    assert!(store.list(None, 10).await.is_err(), "ids");
}

fn token() -> TokenRecord {
    TokenRecord {
        id: ident("t-1"),
        digest: TokenDigest([7; 32]),
        role: Role::Agent,
        principal: ident("ada"),
        agent: None,
        issued_at: Moment(1),
        revoked_at: None,
    }
}
