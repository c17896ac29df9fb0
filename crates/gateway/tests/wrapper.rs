//! A tool that calls other tools: each call is judged as the tool it names, over MCP and over the HTTP API.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod mcp_stand;
mod stand;

use mcp_stand::{Client, options, policy, scripted, server};
use reqwest::StatusCode;
use serde_json::{Value, json};
use stand::{Setting, Stand};
use tidegate_core::{ControlList, Tool};
use tidegate_engine::Policy;

/// The tools of the scripted server, of which `echo` is a wrapper around the others.
fn wrapping() -> Policy {
    let tools: Vec<Tool> = policy("")
        .control
        .iter()
        .cloned()
        .map(|mut tool| {
            tool.target = (tool.name.as_str() == "echo").then(|| "tool_name".to_owned());
            tool
        })
        .collect();
    Policy::new(ControlList::new(tools).unwrap())
}

async fn gateway() -> Stand {
    let servers = vec![server("scripted", true, scripted(&[]))];
    Stand::start_mcp(Setting::default(), wrapping(), servers, options()).await
}

/// Calls of the wrapper that must be refused as calls of a tool that nobody knows.
fn nameless() -> [Value; 6] {
    [
        json!({"tool_name": "nobody"}),
        json!({"tool_name": "echo"}),
        json!({"tool_name": 7}),
        json!({"tool_name": ["search"]}),
        json!({"name": "search"}),
        json!({}),
    ]
}

#[tokio::test]
async fn over_mcp_a_wrapped_call_is_judged_as_its_target() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let search = json!({"tool_name": "search", "q": "weather"});
    assert_ne!(client.call("echo", search.clone()).await["isError"], true);
    assert_eq!(client.label().await, "public");
    for arguments in nameless() {
        let refused = client.call("echo", arguments.clone()).await;
        assert_eq!(
            refused["structuredContent"]["rule"], "unknown-tool",
            "{arguments}"
        );
    }
    client.call("echo", json!({"tool_name": "read_mail"})).await;
    assert_eq!(
        client.label().await,
        "internal",
        "what comes back is the target's"
    );
    let refused = client.call("echo", search.clone()).await;
    assert_eq!(refused["structuredContent"]["rule"], "label-above-ceiling");
    // What stands beside the arguments names nothing.
    let beside = json!({"name": "echo", "arguments": search, "tool_name": "fail"});
    let refused = client.ask("tools/call", beside).await;
    assert_eq!(refused["structuredContent"]["rule"], "label-above-ceiling");
}

#[tokio::test]
async fn over_the_api_a_wrapped_call_is_judged_as_its_target() {
    let stand = gateway().await;
    let alice = stand.alice().await;
    let session = stand.open(&alice).await;
    let path = format!("/v1/session/{session}/authorize");
    let ask = async |arguments: Value| {
        let call = json!({"tool": "echo", "arguments": arguments});
        stand.post(&alice, &path, call).await
    };
    assert_eq!(ask(json!({"tool_name": "search"})).await["decision"], "allow");
    for arguments in nameless() {
        let call = json!({"tool": "echo", "arguments": arguments});
        let refused = stand.refuse(&alice, &path, call, StatusCode::NOT_FOUND).await;
        assert!(
            refused["type"].as_str().unwrap().contains("unknown-tool"),
            "{refused}"
        );
    }
    let answer = json!({"tool": "read_mail", "content": "a mail"});
    stand
        .post(&alice, &format!("/v1/session/{session}/responses"), answer)
        .await;
    let refused = ask(json!({"tool_name": "search"})).await;
    assert_eq!(refused["rule"], "label-above-ceiling");
    assert!(
        refused["reason"].as_str().unwrap().contains("search"),
        "{refused}"
    );
}
