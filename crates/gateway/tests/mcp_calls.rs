//! A client over HTTP, the gateway, and a scripted server behind it.
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

use mcp_stand::{Client, gateway, text_of};
use serde_json::{Value, json};

#[tokio::test]
async fn a_call_passes_and_reading_a_source_closes_what_reaches_out() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let echoed = client.call("echo", json!({"q": "public words"})).await;
    assert_eq!(text_of(&echoed), r#"{"q":"public words"}"#);
    assert_eq!(
        text_of(&client.call("search", json!({"q": "weather"})).await),
        r#"{"q":"weather"}"#
    );
    assert_eq!(client.label().await, "public");

    client.call("read_mail", json!({})).await;
    assert_eq!(client.label().await, "internal");
    let blocked = client.call("search", json!({"q": "weather"})).await;
    assert_eq!(blocked["isError"], true);
    let facts = &blocked["structuredContent"];
    assert_eq!(facts["rule"], "label-above-ceiling");
    assert_eq!(facts["retryable"], false);
    for word in ["reason", "remedy"] {
        assert!(
            text_of(&blocked).contains(facts[word].as_str().unwrap()),
            "{word}"
        );
    }
    assert!(client.notified("notifications/tools/list_changed"));
}

#[tokio::test]
async fn a_tool_nobody_declared_has_the_strict_ends() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    client.call("progress", json!({})).await;
    assert_eq!(client.label().await, "confidential");
    assert_eq!(client.call("progress", json!({})).await["isError"], true);
}

#[tokio::test]
async fn lists_carry_the_marks() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let listed = client.ask("tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    let mail = tool("read_mail");
    assert!(mail["description"].as_str().unwrap().starts_with("[internal]"));
    assert_eq!(mail["_meta"]["tidegate/tool"]["class"], "internal");
    assert!(
        mail["_meta"]["tidegate/tool"]["consequence"]
            .as_str()
            .unwrap()
            .contains("search")
    );
    assert_eq!(mail["x-unknown"], json!({"kept": true}));
    assert!(
        tool("search")["description"]
            .as_str()
            .unwrap()
            .starts_with("[external]")
    );
    tool("tidegate_manifest");

    client.call("read_mail", json!({})).await;
    let listed = client.ask("tools/list", json!({})).await;
    let closed = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "search")
        .unwrap()
        .clone();
    assert_eq!(closed["_meta"]["tidegate/tool"]["blocked"], true);
    assert!(closed["description"].as_str().unwrap().contains("[closed now]"));
}

#[tokio::test]
async fn an_agent_keeps_notes() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    client.call("read_mail", json!({})).await;
    for memory in ["scratchpad", "memory"] {
        let note = json!({"key": "plan", "text": format!("kept in {memory}"), "memory": memory});
        let noted = client.call("tidegate_note", note).await;
        assert_eq!(noted["structuredContent"]["class"], "internal", "{noted}");
    }
    let own = client.call("tidegate_recall", json!({"key": "plan"})).await;
    assert_eq!(own["structuredContent"]["notes"][0]["text"], "kept in scratchpad");

    let mut later = Client::greet(&stand).await;
    let empty = later.call("tidegate_recall", json!({})).await;
    assert_eq!(empty["structuredContent"]["notes"], json!([]));
    let kept = later.call("tidegate_recall", json!({"memory": "memory"})).await;
    assert_eq!(kept["structuredContent"]["notes"][0]["text"], "kept in memory");
    assert_eq!(kept["structuredContent"]["sensitivity"], "internal");
    let denied = later.call("search", json!({"query": "ferry"})).await;
    assert_eq!(
        denied["isError"], true,
        "what was remembered closes what it closed: {denied}"
    );
    let malformed = later.call("tidegate_note", json!({"key": 7})).await;
    assert_eq!(malformed["isError"], true);
}

#[tokio::test]
async fn an_agent_can_ask_before_it_plans() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let planned = json!({"planned_calls": ["read_mail", "search"]});
    let checked = client.call("tidegate_validate_plan", planned).await;
    assert_eq!(checked["structuredContent"]["valid"], false);
    assert_eq!(
        checked["structuredContent"]["safe_ordering"],
        json!(["search", "read_mail"])
    );
    let manifest = client.call("tidegate_manifest", json!({})).await;
    assert!(
        manifest["structuredContent"]["planning_constraint"]
            .as_str()
            .unwrap()
            .contains("search")
    );
    assert!(
        client.greeting["instructions"]
            .as_str()
            .unwrap()
            .contains("search")
    );
}

