//! Nothing passes, either way, that nobody has looked into.
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
use tidegate_core::{ControlList, Role};
use tidegate_engine::Policy;

/// How many messages with a word in them reached the server.
async fn heard(client: &mut Client, word: &str) -> String {
    let result = client.call("heard", json!({"word": word})).await;
    text_of(&result).to_owned()
}

/// Makes the server say something during a call.
async fn say(client: &mut Client, lines: &[&str]) {
    let result = client.call("say", json!({"lines": lines})).await;
    assert_eq!(text_of(&result), "said");
}

/// Whether something that came beside an answer has a word in it.
fn noted(client: &Client, word: &str) -> bool {
    client.notes.iter().any(|note| note.to_string().contains(word))
}

#[tokio::test]
async fn parameters_that_cannot_be_looked_into_do_not_reach_a_server() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    for body in [
        r#"{"jsonrpc":"2.0","id":71,"method":"x/y","params":["CANARY bob@example.com"]}"#,
        r#"{"jsonrpc":"2.0","id":71,"method":"x/y","params":{"a":"CANARY bob@example.com","a":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/z","params":["CANARY bob@example.com"]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":"CANARY"}"#,
    ] {
        let answered = client.request(body.to_owned()).send().await.unwrap();
        assert_eq!(answered.status(), 400, "{body}");
        let answer: Value = answered.json().await.unwrap();
        assert_eq!(answer["error"]["code"], -32602, "{body}: {answer}");
        let asked = body.contains("\"id\"");
        assert_eq!(
            answer["id"],
            if asked { json!(71) } else { Value::Null },
            "{body}"
        );
    }
    assert_eq!(heard(&mut client, "CANARY").await, "0");
}

#[tokio::test]
async fn parameters_that_cannot_be_looked_into_do_not_reach_the_client() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    say(
        &mut client,
        &[
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","level":"info","data":"CANARY"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":["CANARY"]}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":["CANARY"]}"#,
            r#"{"jsonrpc":"2.0","id":8,"method":"elicitation/create","params":{"message":"CANARY","message":""}}"#,
        ],
    )
    .await;
    assert!(!noted(&client, "CANARY"), "{:?}", client.notes);
    say(
        &mut client,
        &[r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"data":"seen"}}"#],
    )
    .await;
    assert!(noted(&client, "seen"), "{:?}", client.notes);
}

/// Calls the tool that says something, with a progress token, and gives the label after it.
async fn label_after_saying(token: &str, line: &str) -> String {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let params = json!({
        "name": "say", "arguments": {"lines": [line]}, "_meta": {"progressToken": token},
    });
    client.ask("tools/call", params).await;
    let asks = line.contains("\"id\"");
    // A question is brought to the client beside the call.
    for _ in 0..50 {
        if !asks || client.label().await != "public" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    client.label().await
}

#[tokio::test]
async fn progress_is_bare_only_in_numbers() {
    let told = |told: Value| {
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": told}).to_string()
    };
    for (expected, params) in [
        (
            "public",
            json!({"progressToken": "t", "progress": 1, "total": 2.5}),
        ),
        (
            "pii",
            json!({"progressToken": "t", "progress": "to bob@example.com"}),
        ),
        (
            "pii",
            json!({"progressToken": "t", "progress": 1, "total": ["bob@example.com"]}),
        ),
        (
            "pii",
            json!({"progressToken": "t", "progress": 1, "note": "to bob@example.com"}),
        ),
    ] {
        let line = told(params);
        assert_eq!(label_after_saying("t", &line).await, expected, "{line}");
    }
}

#[tokio::test]
async fn a_long_number_is_no_progress_but_words() {
    for progress in ["4111111111111111", "4111111111111111.0", "4.111111111111111e15"] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"t","progress":{progress}}}}}"#
        );
        assert_eq!(label_after_saying("t", &line).await, "pii", "{line}");
    }
}

#[tokio::test]
async fn a_server_speaks_only_of_its_own_calls() {
    let servers = vec![
        server("one", false, scripted(&[])),
        server("two", false, scripted(&[])),
    ];
    let mut both = policy("one.").control.iter().cloned().collect::<Vec<_>>();
    both.extend(policy("two.").control.iter().cloned());
    let policy = Policy::new(ControlList::new(both).unwrap());
    let stand = Stand::start_mcp(Setting::default(), policy, servers, options()).await;
    let mut client = Client::greet(&stand).await;
    let params = json!({"name": "one.hang", "_meta": {"progressToken": "t"}});
    let hang = json!({"jsonrpc": "2.0", "id": 900, "method": "tools/call", "params": params});
    let hanging = tokio::spawn(client.request(hang.to_string()).send());
    tokio::time::sleep(Duration::from_millis(500)).await;
    let line = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1,"message":"CANARY"}}"#;
    client.call("two.say", json!({"lines": [line]})).await;
    let hung = hanging.await.unwrap().unwrap().text().await.unwrap();
    assert!(!hung.contains("CANARY"), "{hung}");
    assert!(!noted(&client, "CANARY"), "{:?}", client.notes);
}

