//! What counts on a server whose replicas must have each change: nothing that they may lack.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::time::Duration;

use tidegate_core::{Class, Entry, Ident, Kinds, Moment, Name};
use tidegate_store::{Opening, Remote, SessionStore};
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

/// Asks until there is an answer.
async fn patiently<T>(ask: impl AsyncFn() -> Option<T>) -> T {
    for _ in 0..150 {
        if let Some(answer) = ask().await {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("it never answered");
}

fn ident(text: &str) -> Ident {
    Ident::parse(text).unwrap()
}

fn opening(id: &str) -> Opening {
    Opening {
        id: ident(id),
        user: ident("ada"),
        agent: ident("agent"),
        at: Moment(0),
    }
}

fn entry(class: Class) -> Entry {
    Entry {
        class,
        kinds: Kinds::NONE,
        source: Name::parse("crm").unwrap(),
        at: Moment(1),
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
