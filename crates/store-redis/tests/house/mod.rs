//! What the tests share: patience, names, sessions with a label.
#![allow(dead_code, reason = "each test program uses its part")]

use std::time::Duration;

use tidegate_core::{Class, Entry, Ident, Kinds, Moment, Name};
use tidegate_store::{Opening, SessionStore};
use tidegate_store_redis::RedisStore;

/// Asks until there is an answer.
pub(crate) async fn patiently<T>(ask: impl AsyncFn() -> Option<T>) -> T {
    for _ in 0..300 {
        if let Some(answer) = ask().await {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("it never answered");
}

pub(crate) fn ident(text: &str) -> Ident {
    Ident::parse(text).unwrap()
}

/// Opens a session at pii.
pub(crate) async fn with_label(store: &RedisStore, id: &Ident) {
    let opening = Opening {
        id: id.clone(),
        user: id.clone(),
        agent: id.clone(),
        at: Moment(0),
    };
    store.open(opening).await.unwrap();
    store.raise(id, entry(Class::Pii)).await.unwrap();
}

pub(crate) fn entry(class: Class) -> Entry {
    Entry {
        class,
        kinds: Kinds::NONE,
        source: Name::parse("crm").unwrap(),
        at: Moment(1),
    }
}
