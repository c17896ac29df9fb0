//! Servers and clients of different eras: what one asks in its way reaches the other in its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod mcp_stand;
mod stand;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use mcp_stand::{Client, gateway, options, text_of};
use serde_json::{Value, json};
use stand::{Setting, Stand};
use std::time::Duration;
use tidegate_core::{Class, ControlList, Name, Role, Tool, ToolFacts};
use tidegate_engine::Policy;
use tidegate_gateway::mcp::{Options, Reach};

const TOOLS: [&str; 3] = ["ask", "again", "strange"];

/// A server of the stateless era whose tools need something first.
async fn newer(body: String) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    let id = &message["id"];
    let params = &message["params"];
    let said = |result: Value| {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        ([("content-type", "application/json")], answer.to_string()).into_response()
    };
    let needs = |requests: Value, state: &str| {
        said(json!({"resultType": "input_required", "inputRequests": requests, "requestState": state}))
    };
    let form = |message: &str| {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
    };
    match message["method"].as_str().unwrap() {
        "server/discover" => said(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "newer", "version": "1"}},
        })),
        "tools/list" => {
            let tools: Vec<_> = TOOLS
                .iter()
                .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
                .collect();
            said(json!({"resultType": "complete", "tools": tools}))
        }
        "tools/call" => match (params["name"].as_str().unwrap(), params["requestState"].as_str()) {
            ("ask", None) => needs(json!({"one": form("your name?")}), "first"),
            ("ask", Some("first")) => {
                assert_eq!(params["arguments"], json!({"kept": true}));
                let given = params["inputResponses"]["one"].to_string();
                needs(json!({"two": form("your name?")}), &format!("second {given}"))
            }
            ("ask", Some(state)) => {
                let text = format!("{state} then {}", params["inputResponses"]["two"]);
                said(json!({"resultType": "complete", "content": [{"type": "text", "text": text}]}))
            }
            ("again", _) => needs(json!({}), "more"),
            _ => needs(json!({"x": {"method": "secrets/list", "params": {}}}), "s"),
        },
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
            ([("content-type", "application/json")], answer.to_string()).into_response()
        }
    }
}

/// The same server where it takes longer to start than a silent one is waited for.
async fn newer_later(body: String) -> Response {
    if body.contains("server/discover") {
        tokio::time::sleep(SILENCE * 2).await;
    }
    newer(body).await
}

/// How long a server that says nothing is asked in one era alone, with the bounds of these tests.
const SILENCE: Duration = Duration::from_secs(2);

async fn before_a_newer_server() -> Stand {
    before(post(newer)).await
}

async fn before(server: MethodRouter) -> Stand {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let routes = Router::new().route("/mcp", server);
    tokio::spawn(axum::serve(listener, routes).into_future());
    let reach = Reach::Url {
        url,
        headers_env: Vec::new(),
        ca_file: None,
    };
    let harmless = |name: &&str| {
        Tool::declared(ToolFacts {
            returns: Some(Class::Public),
            ..ToolFacts::named(Name::parse(name).unwrap())
        })
    };
    let policy = Policy::new(ControlList::new(TOOLS.iter().map(harmless)).unwrap());
    let servers = vec![mcp_stand::server("newer", true, reach)];
    let options = Options {
        start_timeout: SILENCE * 6,
        ..options()
    };
    Stand::start_mcp(Setting::default(), policy, servers, options).await
}

