//! A server that is stopped, killed, wrong, slow or lies: there is no answer, it says why, and it is back by itself.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod stand;

use std::time::Duration;

use stand::fault::{Between, Mode};
use stand::{NO_CACHE, Store, may_use, server, unused_name};
use tidegate_authority::{Credentials, OpenFga, Settings};
use tidegate_engine::Authority;
use xtask::services::{self, Service};

const SERVER: &str = "TIDEGATE_TEST_OPENFGA";
const ALICE: (&str, &str, &str) = ("alice", "bot", "s1");

/// Every question of an authority is without an answer, for this reason.
async fn is_silent(authority: &OpenFga, why: &str) {
    let answers = [
        may_use(authority, ALICE, &["web_search"]).await.map(|_| ()),
        authority.tags().await.map(|_| ()),
        authority.ready().await,
    ];
    for answer in answers {
        assert_eq!(answer.unwrap_err().why, why);
    }
}

async fn answers(authority: &OpenFga) {
    assert_eq!(may_use(authority, ALICE, &["web_search"]).await.unwrap(), [true]);
    authority.ready().await.unwrap();
}

#[tokio::test]
async fn whatever_comes_back_instead_of_an_answer_is_none() {
    let Some(url) = server(SERVER) else { return };
    let between = Between::before(&url);
    let store = Store::prepared(&url, &["user:alice"]);
    let authority = OpenFga::new(Settings {
        url: between.url.clone(),
        timeout: Duration::from_millis(700),
        ..store.settings.clone()
    });
    answers(&authority).await;
    let error = "OpenFGA answered with an error";
    let unreadable = "OpenFGA's answer cannot be read";
    for (mode, why) in [
        (
            Mode::Say("HTTP/1.1 500 Oops\r\ncontent-length: 2\r\n\r\n{}"),
            error,
        ),
        (
            Mode::Say("HTTP/1.1 429 Slow\r\ncontent-length: 2\r\n\r\n{}"),
            error,
        ),
        (
            Mode::Say("HTTP/1.1 302 Go\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"),
            error,
        ),
        (
            Mode::Say("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\ngarbage"),
            unreadable,
        ),
        (
            Mode::Say("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue"),
            unreadable,
        ),
        (
            Mode::Say("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"),
            unreadable,
        ),
        (Mode::Endless, unreadable),
        (
            Mode::Say("HTTP/1.1 401 No\r\ncontent-length: 2\r\n\r\n{}"),
            "OpenFGA refused the gateway's credentials",
        ),
        (Mode::Cut, "OpenFGA cannot be reached"),
        (Mode::Silent, "OpenFGA did not answer in time"),
    ] {
        between.set(mode);
        is_silent(&authority, why).await;
        between.set(Mode::Pass);
        answers(&authority).await;
    }
}

#[tokio::test]
async fn a_remembered_answer_does_not_help_when_the_server_is_gone_for_longer() {
    let Some(url) = server(SERVER) else { return };
    let between = Between::before(&url);
    let store = Store::prepared(&url, &["user:alice"]);
    let life = Duration::from_millis(300);
    let authority = OpenFga::new(Settings {
        url: between.url.clone(),
        cache_ttl: life,
        ..store.settings.clone()
    });
    answers(&authority).await;
    between.set(Mode::Cut);
    tokio::time::sleep(life).await;
    is_silent(&authority, "OpenFGA cannot be reached").await;
    between.set(Mode::Pass);
    answers(&authority).await;
}

#[tokio::test]
async fn the_wrong_store_and_the_wrong_model_are_no_answer() {
    let Some(url) = server(SERVER) else { return };
    let store = Store::prepared(&url, &["user:alice"]);
    let elsewhere = "01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned();
    let empty = Store::empty(&url);
    let twice = Store::empty(&url);
    stand::post(&url, "/stores", serde_json::json!({"name": twice.settings.store}));
    let unfit = Store::empty(&url);
    unfit.write_model(serde_json::json!({"schema_version": "1.1", "type_definitions": [{"type": "tool"}]}));
    let with = |store: &str, model: Option<&str>| Settings {
        cache_ttl: NO_CACHE,
        model: model.map(str::to_owned),
        ..Settings::new(&url, store)
    };
    for (settings, why) in [
        (
            with(&unused_name(), None),
            "OpenFGA does not have the configured store",
        ),
        (
            with(&elsewhere, None),
            "OpenFGA does not have the configured store",
        ),
        (
            with(&twice.settings.store, None),
            "OpenFGA has several stores of the configured name",
        ),
        (
            with(&store.id, Some(&elsewhere)),
            "OpenFGA's store does not have the authorization model",
        ),
        (
            with(&empty.id, None),
            "OpenFGA's store does not have the authorization model",
        ),
        (
            with(&unfit.id, None),
            "OpenFGA's model does not say who may use tools",
        ),
    ] {
        is_silent(&OpenFga::new(settings), why).await;
    }
    answers(&OpenFga::new(with(&store.id, None))).await;
}

/// A server that is stopped where it stands, goes on, is killed, and is started again without its memory.
#[tokio::test]
async fn a_server_that_hangs_or_dies_is_no_answer_until_it_is_back() {
    if server(SERVER).is_none() {
        return;
    }
    let place = services::Place::new().unwrap();
    let port = services::free_port().unwrap();
    let start = |name: &str| {
        services::OpenFga
            .start(&place.directory(name).unwrap(), port)
            .unwrap()
    };
    let running = start("first");
    let settings = Settings {
        cache_ttl: NO_CACHE,
        timeout: Duration::from_millis(700),
        ..Settings::new(running.url(), "tidegate")
    };
    let prepare = || Store::prepared_by(settings.clone(), &["user:alice"]);
    let authority = prepare().authority();
    answers(&authority).await;

    running.pause();
    is_silent(&authority, "OpenFGA did not answer in time").await;
    running.resume();
    answers(&authority).await;

    running.kill();
    is_silent(&authority, "OpenFGA cannot be reached").await;
    let _again = start("second");
    is_silent(&authority, "OpenFGA does not have the configured store").await;
    prepare();
    answers(&authority).await;
}

#[tokio::test]
async fn keys_are_shown_and_wrong_ones_are_no_answer() {
    if server(SERVER).is_none() {
        return;
    }
    let running =
        services::OpenFga::start_with_keys(services::free_port().unwrap(), &["good-key", "newer-key"])
            .unwrap();
    let with = |credentials| Settings {
        cache_ttl: NO_CACHE,
        credentials,
        ..Settings::new(running.url(), "tidegate")
    };
    let key = |key: &str| with(Credentials::preshared_key(key.to_owned()));
    Store::prepared_by(key("good-key"), &["user:alice"]);
    answers(&OpenFga::new(key("good-key"))).await;
    answers(&OpenFga::new(key("newer-key"))).await;
    for settings in [key("canary"), with(Credentials::None)] {
        assert!(!format!("{settings:?}").contains("canary"));
        is_silent(
            &OpenFga::new(settings),
            "OpenFGA refused the gateway's credentials",
        )
        .await;
    }
}
