//! Clients that go away while a server works for them, and clients that take a call back.
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

use mcp_stand::{Client, options, policy, scripted, server, text_of};
use serde_json::{Value, json};
use stand::{Setting, Stand};
use tidegate_core::Role;
use tidegate_gateway::mcp::Options;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A gateway that waits long for servers and not long for clients.
async fn gateway() -> Stand {
    let options = Options {
        call_timeout: Duration::from_secs(120),
        abandon_after: Duration::from_millis(300),
        ..options()
    };
    let servers = vec![server("scripted", true, scripted(&[]))];
    Stand::start_mcp(Setting::default(), policy(""), servers, options).await
}

/// The calls that the server never answers, and those of them that it was told to give up.
async fn calls(client: &mut Client) -> (Vec<Value>, Vec<Value>) {
    let result = client.call("given_up", json!({})).await;
    let said: Value = serde_json::from_str(text_of(&result)).unwrap();
    let list = |name: &str| said[name].as_array().unwrap().clone();
    (list("hanging"), list("given_up"))
}

/// Waits until as many calls reached the server, and until it was told to give up as many.
async fn until(client: &mut Client, reached: usize, given_up: usize) -> (Vec<Value>, Vec<Value>) {
    for _ in 0..200 {
        let seen = calls(client).await;
        if seen.0.len() >= reached && seen.1.len() >= given_up {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the server saw no {reached} calls, or was not told to give {given_up} up");
}

/// What the record says of calls that brought nothing in, in order: tool and cause.
async fn unanswered(stand: &Stand, session: &str) -> Vec<(String, String)> {
    let auditor = stand.holder(Role::Auditor, "ada", None).await;
    let path = format!("/v1/provenance?session={session}&limit=1000");
    let page = stand.get(&auditor, &path).await;
    let events = page["records"].as_array().unwrap().clone();
    let text = |event: &Value, member: &str| event[member].as_str().unwrap().to_owned();
    events
        .iter()
        .map(|record| &record["event"])
        .filter(|event| event["type"] == "call_unanswered")
        .map(|event| (text(event, "tool"), text(event, "cause")))
        .collect()
}

async fn until_recorded(stand: &Stand, session: &str, count: usize) -> Vec<(String, String)> {
    for _ in 0..200 {
        let recorded = unanswered(stand, session).await;
        if recorded.len() >= count {
            return recorded;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no {count} calls without an answer are on the record");
}

fn hang(id: &str, stateless: bool) -> Value {
    let mut params = json!({"name": "hang", "arguments": {}});
    if stateless {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        });
    }
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// Sends a request on a connection of its own and leaves it open.
async fn post(stand: &Stand, client: &Client, body: &Value, stateless: bool) -> TcpStream {
    let body = body.to_string();
    let mut head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
        stand.address,
        client.holder.token,
        body.len()
    );
    if stateless {
        head.push_str("mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: hang\r\n");
        head.push_str(&format!("tidegate-session: {}\r\n", client.session));
    } else {
        head.push_str(&format!("mcp-session-id: {}\r\n", client.session));
    }
    let mut stream = TcpStream::connect(stand.address).await.unwrap();
    stream
        .write_all(format!("{head}\r\n{body}").as_bytes())
        .await
        .unwrap();
    stream
}

#[tokio::test]
async fn a_stream_for_changes_that_is_taken_back_ends() {
    let stand = gateway().await;
    let client = Client::greet(&stand).await;
    for wanted in [
        json!({"toolsListChanged": true}),
        json!({"resourceSubscriptions": ["mail://1"]}),
    ] {
        let params = json!({"notifications": wanted});
        let body = json!({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params});
        let mut stream = client.request(body.to_string()).send().await.unwrap();
        let mut seen = String::new();
        while !seen.contains("acknowledged") {
            let chunk = stream.chunk().await.unwrap().expect("the stream goes on");
            seen.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        let told =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "l"}});
        let told = client.request(told.to_string()).send().await.unwrap();
        assert_eq!(told.status(), 202);
        let ended = tokio::time::timeout(Duration::from_secs(20), stream.text()).await;
        ended.expect("the stream ends").unwrap();
    }
}