#[tokio::test]
async fn an_update_that_nobody_watches_for_leaves_nothing_behind() {
    let servers = vec![
        server("one", false, scripted(&[])),
        server("two", false, scripted(&[])),
    ];
    let stand = Stand::start_mcp(Setting::default(), policy("two."), servers, options()).await;
    let mut client = Client::greet(&stand).await;
    let updated =
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"note://x"}}"#;
    client.call("two.say", json!({"lines": [updated]})).await;
    let answer = client
        .exchange("resources/read", json!({"uri": "note://x"}))
        .await;
    assert_eq!(answer["error"]["data"]["rule"], "unknown-resource", "{answer}");
}

#[tokio::test]
async fn changes_are_told_without_a_servers_words() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let sorts = ["tools", "prompts", "resources"];
    let line = |sort| {
        let method = format!("notifications/{sort}/list_changed");
        json!({"jsonrpc": "2.0", "method": method, "params": {"why": "CANARY"}, "x": "CANARY"}).to_string()
    };
    let lines = sorts.map(line);
    say(&mut client, &lines.each_ref().map(String::as_str)).await;
    for sort in sorts {
        assert!(client.notified(&format!("notifications/{sort}/list_changed")));
    }
    assert!(!noted(&client, "CANARY"), "{:?}", client.notes);
    assert_eq!(client.label().await, "public");
    // An address that nobody watches is the server's words, and nobody asked for them.
    let updated =
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"mail://CANARY"}}"#;
    say(&mut client, &[updated]).await;
    assert!(!noted(&client, "CANARY"), "{:?}", client.notes);
    assert_eq!(client.label().await, "public");
}

