//! Stubs and seals over both wires: what the agent sees, what the tool gets, and who may be told.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod mcp_stand;
mod stand;

use mcp_stand::{Client, options, scripted, server};
use reqwest::StatusCode;
use serde_json::{Value, json};
use stand::{Setting, Stand};
use tidegate_core::{Class, ControlList, FieldClasses, Name, Role, SealRule, Tool, ToolFacts};
use tidegate_engine::Policy;

const EMAIL: &str = "anna.schmidt@example.org";

/// The scripted server answers with the arguments of a call, so each of its tools can play a source or a sink.
fn policy() -> Policy {
    let facts = |name: &str| ToolFacts::named(Name::parse(name).unwrap());
    let fields = [("guest.email", Class::Pii), ("dates.*", Class::Public)];
    let fields = FieldClasses::new(fields.map(|(path, class)| (path.parse().unwrap(), class)));
    let tools = [
        ToolFacts {
            returns: Some(Class::Pii),
            fields,
            ..facts("echo")
        },
        ToolFacts {
            returns: Some(Class::Pii),
            seal: SealRule::Always,
            ..facts("read_mail")
        },
        ToolFacts {
            returns: Some(Class::Public),
            ceiling: Some(Class::Pii),
            sink: true,
            ..facts("search")
        },
        ToolFacts {
            returns: Some(Class::Public),
            ..facts("log")
        },
    ];
    Policy::new(ControlList::new(tools.map(Tool::declared)).unwrap())
}

async fn gateway() -> Stand {
    let servers = vec![server("scripted", true, scripted(&[]))];
    Stand::start_mcp(Setting::default(), policy(), servers, options()).await
}

fn guest() -> Value {
    json!({"guest": {"email": EMAIL}, "dates": {"from": "2026-05-01"}})
}

#[tokio::test]
async fn over_mcp_the_gateway_puts_values_in_and_takes_them_out() {
    let stand = gateway().await;
    let mut client = Client::greet(&stand).await;
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();

    let split = client.call("echo", guest()).await;
    let seen: Value = serde_json::from_str(&text(&split)).unwrap();
    assert_eq!(
        seen,
        json!({"guest": {"email": "{GUEST_EMAIL_1}"}, "dates": {"from": "2026-05-01"}})
    );
    assert_eq!(client.label().await, "public");

    // The server repeats what it was sent. Had it been sent the stub itself, that would come back marked as text.
    let sent = client
        .call(
            "search",
            json!({"to": "{GUEST_EMAIL_1}", "note": "{literal:ITEM_1}"}),
        )
        .await;
    let seen: Value = serde_json::from_str(&text(&sent)).unwrap();
    assert_eq!(seen, json!({"to": "{GUEST_EMAIL_1}", "note": "{literal:ITEM_1}"}));

    let stopped = client.call("log", json!({"x": ["{GUEST_EMAIL_1}"]})).await;
    assert_eq!(stopped["structuredContent"]["rule"], "stub-outside-sink");
    let stopped = client.call("search", json!({"to": "{GUEST_EMAIL_2}"})).await;
    assert_eq!(stopped["structuredContent"]["rule"], "unknown-stub");

    let sealed = client.call("read_mail", guest()).await;
    let handle = sealed["structuredContent"]["sealed"].as_str().unwrap().to_owned();
    assert!(!sealed.to_string().contains("anna"), "{sealed}");
    let selected = client
        .call(
            "tidegate_select",
            json!({"handle": handle, "pointer": "/guest/email"}),
        )
        .await;
    let part = selected["structuredContent"]["sealed"].as_str().unwrap();
    let sent = client.call("search", json!({"to": part})).await;
    assert!(
        text(&sent).contains("_1}") || text(&sent).contains("_2}"),
        "{sent}"
    );
    assert!(!sent.to_string().contains("anna"), "{sent}");

    let asked = json!({"name": "log", "arguments": {}, "_meta": {"tidegate/seal": true}});
    let asked = client.ask("tools/call", asked).await;
    assert_eq!(asked["structuredContent"]["sealed"], "{SEALED_LOG_1}");
    assert_eq!(client.label().await, "public");
}

#[tokio::test]
async fn over_http_only_a_connector_is_told_the_values() {
    let stand = gateway().await;
    let alice = stand.alice().await;
    let bob = stand.holder(Role::Agent, "bob", None).await;
    let connector = stand.holder(Role::Connector, "crm", None).await;
    let session = stand.open(&alice).await;
    let path = |end: &str| format!("/v1/session/{session}/{end}");
    let brought = stand
        .post(
            &alice,
            &path("responses"),
            json!({"tool": "echo", "content": guest()}),
        )
        .await;
    assert_eq!(brought["content"]["guest"]["email"], "{GUEST_EMAIL_1}");
    assert_eq!(
        (&brought["sensitivity"], &brought["redacted"]),
        (&json!("public"), &json!(true))
    );

    let call = json!({"tool": "search", "arguments": {"to": "{GUEST_EMAIL_1}"}});
    let decided = stand.post(&alice, &path("authorize"), call.clone()).await;
    assert_eq!(
        (&decided["allowed"], &decided["unresolved"]),
        (&json!(true), &json!(true))
    );
    assert!(!decided.to_string().contains("anna"));
    stand
        .refuse(&alice, &path("resolve"), call.clone(), StatusCode::FORBIDDEN)
        .await;
    stand
        .refuse(
            &stand.admin().await,
            &path("resolve"),
            call.clone(),
            StatusCode::FORBIDDEN,
        )
        .await;
    let resolved = stand.post(&connector, &path("resolve"), call).await;
    assert_eq!(resolved["arguments"], json!({"to": EMAIL}));
    let outside = json!({"tool": "log", "arguments": {"to": "{GUEST_EMAIL_1}"}});
    let outside = stand.post(&connector, &path("resolve"), outside).await;
    assert_eq!(
        (&outside["rule"], &outside["arguments"]),
        (&json!("stub-outside-sink"), &Value::Null)
    );

    let sealed = json!({"tool": "echo", "content": guest(), "seal": true});
    let sealed = stand.post(&alice, &path("responses"), sealed).await;
    let select = json!({"handle": sealed["content"]["sealed"], "pointer": "/guest"});
    let selected = stand.post(&alice, &path("handles/select"), select.clone()).await;
    assert_eq!(
        selected["shape"],
        json!({"type": "object", "fields": {"email": {"type": "string"}}})
    );
    stand
        .refuse(&bob, &path("handles/select"), select, StatusCode::NOT_FOUND)
        .await;
    let other = stand.open(&bob).await;
    let theirs = json!({"tool": "search", "arguments": {"to": selected["handle"]}});
    let theirs = stand
        .post(&bob, &format!("/v1/session/{other}/authorize"), theirs)
        .await;
    assert_eq!(theirs["rule"], "unknown-stub");

    // No raw value but in the vault, where it is encrypted.
    for entry in walk(stand.directory.path()) {
        let bytes = std::fs::read(&entry).unwrap();
        let needle = EMAIL.as_bytes();
        assert!(
            !bytes.windows(needle.len()).any(|part| part == needle),
            "{}",
            entry.display()
        );
    }
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] })
        .collect()
}
