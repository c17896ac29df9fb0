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

use mcp_stand::{Client, gateway, text_of};
use serde_json::{Value, json};

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
