//! A server over HTTP behind the gateway: answers as JSON and as streams, streams that break off, and worse.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod mcp_stand;
mod stand;

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use mcp_stand::{Client, options, server, text_of};
use serde_json::{Value, json};
use stand::{Setting, Stand};
use tidegate_core::{Class, ControlList, Name, Tool, ToolFacts};
use tidegate_engine::Policy;
use tidegate_gateway::mcp::Reach;

const TOOLS: [&str; 6] = ["json", "stream", "broken", "flood", "forget", "page"];

/// What the server remembers: the greetings it got, and the answer that a broken stream owes.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<(u32, Value)>>);

async fn take(State(memory): State<Memory>, headers: HeaderMap, body: String) -> Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    let id = message["id"].clone();
    if id.is_null() {
        return StatusCode::ACCEPTED.into_response();
    }
    let answer = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let text = |text: &str| answer(json!({"content": [{"type": "text", "text": text}]}));
    let said = |value: Value| ([("content-type", "application/json")], value.to_string()).into_response();
    let greets = message["method"] == "initialize";
    if !greets {
        assert_eq!(headers["mcp-protocol-version"], "2025-11-25");
        let session = format!("s{}", memory.0.lock().unwrap().0);
        assert_eq!(headers["mcp-session-id"], session.as_str());
    }
    match (
        message["method"].as_str().unwrap(),
        message["params"]["name"].as_str(),
    ) {
        ("initialize", _) => {
            let count = {
                let mut memory = memory.0.lock().unwrap();
                memory.0 += 1;
                memory.0
            };
            let greeting = answer(json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "http", "version": "1"},
            }));
            (
                [
                    ("mcp-session-id", format!("s{count}")),
                    ("content-type", "application/json".into()),
                ],
                greeting.to_string(),
            )
                .into_response()
        }
        ("tools/list", _) => {
            let tools: Vec<_> = TOOLS
                .iter()
                .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
                .collect();
            said(answer(json!({"tools": tools})))
        }
        (_, Some("json")) => said(text("as JSON")),
        (_, Some("stream")) => {
            let progress =
                json!({"progressToken": message["params"]["_meta"]["progressToken"], "progress": 1});
            let note = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress});
            events(&format!(
                ": hello\n\ndata: {note}\n\nevent: message\ndata: {}\n\n",
                text("as a stream")
            ))
        }
        (_, Some("broken")) => {
            memory.0.lock().unwrap().1 = text("taken up again");
            events("id: 7\nretry: 10\ndata:\n\n")
        }
        (_, Some("flood")) => {
            let flood =
                futures_util::stream::iter((0..100).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 20])));
            ([("content-type", "application/json")], Body::from_stream(flood)).into_response()
        }
        (_, Some("forget")) => StatusCode::NOT_FOUND.into_response(),
        _ => ([("content-type", "text/html")], "<h1>Welcome</h1>").into_response(),
    }
}

async fn resume(State(memory): State<Memory>, headers: HeaderMap) -> Response {
    match headers.get("last-event-id") {
        Some(id) if id == "7" => events(&format!("data: {}\n\n", memory.0.lock().unwrap().1)),
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

fn events(text: &str) -> Response {
    ([("content-type", "text/event-stream")], text.to_owned()).into_response()
}

async fn gateway() -> Stand {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let routes = Router::new()
        .route("/mcp", post(take).get(resume))
        .with_state(Memory::default());
    tokio::spawn(axum::serve(listener, routes).into_future());
    let reach = Reach::Url {
        url,
        headers_env: Vec::new(),
        ca_file: None,
    };
    let harmless = |name: &&str| {
        Tool::declared(ToolFacts {
            returns: Some(Class::Public),
            ..ToolFacts::named(Name::parse(&format!("far.{name}")).unwrap())
        })
    };
    let policy = Policy::new(ControlList::new(TOOLS.iter().map(harmless)).unwrap());
    Stand::start_mcp(
        Setting::default(),
        policy,
        vec![server("far", false, reach)],
        options(),
    )
    .await
}

#[tokio::test]
async fn answers_come_as_json_as_streams_and_as_streams_that_broke_off() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    assert_eq!(text_of(&client.call("far.json", json!({})).await), "as JSON");
    let params = json!({"name": "far.stream", "_meta": {"progressToken": 3}});
    assert_eq!(text_of(&client.ask("tools/call", params).await), "as a stream");
    assert!(client.notified("notifications/progress"));
    assert_eq!(
        text_of(&client.call("far.broken", json!({})).await),
        "taken up again"
    );
}

#[tokio::test]
async fn a_server_that_floods_forgets_or_is_none_is_an_error_and_nothing_more() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    for tool in ["far.flood", "far.page", "far.forget"] {
        let result = client.call(tool, json!({})).await;
        assert_eq!(
            result["structuredContent"]["rule"], "server-unavailable",
            "{tool}: {result}"
        );
    }
    for _ in 0..50 {
        let result = client.call("far.json", json!({})).await;
        if result["isError"] != true {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("a conversation that the server forgot is begun anew");
}
