//! What the gateway shows of its work: streams, documents, health, counters, the decision log and traces.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod stand;

use std::time::Duration;

use serde_json::{Value, json};
use stand::Stand;
use tidegate_core::{Class, Entry, Ident, Kinds, Moment, Name, Role};
use tidegate_store::{SessionStore, SqliteOptions, SqliteStore};

/// Reads a stream of events until one carries this label.
async fn wait_for_label(response: &mut reqwest::Response, class: &str) -> Value {
    let mut text = String::new();
    let reading = async {
        loop {
            let chunk = response.chunk().await.unwrap().expect("the stream stays open");
            text.push_str(&String::from_utf8_lossy(&chunk));
            for line in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
                let Ok(state) = serde_json::from_str::<Value>(line) else {
                    continue;
                };
                if state["sensitivity"] == class {
                    return state;
                }
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reading)
        .await
        .expect("the label is told")
}

#[tokio::test]
async fn a_stream_tells_each_rise_here_and_elsewhere() {
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let session = stand.open(&alice).await;
    let path = format!("/v1/session/{session}/events");
    let mut stream = stand.send(&alice, reqwest::Method::GET, &path, None).await;
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    wait_for_label(&mut stream, "public").await;

    let body = json!({"name": "wiki", "sensitivity": "internal"});
    stand
        .post(&alice, &format!("/v1/session/{session}/datasets"), body)
        .await;
    let told = wait_for_label(&mut stream, "internal").await;
    assert_eq!(told["blocked_tools"], json!(["web_search", "slack_post"]));

    let elsewhere = SqliteStore::open(
        stand.directory.path().join("tidegate.db"),
        SqliteOptions::default(),
    )
    .unwrap();
    let source = Name::parse("another gateway").unwrap();
    let entry = Entry {
        class: Class::Secret,
        kinds: Kinds::NONE,
        source,
        at: Moment(1),
    };
    elsewhere
        .raise(&Ident::parse(&session).unwrap(), entry)
        .await
        .unwrap();
    wait_for_label(&mut stream, "secret").await;
}

/// Reads a stream to its end.
async fn until_it_ends(mut stream: reqwest::Response) {
    let reading = async { while let Ok(Some(_)) = stream.chunk().await {} };
    tokio::time::timeout(Duration::from_secs(20), reading)
        .await
        .expect("the stream ends");
}

#[tokio::test]
async fn streams_end_with_their_token() {
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let operator = stand.holder(Role::HumanOperator, "olga", None).await;
    let session = stand.open(&alice).await;
    let mut streams = Vec::new();
    for (holder, path) in [
        (&alice, format!("/v1/session/{session}/events")),
        (&operator, "/v1/gates/events".to_owned()),
    ] {
        let stream = stand.send(holder, reqwest::Method::GET, &path, None).await;
        assert!(stream.status().is_success(), "{path}");
        streams.push(stream);
    }
    stand.revoke(&alice).await;
    stand.revoke(&operator).await;
    for stream in streams {
        until_it_ends(stream).await;
    }
}

#[tokio::test]
async fn an_administrator_who_watches_leaves_one_trace() {
    let stand = Stand::start().await;
    let (alice, admin) = (stand.alice().await, stand.admin().await);
    let auditor = stand.holder(Role::Auditor, "ada", None).await;
    let session = stand.open(&alice).await;
    let path = format!("/v1/session/{session}/events");
    let mut stream = stand.send(&admin, reqwest::Method::GET, &path, None).await;
    wait_for_label(&mut stream, "public").await;
    for class in ["internal", "confidential", "secret"] {
        let body = json!({"name": class, "sensitivity": class});
        let datasets = format!("/v1/session/{session}/datasets");
        stand.post(&alice, &datasets, body).await;
        wait_for_label(&mut stream, class).await;
    }
    let uses = stand
        .get(&auditor, "/v1/provenance?event=token_used_by_admin")
        .await;
    assert_eq!(uses["records"].as_array().unwrap().len(), 1, "{uses}");
}

#[tokio::test]
async fn every_decision_is_logged_with_its_contamination() {
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let session = stand.open(&alice).await;
    let path = format!("/v1/session/{session}");
    stand
        .post(
            &alice,
            &format!("{path}/authorize"),
            json!({"tool": "web_search", "arguments": {"q": "canary-argument"}}),
        )
        .await;
    stand
        .post(
            &alice,
            &format!("{path}/responses"),
            json!({"tool": "search_email", "content": "canary-content"}),
        )
        .await;
    stand
        .post(
            &alice,
            &format!("{path}/authorize"),
            json!({"tool": "web_search"}),
        )
        .await;

    let file = stand.directory.path().join("decisions.jsonl");
    let mut lines = Vec::new();
    for _ in 0..200 {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .collect();
        if lines.len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[0]["decision"], &lines[0]["sensitivity"]),
        (&json!("allow"), &json!("public"))
    );
    assert_eq!(
        (&lines[1]["decision"], &lines[1]["sensitivity"]),
        (&json!("deny"), &json!("internal"))
    );
    assert_eq!(lines[1]["contamination_source"], "search_email");
    let metrics = stand
        .client
        .get(stand.url("/metrics"))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        metrics.contains(r#"tidegate_decisions_total{decision="deny",rule="label-above-ceiling"} 1"#),
        "{metrics}"
    );
    assert!(
        metrics.contains(r#"tidegate_label_rises_total{to="internal"} 1"#),
        "{metrics}"
    );
    assert!(!metrics.contains(&session), "a raw path reached the metrics");
    let logged = std::fs::read_to_string(&file).unwrap();
    assert!(!logged.contains("canary"), "content reached the decision log");
}

#[tokio::test]
async fn health_documents_and_page_are_served() {
    let stand = Stand::start().await;
    let text = |path: &'static str| {
        let request = stand.client.get(stand.url(path)).send();
        async move {
            request
                .await
                .unwrap()
                .error_for_status()
                .unwrap()
                .text()
                .await
                .unwrap()
        }
    };
    assert_eq!(text("/healthz").await, "ok\n");
    assert_eq!(text("/readyz").await, "ready\n");
    let document: Value = serde_json::from_str(&text("/openapi.json").await).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = document["paths"].as_object().unwrap();
    for path in [
        "/v1/sessions",
        "/v1/session/{id}",
        "/v1/session/{id}/manifest",
        "/v1/session/{id}/validate-plan",
        "/v1/session/{id}/authorize",
        "/v1/session/{id}/responses",
        "/v1/session/{id}/datasets",
        "/v1/session/{id}/reset",
        "/v1/session/{id}/events",
        "/v1/session/{id}/context",
        "/v1/session/{id}/notes",
        "/v1/session/{id}/recall",
        "/v1/session/{id}/return",
        "/v1/session/{id}/end",
    ] {
        assert!(paths.contains_key(path), "{path} is not documented");
    }
    let page = text("/docs").await;
    for path in paths.keys() {
        assert!(page.contains(path.as_str()), "{path} is not on the page");
    }
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "the page loads something from elsewhere"
    );
}
