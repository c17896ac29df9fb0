//! The official clients, through the gateway, to the official servers: everything is as when asked directly.
//!
//! `cargo xtask test` installs the clients and servers into target/mcp-test. Without them the test says that it was
//! skipped, except where CI=true, where it fails.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test stops at the first surprise, and says when it was skipped"
)]

mod clients;
mod run;

use std::path::Path;

use clients::cases::{Case, everything, filesystem, git, memory, node_server, time};
use clients::{Client, installed, over_http, over_stdio, without_own};
use run::Place;
use serde_json::{Value, json};

/// Asks directly, then through the gateway on standard streams and over HTTP, and compares.
fn check(client: Client, make: fn(&Path, &Path) -> Case) {
    let Some(installed) = installed() else { return };
    let place = Place::new();
    let work = place.path("work");
    let case = make(&installed, &work);
    let env: serde_json::Map<_, _> = case
        .env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect();
    let direct = json!({"command": case.command, "args": case.args, "env": env});
    let base = if matches!(client, Client::PythonStateless) {
        Client::Python
    } else {
        client
    };
    let expected = base.ask(&installed, direct, &case);
    case.covers(&expected);
    place.write("tidegate.toml", &configuration(&case, &expected));

    let case = make(&installed, &work);
    let through = over_stdio(&place, &json!(env));
    let said = client.ask(&installed, through, &case);
    compare(&said, &expected, client, &case, "stdio");

    let case = make(&installed, &work);
    let (_gateway, through) = over_http(&place, &case);
    let said = client.ask(&installed, through, &case);
    compare(&said, &expected, client, &case, "http");
}

/// Servers of others may take long to start on a machine that is busy.
const PATIENT: &str = "[mcp]\nstart_timeout_ms = 120000\n";

/// Everything the server has, declared harmless, so that nothing is closed.
fn configuration(case: &Case, said: &Value) -> String {
    let env: Vec<_> = case.env.iter().map(|(name, _)| *name).collect();
    let mut text = format!(
        "{PATIENT}[servers.{}]\nbare_names = true\ncommand = {:?}\nargs = {:?}\nenv = {env:?}\n",
        case.name, case.command, case.args
    );
    for tool in said["tools"].as_array().unwrap() {
        text.push_str(&format!("[tools.{}]\nreturns = \"public\"\n", tool["name"]));
    }
    for surface in ["resources", "prompts", "completion", "logging", "other", "roots"] {
        text.push_str(&format!(
            "[tools.\"{}:{surface}\"]\nreturns = \"public\"\n",
            case.name
        ));
    }
    text
}

fn compare(through: &Value, direct: &Value, client: Client, case: &Case, wire: &str) {
    for part in [
        "tools",
        "resources",
        "templates",
        "prompts",
        "calls",
        "reads",
        "gets",
        "completes",
    ] {
        let (got, wanted) = (without_own(&through[part]), without_own(&direct[part]));
        assert_eq!(got, wanted, "{part} of {} with {client:?} over {wire}", case.name);
    }
}

macro_rules! differential {
    ($($name:ident: $client:expr, $case:ident;)*) => {
        $(#[test] fn $name() { check($client, $case); })*
    };
}

differential! {
    python_everything: Client::Python, everything;
    python_filesystem: Client::Python, filesystem;
    python_memory: Client::Python, memory;
    python_git: Client::Python, git;
    python_time: Client::Python, time;
    python_stateless_everything: Client::PythonStateless, everything;
    python_stateless_time: Client::PythonStateless, time;
    sdk_everything: Client::Sdk, everything;
    sdk_filesystem: Client::Sdk, filesystem;
    sdk_memory: Client::Sdk, memory;
    sdk_git: Client::Sdk, git;
    sdk_time: Client::Sdk, time;
    new_everything: Client::New, everything;
    new_filesystem: Client::New, filesystem;
    new_memory: Client::New, memory;
    new_git: Client::New, git;
    new_time: Client::New, time;
}

/// A protected file is read, and what reaches out closes; the client hears of it.
fn check_ratchet(client: Client, over_wire: bool) {
    let Some(installed) = installed() else { return };
    let place = Place::new();
    let work = place.path("work");
    let mut case = filesystem(&installed, &work);
    let file = work.join("a.txt");
    case.calls = json!([
        {"tool": "everything.echo", "arguments": {"message": "out"}},
        {"tool": "filesystem.read_text_file", "arguments": {"path": file}},
        {"tool": "everything.echo", "arguments": {"message": "out"}},
    ]);
    let everything = node_server(&installed, "server-everything");
    place.write(
        "tidegate.toml",
        &format!(
            "{PATIENT}[servers.filesystem]\ncommand = \"node\"\nargs = {:?}\n[servers.everything]\ncommand = \"node\"\nargs = [{everything:?}]\n\
             [tools.\"filesystem.read_text_file\"]\nreturns = \"internal\"\n[tools.\"everything.echo\"]\nexternal = true\n",
            case.args
        ),
    );
    let (serving, target) = if over_wire {
        let (gateway, target) = over_http(&place, &case);
        (Some(gateway), target)
    } else {
        (None, over_stdio(&place, &json!({})))
    };
    let said = client.ask(&installed, target, &case);
    drop(serving);
    let calls = said["calls"].as_array().unwrap();
    assert_eq!(calls[0]["content"][0]["text"], "Echo: out", "{said}");
    assert_eq!(calls[1]["content"][0]["text"], "one\ntwo\nthree\n", "{said}");
    assert_eq!(calls[2]["isError"], true);
    assert_eq!(calls[2]["structuredContent"]["rule"], "label-above-ceiling");
    let notes = said["notes"].as_array().unwrap();
    assert!(
        notes.contains(&json!("notifications/tools/list_changed")),
        "{client:?} {over_wire}: {notes:?}"
    );
}

#[test]
fn a_protected_file_closes_what_reaches_out_for_every_client() {
    for client in [Client::Python, Client::Sdk, Client::New] {
        for over_wire in [false, true] {
            check_ratchet(client, over_wire);
        }
    }
}

/// What becomes of calls that run as tasks, with one client and one server.
fn tasks(installed: &Path, target: &Value) -> Value {
    Client::Sdk.run(installed, &json!({"target": target, "tasks": true}), "tasks")
}

#[test]
fn tasks_run_are_asked_about_listed_and_cancelled_as_when_asked_directly() {
    let Some(installed) = installed() else { return };
    let place = Place::new();
    let case = everything(&installed, &place.path("work"));
    // An id that nobody gave out is refused with the same code, and in the gateway's own words.
    let tasks = |target: &Value| {
        let mut said = tasks(&installed, target);
        let unknown = said["unknown"].take();
        let code = unknown["error"]
            .as_str()
            .map(|error| error.starts_with("MCP error -32602"));
        assert_eq!(code, Some(true), "{unknown}");
        said
    };
    let direct = tasks(&json!({"command": case.command, "args": case.args}));
    let report = direct["result"]["content"][0]["text"].as_str().unwrap();
    assert!(report.contains("technical"), "{direct}");
    assert_eq!(direct["cancelled"], "cancelled");
    let tools = json!({"tools": direct["tools"]});
    place.write("tidegate.toml", &configuration(&case, &tools));
    assert_eq!(tasks(&over_stdio(&place, &json!({}))), direct, "stdio");
    let (_gateway, target) = over_http(&place, &case);
    assert_eq!(tasks(&target), direct, "http");
}
