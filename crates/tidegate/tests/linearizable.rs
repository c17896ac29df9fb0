//! The ratchet holds over three gateways on one server while the server is paused and killed, gateways are paused, and the
//! network between them is cut, silent and slow: the recorded history is checked by a program.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;
mod shared;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use shared::history::{Asked, What, count, violations};
use shared::load::{Agents, client};
use shared::stand::Stand;
use shared::trouble;
use xtask::services::{self, Postgres, Redis, Service};

#[test]
fn on_postgres() {
    if services::address("TIDEGATE_TEST_POSTGRES").unwrap().is_some() {
        check(&Postgres);
    }
}

#[test]
fn on_redis() {
    if services::address("TIDEGATE_TEST_REDIS").unwrap().is_some() {
        check(&Redis);
    }
}

fn check(service: &'static dyn Service) {
    let stand = Stand::start(service);
    let agents = Agents {
        urls: stand.gateways.iter().map(|gateway| gateway.url.clone()).collect(),
        token: &stand.token,
        since: Instant::now(),
        history: Mutex::new(Vec::new()),
        stop: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        for team in 0..4 {
            let agents = &agents;
            scope.spawn(move || agents.work(team));
        }
        std::thread::sleep(Duration::from_secs(1));
        trouble::make(&stand);
        agents.stop.store(true, Ordering::Relaxed);
    });
    let history = agents.history.into_inner().unwrap();
    let counts = [
        What::Raised,
        What::MayHaveRaised,
        What::Passed,
        What::Blocked,
        What::NoDecision,
    ]
    .map(|what| (what, count(&history, what)));
    assert_eq!(violations(&history), [""; 0]);
    // A test in which nothing passed, nothing rose or nothing went wrong would show nothing.
    assert!(
        counts.iter().all(|(_, count)| *count > 0),
        "{}: {counts:?}",
        service.name()
    );
    recovers(&stand);
    nothing_is_lost(&stand, &history);
    stand.stop();
}

/// Every gateway finds the server again by itself.
fn recovers(stand: &Stand) {
    let client = client();
    for gateway in &stand.gateways {
        let ready = (0..100).any(|_| {
            let answer = client.get(format!("{}/readyz", gateway.url)).send();
            let ready = answer.is_ok_and(|answer| answer.status().is_success());
            if !ready {
                std::thread::sleep(Duration::from_millis(100));
            }
            ready
        });
        assert!(ready, "{} does not recover", gateway.url);
    }
}

/// Every rise that was acknowledged is in force on every gateway, after all that happened.
fn nothing_is_lost(stand: &Stand, history: &[Asked]) {
    let raised = history.iter().filter(|asked| asked.what == What::Raised);
    let sessions: BTreeSet<_> = raised.map(|asked| asked.session.as_str()).collect();
    let client = client();
    for (session, gateway) in sessions.iter().zip(stand.gateways.iter().cycle()) {
        let answer = client
            .get(format!("{}/v1/session/{session}", gateway.url))
            .bearer_auth(&stand.token)
            .send();
        let state: Value = answer.unwrap().json().unwrap();
        assert_eq!(state["sensitivity"], "internal", "{session}: {state}");
    }
}