/// A client leaves in the middle of one of two calls: that one is given up, and everything else goes on.
async fn check_leaving(stateless: bool) {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let staying = post(&stand, &client, &hang("stays", false), false).await;
    until(&mut client, 1, 0).await;
    let leaving = post(&stand, &client, &hang("leaves", stateless), stateless).await;
    let (hanging, given_up) = until(&mut client, 2, 0).await;
    assert!(given_up.is_empty(), "nobody left yet");
    drop(leaving);
    let (_, given_up) = until(&mut client, 2, 1).await;
    assert_eq!(
        given_up,
        hanging[1..],
        "the call whose client left, under the id it went out with"
    );
    let session = client.session.clone();
    let recorded = until_recorded(&stand, &session, 1).await;
    assert_eq!(recorded, [("hang".to_owned(), "client-left".to_owned())]);
    assert_eq!(
        text_of(&client.call("echo", json!({"on": 1})).await),
        r#"{"on":1}"#
    );
    // The id is free again, and the other call is still under way.
    let again = post(&stand, &client, &hang("leaves", stateless), stateless).await;
    until(&mut client, 3, 1).await;
    drop(again);
    drop(staying);
    until(&mut client, 3, 3).await;
    assert_eq!(until_recorded(&stand, &session, 3).await.len(), 3);
}

#[tokio::test]
async fn a_call_whose_client_left_is_given_up_after_a_while() {
    check_leaving(false).await;
}

#[tokio::test]
async fn in_the_stateless_era_a_call_whose_client_left_is_given_up() {
    check_leaving(true).await;
}

#[tokio::test]
async fn a_client_that_comes_back_for_its_answer_finds_it_under_way() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let mut first = post(&stand, &client, &hang("h", false), false).await;
    until(&mut client, 1, 0).await;
    // The stream for an answer that takes long begins with an event that names it.
    let mut said = String::new();
    while !said.contains("id: 1-0") {
        let mut piece = [0; 1024];
        let read = first.read(&mut piece).await.unwrap();
        assert!(read > 0, "{said}");
        said.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    let second = client
        .listen()
        .header("last-event-id", "1-0")
        .send()
        .await
        .unwrap();
    drop(first);
    // Longer than the gateway waits for a client that is gone.
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert!(calls(&mut client).await.1.is_empty(), "somebody waits");
    drop(second);
    until(&mut client, 1, 1).await;
}

#[tokio::test]
async fn a_session_that_is_ended_gives_up_what_is_under_way() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let waiting = post(&stand, &client, &hang("h", false), false).await;
    until(&mut client, 1, 0).await;
    let ended = client.end().send().await.unwrap();
    assert_eq!(ended.status(), 204);
    let session = client.session.clone();
    let recorded = until_recorded(&stand, &session, 1).await;
    assert_eq!(recorded, [("hang".to_owned(), "client-left".to_owned())]);
    drop(waiting);
}

#[tokio::test]
async fn a_call_that_is_taken_back_has_no_answer_and_is_on_the_record() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let waiting = tokio::spawn(client.request(hang("h", false).to_string()).send());
    let (hanging, _) = until(&mut client, 1, 0).await;
    let told = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": "h", "reason": "no longer needed"},
    });
    assert_eq!(
        client.request(told.to_string()).send().await.unwrap().status(),
        202
    );
    let (_, given_up) = until(&mut client, 1, 1).await;
    assert_eq!(given_up, hanging);
    assert_eq!(waiting.await.unwrap().unwrap().text().await.unwrap(), "");
    let session = client.session.clone();
    let recorded = until_recorded(&stand, &session, 1).await;
    assert_eq!(recorded, [("hang".to_owned(), "taken-back".to_owned())]);
}
