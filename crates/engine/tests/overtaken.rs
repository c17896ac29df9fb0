//! A rise that comes while a reset is carried out stands: nobody decided about it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod house;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use house::{House, ident, name};
use tidegate_core::{Class, Entry, Halt, Ident, Kinds, Moment, Name, Role};
use tidegate_engine::{Caller, Engine, GateError, GateRules, OriginKey, ResetError, Wish};
use tidegate_store::{
    Admitted, OpenError, Opening, Reset, Resumption, Session, SessionStore, SqliteOptions, SqliteStore,
    StoreError,
};

/// A store to which personal data comes in the moment before each reset.
struct Busy(Arc<SqliteStore>);

#[async_trait]
impl SessionStore for Busy {
    async fn reset(&self, id: &Ident, covers: Class, reset: Reset) -> Result<Arc<Session>, StoreError> {
        self.0.raise(id, entry(Class::Pii)).await?;
        self.0.reset(id, covers, reset).await
    }

    async fn open(&self, opening: Opening) -> Result<Arc<Session>, OpenError> {
        self.0.open(opening).await
    }

    async fn current(&self, id: &Ident) -> Result<Option<Arc<Session>>, StoreError> {
        self.0.current(id).await
    }

    async fn raise(&self, id: &Ident, entry: Entry) -> Result<Admitted, StoreError> {
        self.0.raise(id, entry).await
    }

    async fn add_dataset(
        &self,
        id: &Ident,
        name: Name,
        class: Class,
        at: Moment,
    ) -> Result<Admitted, StoreError> {
        self.0.add_dataset(id, name, class, at).await
    }

    async fn halt(&self, id: &Ident, halt: Halt) -> Result<Admitted, StoreError> {
        self.0.halt(id, halt).await
    }

    async fn resume(&self, id: &Ident, halt: &Halt, resumption: Resumption) -> Result<Admitted, StoreError> {
        self.0.resume(id, halt, resumption).await
    }

    async fn resets(&self, id: &Ident) -> Result<Vec<Reset>, StoreError> {
        self.0.resets(id).await
    }

    async fn list(&self, after: Option<&Ident>, limit: usize) -> Result<Vec<Arc<Session>>, StoreError> {
        self.0.list(after, limit).await
    }

    async fn count(&self) -> Result<u64, StoreError> {
        self.0.count().await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.0.ready().await
    }
}

fn entry(class: Class) -> Entry {
    Entry {
        class,
        kinds: Kinds::NONE,
        source: name("crm"),
        at: Moment(1),
    }
}

fn person(principal: &str, role: Role) -> Caller {
    Caller {
        principal: ident(principal),
        agent: None,
        role,
        token_id: ident("token"),
    }
}

/// An engine on such a store, with a session at internal.
async fn started(directory: &Path) -> (Engine, Arc<SqliteStore>, Ident) {
    let state = directory.join("state").join("tidegate.db");
    let store = Arc::new(SqliteStore::open(state, SqliteOptions::default()).unwrap());
    let house = House::start_on(directory, [], Arc::new(Busy(Arc::clone(&store))));
    let id = house.open("s-1").await;
    store.raise(&id, entry(Class::Internal)).await.unwrap();
    let key = OriginKey::in_file(&directory.join("origins.key")).unwrap();
    let gates = Arc::clone(&store);
    let engine = house.engine.with_gates(gates, &key, GateRules::STANDARD).unwrap();
    (engine, store, id)
}

async fn class(store: &SqliteStore, id: &Ident) -> Class {
    store.current(id).await.unwrap().unwrap().context.label().class()
}

#[tokio::test]
async fn leave_to_lower_a_label_wipes_no_rise_that_comes_while_it_is_carried_out() {
    let place = tempfile::tempdir().unwrap();
    let (engine, store, id) = started(place.path()).await;
    let operator = person("olive", Role::HumanOperator);
    let asked = engine
        .ask_gate(&operator, &id, Wish::LowerLabel, "the context was emptied")
        .await
        .unwrap();
    let admin = person("root", Role::Admin);
    let decided = engine.decide_gate(&admin, &asked.gate.id, true, "yes").await;
    assert!(matches!(decided, Err(GateError::Overtaken(_))), "{decided:?}");
    assert_eq!(class(&store, &id).await, Class::Pii);
    assert_eq!(store.resets(&id).await.unwrap(), []);
}

#[tokio::test]
async fn a_reset_covers_the_label_that_it_was_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let (engine, store, id) = started(place.path()).await;
    let admin = person("root", Role::Admin);
    let reset = engine.reset(&admin, &id, "the context was emptied").await;
    assert!(matches!(reset, Err(ResetError::Overtaken)), "{reset:?}");
    assert_eq!(class(&store, &id).await, Class::Pii);
    // Asked for again, it covers what has come by now.
    engine.reset(&admin, &id, "seen, and emptied too").await.unwrap();
    assert_eq!(class(&store, &id).await, Class::Public);
}
