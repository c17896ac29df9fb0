//! Spans reach an OpenTelemetry collector and show the contamination state.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod stand;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::json;
use stand::Stand;
use tidegate_gateway::telemetry::Traces;
use tracing_subscriber::layer::SubscriberExt;

/// A collector that keeps every span it is sent.
async fn collector() -> (String, Arc<Mutex<Vec<Span>>>) {
    let spans = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&spans);
    let routes = Router::new().route(
        "/v1/traces",
        post(move |body: Bytes| async move {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            let sent = request
                .resource_spans
                .into_iter()
                .flat_map(|resource| resource.scope_spans);
            kept.lock().unwrap().extend(sent.flat_map(|scope| scope.spans));
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    (url, spans)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_is_traced_with_its_contamination_and_without_content() {
    let (url, spans) = collector().await;
    let traces = tokio::task::spawn_blocking(move || Traces::to(&url))
        .await
        .unwrap()
        .unwrap();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(traces.layer())).unwrap();

    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let session = stand.open(&alice).await;
    let path = format!("/v1/session/{session}");
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
            json!({"tool": "web_search", "arguments": {"q": "canary-argument"}}),
        )
        .await;
    tokio::time::timeout(
        Duration::from_secs(20),
        tokio::task::spawn_blocking(move || drop(traces)),
    )
    .await
    .unwrap()
    .unwrap();

    let spans = spans.lock().unwrap();
    let span = spans
        .iter()
        .find(|span| span.name == "authorize")
        .expect("the decision is traced");
    let attribute = |key: &str| {
        let found = span.attributes.iter().find(|attribute| attribute.key == key);
        format!(
            "{:?}",
            found.unwrap_or_else(|| panic!("no attribute {key}")).value
        )
    };
    assert!(attribute("decision").contains("deny"));
    assert!(attribute("sensitivity").contains("internal"));
    assert!(attribute("contamination_source").contains("search_email"));
    assert!(spans.iter().any(|span| span.name == "rise"));
    assert!(
        !format!("{spans:?}").contains("canary"),
        "content reached a trace"
    );
}
