//! There are only so many sessions, and whoever has one keeps it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod house;

use house::{House, ident};
use tidegate_engine::{OpenRequest, OpenSessionError, SessionBounds};
use tidegate_store::Session;

use std::path::Path;
use std::sync::Arc;

/// A house with room for two sessions.
fn small(directory: &Path) -> House {
    let House { engine, caller } = House::start(directory, []);
    House {
        engine: engine.with_session_bounds(SessionBounds {
            most: 2,
            ..SessionBounds::STANDARD
        }),
        caller,
    }
}

async fn open(house: &House, id: &str) -> Result<Arc<Session>, OpenSessionError> {
    let request = OpenRequest {
        user: None,
        agent: None,
        id: Some(ident(id)),
    };
    house.engine.open_session(&house.caller, request).await
}

#[tokio::test]
async fn one_session_more_than_there_may_be_is_refused_and_the_others_stay() {
    let directory = tempfile::tempdir().unwrap();
    let house = small(directory.path());
    // Coming back takes no room.
    for _ in 0..3 {
        open(&house, "s-1").await.unwrap();
    }
    open(&house, "s-2").await.unwrap();
    let refused = open(&house, "s-3").await.unwrap_err();
    assert!(
        matches!(refused, OpenSessionError::TooMany { most: 2 }),
        "{refused}"
    );
    assert!(refused.to_string().contains("limits.sessions"), "{refused}");
    assert_eq!(open(&house, "s-1").await.unwrap().id, ident("s-1"));
}

#[tokio::test]
async fn sessions_of_before_a_restart_count() {
    let directory = tempfile::tempdir().unwrap();
    {
        let house = small(directory.path());
        open(&house, "s-1").await.unwrap();
        open(&house, "s-2").await.unwrap();
    }
    let house = small(directory.path());
    assert!(open(&house, "s-3").await.is_err());
    open(&house, "s-2").await.unwrap();
}

#[tokio::test]
async fn whoever_opens_too_many_in_an_hour_goes_on_in_those_that_are_open() {
    let directory = tempfile::tempdir().unwrap();
    let House { engine, caller } = House::start(directory.path(), []);
    let house = House {
        engine: engine.with_session_bounds(SessionBounds {
            per_hour: 2,
            ..SessionBounds::STANDARD
        }),
        caller,
    };
    for id in ["s-1", "s-1", "s-1", "s-2"] {
        open(&house, id).await.unwrap();
    }
    let refused = open(&house, "s-3").await.unwrap_err();
    assert!(
        matches!(refused, OpenSessionError::TooFast { per_hour: 2 }),
        "{refused}"
    );
    assert_eq!(open(&house, "s-1").await.unwrap().id, ident("s-1"));
}
