//! What gateways on one server know of each other: clients of one hear of a rise on another, and of two on one record the later
//! one counts.
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

use std::io::{BufRead, BufReader};
use std::process::Command;
use std::time::Duration;

use run::Place;
use run::gateway::Gateway;
use serde_json::{Value, json};
use shared::knowledge;
use shared::stand::Stand;
use xtask::services::{self, Postgres, Redis, Service};

#[test]
fn on_postgres() {
    if services::address("TIDEGATE_TEST_POSTGRES").unwrap().is_some() {
        check(&Postgres, knowledge::is_common);
    }
}

#[test]
fn on_redis() {
    if services::address("TIDEGATE_TEST_REDIS").unwrap().is_some() {
        check(&Redis, |_| {});
    }
}

fn check(service: &'static dyn Service, more: impl FnOnce(&Stand)) {
    let stand = Stand::start_with(service, knowledge::TOOLS);
    streams_hear_of_other_gateways(&stand);
    mcp_clients_hear_of_other_gateways(&stand);
    more(&stand);
    of_two_on_one_record_the_later_counts(&stand);
    stand.stop();
}

fn streams_hear_of_other_gateways(stand: &Stand) {
    let token = &stand.token;
    let opened = stand.gateways[0].send(token, "/v1/sessions", Some(json!({"session_id": "heard"})));
    assert!(opened.0 < 300, "{opened:?}");
    let url = format!("{}/v1/session/heard/events", stand.gateways[1].url);
    let client = reqwest::blocking::Client::builder()
        .no_proxy()
        .timeout(None)
        .build()
        .unwrap();
    let stream = client.get(url).bearer_auth(token).send().unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut next = || {
        let data = lines.find_map(|line| line.unwrap().strip_prefix("data:").map(str::to_owned));
        let state: serde_json::Value = serde_json::from_str(&data.unwrap()).unwrap();
        state["sensitivity"].as_str().unwrap().to_owned()
    };
    assert_eq!(next(), "public");
    let body = json!({"tool": "search_email", "content": {"text": "minutes of the meeting"}});
    let brought = stand.gateways[2].send(token, "/v1/session/heard/responses", Some(body));
    assert_eq!(brought.0, 200, "{brought:?}");
    assert_eq!(next(), "internal");
}

fn mcp_clients_hear_of_other_gateways(stand: &Stand) {
    let client = reqwest::blocking::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(60))
        .build()
        .unwrap();
    let url = format!("{}/mcp", stand.gateways[1].url);
    let tell = |session: Option<&str>, message: Value| {
        let request = client.post(&url).bearer_auth(&stand.token).json(&message);
        let request = request.header("accept", "application/json, text/event-stream");
        let request = match session {
            Some(session) => request.header("mcp-session-id", session),
            None => request,
        };
        request.send().unwrap()
    };
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    });
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let greeted = tell(None, hello);
    assert_eq!(greeted.status(), 200);
    let session = greeted.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(tell(Some(&session), ready).status(), 202);
    let tools = || {
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        tell(Some(&session), list).text().unwrap()
    };
    let stream = client
        .get(&url)
        .bearer_auth(&stand.token)
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &session)
        .send()
        .unwrap();
    let mut lines = BufReader::new(stream).lines();
    assert!(tools().contains("web_search"));
    let body = json!({"tool": "search_email", "content": {"text": "minutes of the meeting"}});
    let path = format!("/v1/session/{session}/responses");
    let brought = stand.gateways[2].send(&stand.token, &path, Some(body));
    assert_eq!(brought.0, 200, "{brought:?}");
    let told = lines.find(|line| line.as_ref().unwrap().contains("tools/list_changed"));
    assert!(told.is_some(), "the client is told that its tools are others now");
    assert!(!tools().contains("web_search"), "and they are");
}

fn of_two_on_one_record_the_later_counts(stand: &Stand) {
    let body = json!({"tool": "web_search", "arguments": {"query": "weather"}});
    let call = |gateway: &Gateway| {
        gateway
            .send(&stand.token, "/v1/session/heard/authorize", Some(body.clone()))
            .0
    };
    assert_eq!(call(&stand.gateways[0]), 200);
    // The data directory turns up on another machine, while the first gateway still runs.
    let elsewhere = Place::new();
    let from = stand.places[0].path(".");
    let copied = Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(elsewhere.path("."))
        .status()
        .unwrap();
    assert!(copied.success());
    let later = Gateway::start(&elsewhere, &["--data-dir", "data"]);
    assert_eq!(call(&later), 200);
    assert_eq!(call(&stand.gateways[0]), 503, "the earlier one is fenced off");
    assert_eq!(call(&stand.gateways[1]), 200, "others go on");
    later.stop();
}