/// Calls a tool and answers what the client is asked on the way, in order; gives the questions and the result.
async fn call_and_answer(client: &Client, tool: &str, replies: &[Value]) -> (Vec<Value>, Value) {
    let params = json!({"name": tool, "arguments": {"kept": true}});
    let body = json!({"jsonrpc": "2.0", "id": "q", "method": "tools/call", "params": params});
    let mut response = client.request(body.to_string()).send().await.unwrap();
    let (mut text, mut asked) = (String::new(), Vec::new());
    while let Some(chunk) = response.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        let lines = text
            .lines()
            .map(|line| line.strip_prefix("data: ").unwrap_or(line));
        let messages: Vec<Value> = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
        let questions = messages
            .iter()
            .filter(|message| message["method"] == "elicitation/create");
        for question in questions.skip(asked.len()).cloned().collect::<Vec<_>>() {
            let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": replies[asked.len()]});
            asked.push(question["params"]["message"].clone());
            let sent = client.request(reply.to_string()).send().await.unwrap();
            assert_eq!(sent.status(), 202);
        }
        if let Some(answer) = messages.iter().find(|message| message["id"] == "q") {
            return (asked, answer["result"].clone());
        }
    }
    panic!("no answer in {text}");
}

#[tokio::test]
async fn what_a_newer_server_needs_is_asked_of_an_older_client() {
    let stand = before_a_newer_server().await;
    let client = Client::greet(&stand).await;
    let accepted = json!({"action": "accept", "content": {"n": 1}});
    let declined = json!({"action": "decline"});
    let (asked, result) = call_and_answer(&client, "ask", &[accepted.clone(), declined.clone()]).await;
    assert_eq!(asked, ["your name?", "your name?"]);
    assert_eq!(text_of(&result), format!("second {accepted} then {declined}"));
    assert!(result.get("requestState").is_none());
}

#[tokio::test]
async fn what_cannot_be_asked_is_a_tools_error() {
    let stand = before_a_newer_server().await;
    let mut client = Client::greet(&stand).await;
    for tool in ["strange", "again"] {
        let result = client.call(tool, json!({})).await;
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert_eq!(
            result["structuredContent"]["rule"], "input-required",
            "{tool}: {result}"
        );
    }
}

/// Calls the tool of an older server that asks, as a client of the stateless era.
async fn stateless_call(stand: &Stand, token: &str, more: Value) -> Value {
    let mut params = json!({"name": "ask", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let answer = reqwest::Client::new()
        .post(stand.url("/mcp"))
        .bearer_auth(token)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "ask")
        .body(body.to_string())
        .send()
        .await
        .unwrap();
    answer.json().await.unwrap()
}

#[tokio::test]
async fn a_newer_server_that_takes_long_to_start_is_not_taken_for_an_older_one() {
    let stand = before(post(newer_later)).await;
    let alice = stand.alice().await;
    let asked = stateless_call(&stand, &alice.token, json!({"arguments": {"kept": true}})).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
}

#[tokio::test]
async fn what_an_older_server_asks_is_told_to_a_newer_client_in_the_answer() {
    let stand = gateway().await;
    let alice = stand.alice().await;
    let mallory = stand.holder(Role::Agent, "mallory", Some("bot")).await;
    for reply in [
        json!({"action": "accept", "content": {"size": "large"}}),
        json!({"action": "decline"}),
    ] {
        let first = stateless_call(&stand, &alice.token, json!({})).await["result"].clone();
        assert_eq!(first["resultType"], "input_required", "{first}");
        let (name, asked) = first["inputRequests"].as_object().unwrap().iter().next().unwrap();
        assert_eq!(asked["method"], "elicitation/create");
        assert_eq!(asked["params"]["message"], "your name?");
        let back = json!({"requestState": first["requestState"], "inputResponses": {name: reply}});
        let stolen = stateless_call(&stand, &mallory.token, back.clone()).await;
        assert_eq!(stolen["result"]["isError"], true, "{stolen}");
        let second = stateless_call(&stand, &alice.token, back.clone()).await["result"].clone();
        assert_eq!(second["resultType"], "complete", "{second}");
        assert_eq!(serde_json::from_str::<Value>(text_of(&second)).unwrap(), reply);
        let replayed = stateless_call(&stand, &alice.token, back).await;
        assert_eq!(
            replayed["result"]["structuredContent"]["rule"], "input-required",
            "{replayed}"
        );
    }
}