#[tokio::test]
async fn nothing_is_lost_on_the_way() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let raw = client.raw_call("exotic").await;
    assert!(
        raw.contains(r#"{"content":[{"type":"hologram","n":1.50}],"_meta":{"k":"v"},"z":1,"a":2}"#),
        "{raw}"
    );
    assert!(raw.contains(r#""x-top":1"#), "{raw}");
}

#[tokio::test]
async fn what_a_server_says_before_its_answer_comes_before_it() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let params = json!({"name": "progress", "arguments": {}, "_meta": {"progressToken": "tok"}});
    client.ask("tools/call", params).await;
    let steps: Vec<_> = client
        .notes
        .iter()
        .filter(|note| note["method"] == "notifications/progress")
        .map(|note| note["params"]["progress"].clone())
        .collect();
    assert_eq!(steps, [json!(1), json!(2), json!(3), json!(4), json!(5)]);
}

/// Calls the tool that logs after its answer, and waits until the line has passed or was kept back: a server's lines are
/// read in order, so the answer to a later call comes after it.
async fn log_later(client: &mut Client) -> String {
    client.call("log_later", json!({})).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    client.call("echo", json!({})).await;
    client.label().await
}

#[tokio::test]
async fn a_stray_log_line_closes_a_session_only_for_a_client_that_wants_logs() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    assert_eq!(log_later(&mut client).await, "public");
    client.ask("logging/setLevel", json!({"level": "info"})).await;
    assert_eq!(log_later(&mut client).await, "confidential");
}

#[tokio::test]
async fn a_servers_error_is_the_clients() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let answer = client.exchange("tools/call", json!({"name": "fail"})).await;
    assert_eq!(
        answer["error"],
        json!({"code": -7, "message": "no", "data": {"why": 1}})
    );
}

#[tokio::test]
async fn a_member_that_occurs_twice_does_not_pass_either_way() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let result = client.call("twice", json!({})).await;
    assert_eq!(result["structuredContent"]["rule"], "unreadable");
    let body = r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"echo","arguments":{"q":1,"q":2}}}"#;
    let answer: Value = serde_json::from_str(&client.post(body.to_owned()).await).unwrap();
    assert_eq!(answer["result"]["structuredContent"]["rule"], "unreadable");
}

#[tokio::test]
async fn resources_and_prompts_are_sources() {
    let stand = gateway().await;
    for (method, params) in [
        ("resources/read", json!({"uri": "mail://1"})),
        ("prompts/get", json!({"name": "greet"})),
    ] {
        let mut client = Client::greet(&stand).await;
        let answer = client.ask(method, params).await;
        assert!(answer.to_string().contains("mail") || answer.to_string().contains("hello"));
        assert_eq!(client.label().await, "confidential", "{method}");
        assert_eq!(client.call("search", json!({})).await["isError"], true);
    }
}

/// Calls a tool that asks its client something, answers, and gives what the tool made of it.
async fn asked(client: &Client, reply: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": "q", "method": "tools/call", "params": {"name": "ask"}});
    let mut response = client.request(body.to_string()).send().await.unwrap();
    let mut text = String::new();
    let mut replied = false;
    while let Some(chunk) = response.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        let messages = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let messages = messages.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        for message in messages {
            if message["method"] == "elicitation/create" && !replied {
                replied = true;
                assert_eq!(message["params"]["message"], "your name?");
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": reply});
                let sent = client.request(answer.to_string()).send().await.unwrap();
                assert_eq!(sent.status(), 202);
            }
            if message["id"] == "q" && message.get("method").is_none() {
                return message["result"].clone();
            }
        }
    }
    panic!("no answer in {text}");
}

#[tokio::test]
async fn what_a_server_asks_reaches_the_client_and_the_answer_is_decided_on() {
    let stand = gateway().await;
    let client = Client::greet(&stand).await;
    let accepted = json!({"action": "accept", "content": {"size": "large"}});
    let said = asked(&client, accepted.clone()).await;
    assert_eq!(serde_json::from_str::<Value>(text_of(&said)).unwrap(), accepted);
}
