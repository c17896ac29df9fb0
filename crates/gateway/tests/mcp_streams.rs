//! Streams that break off can be taken up again by a client of the greeted era.
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

use mcp_stand::{Client, gateway};
use serde_json::{Value, json};

/// The events of a stream: id and data.
fn events(text: &str) -> Vec<(String, String)> {
    let field = |event: &str, name: &str| {
        let line = event.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().trim().to_owned()
    };
    let whole = text.split("\n\n").filter(|event| event.contains("id:"));
    whole
        .map(|event| (field(event, "id:"), field(event, "data:")))
        .collect()
}

#[tokio::test]
async fn a_stream_that_broke_off_is_taken_up_where_it_was() {
    let stand = gateway().await;
    let client = Client::greet(&stand).await;
    let params = json!({"name": "progress", "_meta": {"progressToken": 1}});
    let call = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params});
    let whole = client.request(call.to_string()).send().await.unwrap();
    let whole = events(&whole.text().await.unwrap());
    assert_eq!(whole[0].1, "", "the first event says nothing but its name");
    assert!(whole.len() > 6, "{whole:?}");
    let answer: Value = serde_json::from_str(&whole.last().unwrap().1).unwrap();
    assert_eq!(answer["id"], 9);
    for (at, (id, _)) in whole.iter().enumerate() {
        let rest = client.listen().header("last-event-id", id).send().await.unwrap();
        assert_eq!(rest.status(), 200);
        assert_eq!(events(&rest.text().await.unwrap()), whole[at + 1..], "after {id}");
    }
}

#[tokio::test]
async fn the_stream_for_what_belongs_to_no_request_ends_with_its_token() {
    let stand = gateway().await;
    let client = Client::greet(&stand).await;
    let stream = client.listen().send().await.unwrap();
    assert_eq!(stream.status(), 200);
    stand.revoke(&client.holder).await;
    let ended = tokio::time::timeout(Duration::from_secs(20), stream.text()).await;
    ended.expect("the stream ends").unwrap();
}
