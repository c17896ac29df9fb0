//! A client that leaves a gateway on standard streams in the middle of a call, and sessions after a gateway's restart.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use run::gateway::{Gateway, create_token};
use run::{Place, tidegate};
use serde_json::{Value, json};

/// A place whose gateway has one small server behind it.
fn place() -> Place {
    let place = Place::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/small_server.py");
    let heard = place.path("heard.jsonl");
    // Where python3 really is: a gateway in a test has no PATH to find it by.
    let found = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .unwrap();
    let python = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    let config = format!(
        "[servers.small]\nbare_names = true\ncommand = {python:?}\nargs = [{script:?}, {heard:?}]\n\
         [tools.hang]\nreturns = \"public\"\n[tools.read]\nreturns = \"internal\"\n[tools.send]\nexternal = true\n"
    );
    place.write("tidegate.toml", &config);
    place
}

/// What the server heard of calls.
fn heard(place: &Place) -> Vec<Value> {
    let text = std::fs::read_to_string(place.path("heard.jsonl")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn hello(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
}

fn call(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
}

#[test]
fn a_call_whose_client_closed_its_end_is_given_up_and_the_server_is_let_go() {
    let place = place();
    let mut command = place.command(&["mcp", "--data-dir", "data"]);
    let mut process = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    writeln!(input, "{}", hello(1)).unwrap();
    let greeting: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(greeting["id"], 1);
    writeln!(input, "{}", call(2, "hang")).unwrap();
    writeln!(input, "{}", call(3, "read")).unwrap();
    let answered = lines
        .by_ref()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let read = answered.into_iter().find(|message| message["id"] == 3).unwrap();
    assert_eq!(read["result"]["content"][0]["text"], "done");
    for _ in 0..200 {
        if heard(&place).iter().any(|heard| heard["call"] == "hang") {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(input);
    assert!(process.wait().unwrap().success());

    let heard = heard(&place);
    let hanging = heard.iter().find(|heard| heard["call"] == "hang").unwrap();
    let cancelled: Vec<_> = heard.iter().filter_map(|heard| heard.get("cancelled")).collect();
    assert_eq!(cancelled, [&hanging["id"]], "{heard:?}");
    assert_eq!(
        heard.last().unwrap()["left"],
        true,
        "the server left by itself: {heard:?}"
    );
    let exported = tidegate(
        &place,
        &[
            "ledger",
            "export",
            "--dir",
            "data/ledgers/mcp-1",
            "--event",
            "call_unanswered",
        ],
    );
    let records: Vec<Value> = exported
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone())
        .collect();
    let expected = json!({"type": "call_unanswered", "tool": "hang", "cause": "client-left"});
    assert_eq!(records, [expected], "{}", exported.stderr);
}

/// Sends a message over HTTP and gives the status, the session and the answer.
fn post(gateway: &Gateway, token: &str, headers: &[(&str, &str)], message: &Value) -> (u16, String, String) {
    let client = reqwest::blocking::Client::builder().no_proxy().build().unwrap();
    let mut request = client
        .post(format!("{}/mcp", gateway.url))
        .bearer_auth(token)
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .body(message.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send().unwrap();
    let session = answer.headers().get("mcp-session-id");
    let session = session
        .map(|id| id.to_str().unwrap().to_owned())
        .unwrap_or_default();
    (answer.status().as_u16(), session, answer.text().unwrap())
}

#[test]
fn after_a_restart_a_session_is_still_its_owners_alone_and_keeps_its_label() {
    let place = place();
    let alice = create_token(&place, "agent", "alice");
    let mallory = create_token(&place, "agent", "mallory");
    let gateway = Gateway::start(&place, &[]);
    let (status, session, _) = post(&gateway, &alice, &[], &hello(1));
    assert_eq!(status, 200);
    let named = [("mcp-session-id", session.as_str())];
    assert_eq!(post(&gateway, &alice, &named, &call(2, "read")).0, 200);
    gateway.kill();

    let gateway = Gateway::start(&place, &[]);
    let resumed = [("tidegate-session", session.as_str())];
    for headers in [named, resumed] {
        let message = if headers == named {
            call(3, "read")
        } else {
            hello(3)
        };
        let (status, given, answer) = post(&gateway, &mallory, &headers, &message);
        assert_eq!((status, given.as_str()), (404, ""), "{headers:?}: {answer}");
    }
    // Its owner, too, must greet again before it goes on.
    assert_eq!(post(&gateway, &alice, &named, &call(4, "read")).0, 404);
    let (status, given, _) = post(&gateway, &alice, &resumed, &hello(5));
    assert_eq!((status, given), (200, session.clone()));
    assert_eq!(post(&gateway, &mallory, &resumed, &hello(6)).0, 404);
    let (_, _, blocked) = post(&gateway, &alice, &named, &call(7, "send"));
    assert!(blocked.contains("label-above-ceiling"), "{blocked}");
    assert_eq!(post(&gateway, &mallory, &named, &call(8, "send")).0, 404);
    gateway.stop();
}
