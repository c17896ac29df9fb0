//! Servers that die, hang, babble, flood or change; clients that leave, or speak in another's name.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod mcp_stand;
mod stand;

use std::time::Duration;

use mcp_stand::{Client, gateway, options, policy, scripted, server, text_of};
use serde_json::{Value, json};
use stand::{Setting, Stand};
use tidegate_core::Role;
use tidegate_gateway::mcp::{Pins, Reach};

/// Calls a tool that misbehaves; it must end in a tool's error that says so.
async fn check_unavailable(client: &mut Client, tool: &str) {
    let result = client.call(tool, json!({})).await;
    assert_eq!(result["isError"], true, "{tool}: {result}");
    assert_eq!(
        result["structuredContent"]["rule"], "server-unavailable",
        "{tool}"
    );
    assert_eq!(result["structuredContent"]["retryable"], true, "{tool}");
}

/// Calls until the server that failed is started anew.
async fn check_comes_back(client: &mut Client, tool: &str) {
    for _ in 0..100 {
        let result = client.call(tool, json!({"back": 1})).await;
        if result["isError"] != true {
            assert_eq!(text_of(&result), r#"{"back":1}"#);
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the server did not come back");
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_an_error_and_comes_back() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    check_unavailable(&mut client, "die").await;
    check_comes_back(&mut client, "echo").await;
}

#[tokio::test]
async fn a_server_that_hangs_is_an_error_and_others_go_on() {
    let servers = vec![
        server("one", false, scripted(&[])),
        server("two", false, scripted(&[])),
    ];
    let mut both = policy("one.").control.iter().cloned().collect::<Vec<_>>();
    both.extend(policy("two.").control.iter().cloned());
    let policy = tidegate_engine::Policy::new(tidegate_core::ControlList::new(both).unwrap());
    let stand = Stand::start_mcp(Setting::default(), policy, servers, options()).await;
    let holder = stand.alice().await;
    let mut client = Client::greet_as(&stand, holder.clone()).await;
    let hanging = client.request(
        json!({"jsonrpc": "2.0", "id": 900, "method": "tools/call", "params": {"name": "one.hang"}})
            .to_string(),
    );
    let hanging = tokio::spawn(hanging.send());
    let echoed = client.call("two.echo", json!({"a": 1})).await;
    assert_eq!(text_of(&echoed), r#"{"a":1}"#);
    let hung: Value = hanging.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(hung["result"]["structuredContent"]["rule"], "server-unavailable");
    assert_eq!(text_of(&client.call("one.echo", json!({})).await), "{}");
}

#[tokio::test]
async fn a_server_that_answers_garbage_is_an_error() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    check_unavailable(&mut client, "garbage").await;
    check_comes_back(&mut client, "echo").await;
}

#[tokio::test]
async fn a_server_that_sends_a_hundred_megabytes_is_cut_off() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let result = client.call("flood", json!({})).await;
    assert!(
        text_of(&result).contains("more than the gateway takes"),
        "{result}"
    );
    check_comes_back(&mut client, "echo").await;
}

#[tokio::test]
async fn a_server_that_cannot_start_does_not_take_the_others_down() {
    let nothing = Reach::Command {
        command: "/nonexistent/program".into(),
        args: Vec::new(),
        env: Vec::new(),
    };
    let nobody = Reach::Url {
        url: "http://127.0.0.1:1/mcp".into(),
        headers_env: Vec::new(),
        ca_file: None,
    };
    let servers = vec![
        server("dead", false, nothing),
        server("deaf", false, nobody),
        server("scripted", true, scripted(&[])),
    ];
    let stand = Stand::start_mcp(Setting::default(), policy(""), servers, options()).await;
    let mut client = Client::greet(&stand).await;
    assert_eq!(text_of(&client.call("echo", json!({})).await), "{}");
    let listed = client.ask("tools/list", json!({})).await;
    assert!(listed["tools"].as_array().unwrap().len() > 5);
    check_unavailable(&mut client, "dead.anything").await;
    check_unavailable(&mut client, "deaf.anything").await;
}

#[tokio::test]
async fn a_tool_that_changes_after_it_was_seen_is_held_until_approved() {
    let directory = tempfile::tempdir().unwrap();
    let changed = directory.path().join("changed").to_str().unwrap().to_owned();
    let servers = vec![server("scripted", true, scripted(&[changed]))];
    let stand = Stand::start_mcp(Setting::default(), policy(""), servers, options()).await;
    let mut client = Client::greet(&stand).await;
    let names = |listed: Value| -> Vec<String> {
        let tools = listed["tools"].as_array().unwrap().clone();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(names(client.ask("tools/list", json!({})).await).contains(&"echo".to_owned()));
    client.call("change", json!({})).await;
    assert!(client.notified("notifications/tools/list_changed"));
    // One says something else in its description, the other in a member that nobody here knows.
    let left = names(client.ask("tools/list", json!({})).await);
    for tool in ["echo", "log"] {
        let held = client.call(tool, json!({})).await;
        assert_eq!(held["structuredContent"]["rule"], "definition-changed", "{tool}");
        assert!(!left.contains(&tool.to_owned()), "{tool}");
    }

    let pins = Pins::in_directory(stand.directory.path());
    assert!(pins.approve("scripted", "echo").unwrap());
    assert!(names(client.ask("tools/list", json!({})).await).contains(&"echo".to_owned()));
    assert_eq!(text_of(&client.call("echo", json!({})).await), "{}");
}

#[tokio::test]
async fn a_task_that_the_session_did_not_begin_is_none() {
    let servers = vec![server("scripted", true, scripted(&[]))];
    let stand = Stand::start_mcp(Setting::default(), policy(""), servers, options()).await;
    let mut client = Client::greet(&stand).await;
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let answer = client.exchange(method, json!({"taskId": "task-1"})).await;
        assert_eq!(
            answer["error"]["data"]["rule"], "unknown-method",
            "{method}: {answer}"
        );
    }
}

/// The names of what is listed.
fn listed(answer: &Value, member: &str) -> Vec<String> {
    let items = answer[member].as_array().unwrap().iter();
    items
        .map(|item| item["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn prompts_and_resources_that_change_are_held_too_and_that_is_on_the_record() {
    let directory = tempfile::tempdir().unwrap();
    let changed = directory.path().join("changed").to_str().unwrap().to_owned();
    let servers = vec![server("scripted", true, scripted(&[changed]))];
    let stand = Stand::start_mcp(Setting::default(), policy(""), servers, options()).await;
    let mut client = Client::greet(&stand).await;
    for (method, member, name) in [
        ("prompts/list", "prompts", "welcome"),
        ("resources/list", "resources", "two"),
    ] {
        assert!(listed(&client.ask(method, json!({})).await, member).contains(&name.to_owned()));
    }
    client.call("change", json!({})).await;
    for (method, params) in [
        ("prompts/get", json!({"name": "welcome"})),
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": "mail://2"})),
    ] {
        let answer = client.exchange(method, params).await;
        if method == "resources/list" {
            assert_eq!(listed(&answer["result"], "resources"), ["one", "session"]);
        } else {
            assert_eq!(
                answer["error"]["data"]["rule"], "definition-changed",
                "{method}: {answer}"
            );
        }
    }
    assert_eq!(
        listed(&client.ask("prompts/list", json!({})).await, "prompts"),
        ["greet"]
    );

    let auditor = stand.holder(Role::Auditor, "ada", None).await;
    let page = stand
        .get(&auditor, "/v1/provenance?event=definition_held&limit=100")
        .await;
    let records = page["records"].as_array().unwrap().iter();
    let held: Vec<_> = records
        .map(|record| {
            (
                record["event"]["kind"].clone(),
                record["event"]["offered"].clone(),
            )
        })
        .collect();
    for expected in [("prompt", "welcome"), ("resource", "mail://2")] {
        let expected = (json!(expected.0), json!(expected.1));
        assert_eq!(
            held.iter().filter(|held| **held == expected).count(),
            1,
            "{held:?}"
        );
    }
    let pins = Pins::in_directory(stand.directory.path());
    assert!(pins.approve("scripted", "prompt:welcome").unwrap());
    assert_eq!(
        listed(&client.ask("prompts/list", json!({})).await, "prompts"),
        ["greet", "welcome"]
    );
    client.ask("prompts/get", json!({"name": "welcome"})).await;
    // In another session, since what nobody classed has made this one confidential, and both reach out.
    let mut other = Client::greet(&stand).await;
    other.ask("resources/read", json!({"uri": "mail://1"})).await;
}

/// Speaks under a handle that is not the client's, and then under its own.
async fn check_not_found(client: &mut Client, session: &str) {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let own = std::mem::replace(&mut client.session, session.to_owned());
    let answered = client.request(ping.clone()).send().await.unwrap();
    assert_eq!(answered.status(), 404);
    client.session = own;
    assert_eq!(client.request(ping).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_session_is_its_owners_alone() {
    let stand = gateway().await;
    let mut alice = Client::greet(&stand).await;
    let mallory = stand.holder(Role::Agent, "mallory", Some("bot")).await;
    let mut mallory = Client::greet_as(&stand, mallory).await;
    let other = stand.holder(Role::Agent, "alice", Some("other")).await;
    let mut other = Client::greet_as(&stand, other).await;
    let stolen = alice.session.clone();
    check_not_found(&mut mallory, &stolen).await;
    check_not_found(&mut other, &stolen).await;
    check_not_found(&mut alice, "sess_0000").await;
    check_not_found(&mut alice, "../../etc").await;
    let resumed = mallory
        .request(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).to_string())
        .header("tidegate-session", &stolen)
        .send()
        .await
        .unwrap();
    assert_eq!(resumed.status(), 404);
}

#[tokio::test]
async fn a_client_may_go_on_with_its_own_session_and_its_label() {
    let stand = gateway().await;
    let holder = stand.alice().await;
    let mut client = Client::greet_as(&stand, holder.clone()).await;
    client.call("read_mail", json!({})).await;
    let session = client.session.clone();
    let resumed = client
        .request(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}).to_string())
        .header("tidegate-session", &session)
        .send()
        .await
        .unwrap();
    assert_eq!(resumed.headers()["mcp-session-id"], session.as_str());
    assert_eq!(client.label().await, "internal");
}

#[tokio::test]
async fn what_is_no_message_is_refused() {
    let stand = gateway().await;
    let client = Client::greet(&stand).await;
    for body in [
        "",
        "{",
        "[]",
        "null",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
    ] {
        let answered = client.request(body.to_owned()).send().await.unwrap();
        assert_eq!(answered.status(), 400, "{body}");
    }
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{}{}}}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let answered: Value = client.request(deep).send().await.unwrap().json().await.unwrap();
    assert_eq!(answered["result"]["structuredContent"]["rule"], "unreadable");
    let elsewhere = client
        .request("{}".into())
        .header("origin", "http://evil.example")
        .send()
        .await
        .unwrap();
    assert_eq!(elsewhere.status(), 403);
}

#[tokio::test]
async fn a_second_request_under_an_id_in_use_is_refused() {
    let stand = gateway().await;
    let client = Client::greet(&stand).await;
    let hang =
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "hang"}}).to_string();
    let first = tokio::spawn(client.request(hang).send());
    tokio::time::sleep(Duration::from_millis(300)).await;
    let ping = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"}).to_string();
    let second: Value = client.request(ping).send().await.unwrap().json().await.unwrap();
    assert_eq!(second["error"]["code"], -32600);
    first.await.unwrap().unwrap();
}