#[tokio::test]
async fn what_is_told_to_servers_without_a_decision_is_in_the_gateways_words() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    client.call("echo", json!({})).await;
    for level in [json!("CANARY"), json!({"level": "CANARY"}), json!(["CANARY"])] {
        let refused = client.exchange("logging/setLevel", json!({"level": level})).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let level = json!({"level": "warning", "note": "CANARY"});
    client.ask("logging/setLevel", level).await;
    assert_eq!(heard(&mut client, r#"{"level":"warning"}"#).await, "1");

    let hang = json!({"jsonrpc": "2.0", "id": "h", "method": "tools/call", "params": {"name": "hang"}});
    let hanging = tokio::spawn(client.request(hang.to_string()).send());
    tokio::time::sleep(Duration::from_millis(500)).await;
    for told in [
        json!({"method": "notifications/roots/list_changed", "params": {"why": "CANARY"}, "x": "CANARY"}),
        json!({"method": "notifications/cancelled", "params": {"requestId": "h", "reason": "CANARY"}, "x": "CANARY"}),
    ] {
        let mut told = told;
        told["jsonrpc"] = json!("2.0");
        let answered = client.request(told.to_string()).send().await.unwrap();
        assert_eq!(answered.status(), 202, "{told}");
    }
    hanging.await.unwrap().unwrap();
    assert_eq!(heard(&mut client, "notifications/roots/list_changed").await, "1");
    assert_eq!(heard(&mut client, "notifications/cancelled").await, "1");
    assert_eq!(heard(&mut client, "CANARY").await, "0");
}

#[tokio::test]
async fn a_server_begun_anew_hears_what_its_client_said_first() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let info = json!({"name": "CANARY", "version": "2"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
    let again = json!({"jsonrpc": "2.0", "id": "again", "method": "initialize", "params": params});
    let answered = client
        .request(again.to_string())
        .header("tidegate-session", &client.session)
        .send()
        .await
        .unwrap();
    assert_eq!(answered.headers()["mcp-session-id"], client.session.as_str());
    let answer: Value = answered.json().await.unwrap();
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    client.call("die", json!({})).await;
    for _ in 0..100 {
        if client.call("echo", json!({})).await["isError"] != true {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(heard(&mut client, "CANARY").await, "0");
    assert_eq!(heard(&mut client, r#""name":"test""#).await, "1");
}

/// Greets in a session that is gone on with, as a client of this name.
async fn greet_again(client: &mut Client, name: &str) {
    let ended = client.end().send().await.unwrap();
    assert!(ended.status().is_success(), "{}", ended.status());
    let session = std::mem::take(&mut client.session);
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {"listChanged": true}, "experimental": {name: {}}},
        "clientInfo": {"name": name, "version": "1"},
    });
    let again = json!({"jsonrpc": "2.0", "id": "again", "method": "initialize", "params": params});
    let answered = client
        .request(again.to_string())
        .header("tidegate-session", &session)
        .send()
        .await
        .unwrap();
    assert_eq!(answered.headers()["mcp-session-id"], session.as_str());
    client.session = session;
}

#[tokio::test]
async fn in_a_session_gone_on_with_servers_hear_no_words_that_they_may_not_have() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    greet_again(&mut client, "Claude").await;
    assert_eq!(
        heard(&mut client, r#""name":"Claude""#).await,
        "1",
        "a program's name"
    );
    greet_again(&mut client, "CANARY one").await;
    assert_eq!(heard(&mut client, "CANARY one").await, "1", "nothing came in yet");
    client.call("read_mail", json!({})).await;
    assert_eq!(client.label().await, "internal");
    greet_again(&mut client, "CANARY two").await;
    assert_eq!(heard(&mut client, "CANARY").await, "0");
    assert_eq!(heard(&mut client, r#""roots":{"listChanged":true}"#).await, "1");
    assert_eq!(heard(&mut client, "initialize\"").await, "1");

    // What a server was not told is looked into where a request says it again.
    let info = json!({"name": "to bob@example.com", "version": "1"});
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": info,
    });
    let params = json!({"name": "echo", "arguments": {}, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": "s", "method": "tools/call", "params": params});
    client.end().send().await.unwrap();
    let session = std::mem::take(&mut client.session);
    let answered = client
        .request(body.to_string())
        .header("tidegate-session", &session)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "echo")
        .send()
        .await
        .unwrap();
    assert_eq!(answered.status(), 200);
    assert_eq!(last_argument_class(&stand).await, "pii");
}

#[tokio::test]
async fn a_name_with_values_in_it_is_not_told_even_at_first() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    greet_again(&mut client, "patient bob@example.com SSN 536-22-1234").await;
    assert_eq!(heard(&mut client, "bob@example.com").await, "0");
    assert_eq!(heard(&mut client, "initialize\"").await, "1");
}

/// The class that was found in the arguments of the last decision.
async fn last_argument_class(stand: &Stand) -> Value {
    let auditor = stand.holder(Role::Auditor, "ada", None).await;
    let page = stand
        .get(&auditor, "/v1/provenance?event=decision&limit=100")
        .await;
    let records = page["records"].as_array().unwrap();
    let number = |record: &&Value| record["seq"].as_u64();
    let last = records
        .iter()
        .max_by_key(number)
        .unwrap_or_else(|| panic!("{page}"));
    last["event"]["argument_class"].clone()
}

#[tokio::test]
async fn everything_in_a_call_is_looked_into() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let note = json!({"note": "write to bob@example.com"});
    for (member, value) in [
        ("uri", note.clone()),
        ("_meta", note.clone()),
        ("_meta", json!({"progressToken": "bob@example.com"})),
        ("_meta", json!({"traceparent": "bob@example.com"})),
        (
            "_meta",
            json!({"io.modelcontextprotocol/related-task": {"taskId": "bob@example.com"}}),
        ),
        (
            "_meta",
            json!({"io.modelcontextprotocol/clientInfo": {"name": "bob@example.com"}}),
        ),
        ("task", note.clone()),
        ("else", note.clone()),
    ] {
        let mut params = json!({"name": "search", "arguments": {"q": "x"}});
        params[member] = value;
        let denied = client.ask("tools/call", params.clone()).await;
        assert_eq!(denied["isError"], true, "{params}: {denied}");
        assert_eq!(last_argument_class(&stand).await, "pii", "{params}");
    }
    for (method, params) in [
        ("tools/call", json!({"name": "search", "arguments": {"q": "x"}})),
        ("x/y", json!({})),
    ] {
        let body = json!({
            "jsonrpc": "2.0", "id": "b", "method": method, "params": params, "x": "write to bob@example.com",
        });
        client.post(body.to_string()).await;
        assert_eq!(last_argument_class(&stand).await, "pii", "{method}");
    }
    assert_eq!(heard(&mut client, "bob@example.com").await, "0");
}

#[tokio::test]
async fn what_official_clients_send_beside_arguments_is_no_content() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let params = json!({
        "name": "search",
        "arguments": {"q": "x"},
        "task": {"ttl": 60_000},
        "_meta": {
            "progressToken": 3,
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "tidegate/seal": false,
        },
    });
    let answer = client.ask("tools/call", params).await;
    assert_eq!(text_of(&answer), r#"{"q":"x"}"#);
    assert_eq!(heard(&mut client, "traceparent").await, "1");
    let auditor = stand.holder(Role::Auditor, "ada", None).await;
    let page = stand
        .get(
            &auditor,
            "/v1/provenance?event=tool_argument_construction&limit=100",
        )
        .await;
    let names: Vec<_> = page["records"].as_array().unwrap().iter().collect();
    let names = names
        .iter()
        .map(|record| &record["event"]["argument_field_names"]);
    assert!(names.clone().any(|names| *names == json!(["q"])), "{page}");
}

#[tokio::test]
async fn what_an_answer_says_beside_its_result_is_let_in() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let answer = client.exchange("tools/call", json!({"name": "beside"})).await;
    assert!(answer["x"].is_string(), "{answer}");
    assert!(!answer.to_string().contains("bob@example.com"), "{answer}");
    assert_eq!(client.label().await, "pii");
}

#[tokio::test]
async fn what_a_server_says_beside_its_parameters_is_let_in() {
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1},"x":"bob@example.com"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/x","params":{},"x":"bob@example.com"}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"roots/list","params":{"x":"bob@example.com"}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"bob@example.com","arguments":{}}}"#,
    ] {
        assert_eq!(label_after_saying("t", line).await, "pii", "{line}");
    }
}
