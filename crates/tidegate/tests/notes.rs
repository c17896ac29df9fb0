//! Notes survive a kill and a restart; nothing of them survives the end of their run, wherever a process died.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;

use run::gateway::Gateway;
use run::{Place, tidegate};
use serde_json::{Value, json};
use tidegate_core::{Halt, Ident, Moment, Name};
use tidegate_store::{MemoryStore, SessionStore, Shelf, SqliteOptions, SqliteStore};

const STATE: [&str; 2] = ["--data-dir", "state"];

fn post(gateway: &Gateway, token: &str, path: &str, body: Value) -> Value {
    let (status, answer) = gateway.send(token, path, Some(body));
    assert!(status < 300, "{path}: {status} {answer}");
    answer
}

/// What lies on a run's shelf while no gateway is running, after `before` was done to the store.
fn page_of(place: &Place, run: &str, before: impl AsyncFn(&SqliteStore)) -> bool {
    let store = SqliteStore::open(place.path("state").join("tidegate.db"), SqliteOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    runtime.block_on(async {
        before(&store).await;
        let shelf = Shelf::Run(Ident::parse(run).unwrap());
        store.page(&shelf).await.unwrap().is_some()
    })
}

#[test]
fn a_note_lives_exactly_as_long_as_its_run() {
    let place = Place::new();
    let gateway = Gateway::start(&place, &STATE);
    let made = tidegate(
        &place,
        &[
            "token",
            "create",
            "--role",
            "agent",
            "--principal",
            "ada",
            "--data-dir",
            "state",
        ],
    );
    let token = made.stdout.trim();
    let note = json!({"key": "plan", "text": "remember the milk"});
    for run in ["kept", "ended", "torn"] {
        post(&gateway, token, "/v1/sessions", json!({"session_id": run}));
        post(&gateway, token, &format!("/v1/session/{run}/notes"), note.clone());
    }
    post(&gateway, token, "/v1/session/ended/end", json!({}));
    gateway.kill();
    assert!(page_of(&place, "kept", async |_| {}));
    assert!(!page_of(&place, "ended", async |_| {}));
    // As if the process had died right after the end was on disk.
    let end = async |store: &SqliteStore| {
        let halt = Halt {
            source: Name::parse(Halt::END).unwrap(),
            at: Moment(1),
        };
        store.halt(&Ident::parse("torn").unwrap(), halt).await.unwrap();
    };
    assert!(page_of(&place, "torn", end));

    let gateway = Gateway::start(&place, &STATE);
    let recalled = post(&gateway, token, "/v1/session/kept/recall", json!({}));
    assert_eq!(recalled["notes"][0]["text"], "remember the milk");
    let (status, _) = gateway.send(token, "/v1/session/torn/recall", Some(json!({})));
    assert_eq!(status, 409);
    gateway.stop();
    assert!(!page_of(&place, "torn", async |_| {}), "the next start tidies up");
}
