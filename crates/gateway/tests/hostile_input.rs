//! Bad input gets a clear problem document and changes nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod stand;

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use stand::{Setting, Stand, problem};
use tidegate_core::Role;
use tidegate_gateway::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// A stand with one session of Alice's at internal.
async fn contaminated() -> (Stand, stand::Holder, String) {
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let session = stand.open(&alice).await;
    let body = json!({"name": "wiki", "sensitivity": "internal"});
    stand
        .post(&alice, &format!("/v1/session/{session}/datasets"), body)
        .await;
    (stand, alice, session)
}

#[tokio::test]
async fn wrong_bodies_change_nothing() {
    let (stand, alice, session) = contaminated().await;
    let path = |end: &str| format!("/v1/session/{session}/{end}");
    let before = stand.get(&alice, &format!("/v1/session/{session}")).await;
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let huge = format!(
        r#"{{"tool":"search_email","content":"{}"}}"#,
        "x".repeat(10 * 1024 * 1024)
    );
    let cases: Vec<(String, Vec<u8>, u16, &str)> = vec![
        (path("authorize"), b"{".to_vec(), 400, "not-json"),
        (
            path("authorize"),
            b"{\"tool\":\"a\xff\"}".to_vec(),
            400,
            "not-utf8",
        ),
        (
            path("authorize"),
            format!(r#"{{"tool":"web_search","arguments":{deep}}}"#).into_bytes(),
            400,
            "too-deep",
        ),
        (
            path("authorize"),
            br#"{"arguments":{}}"#.to_vec(),
            422,
            "wrong-shape",
        ),
        (
            path("authorize"),
            br#"{"tool":"web_search","argumentz":{}}"#.to_vec(),
            422,
            "wrong-shape",
        ),
        (path("authorize"), br#"{"tool":7}"#.to_vec(), 422, "wrong-shape"),
        (
            path("authorize"),
            br#" ["web_search", {}]"#.to_vec(),
            422,
            "wrong-shape",
        ),
        (
            path("authorize"),
            br#"{"tool":"no_such_tool","arguments":{}}"#.to_vec(),
            404,
            "unknown-tool",
        ),
        (
            path("authorize"),
            br#"{"tool":"a\u0000b","arguments":{}}"#.to_vec(),
            400,
            "bad-name",
        ),
        (
            path("responses"),
            br#"{"tool":"no_such_tool","content":"x"}"#.to_vec(),
            404,
            "unknown-tool",
        ),
        (path("responses"), huge.into_bytes(), 413, "too-large"),
        (
            path("datasets"),
            br#"{"name":"d","sensitivity":"top-secret"}"#.to_vec(),
            422,
            "unknown-class",
        ),
        (
            path("datasets"),
            br#"{"name":"","sensitivity":"secret"}"#.to_vec(),
            400,
            "bad-name",
        ),
        (
            path("validate-plan"),
            br#"{"planned_calls":[{"tool":"web_search","after":[9]}]}"#.to_vec(),
            422,
            "bad-plan",
        ),
        (
            path("validate-plan"),
            br#"{"planned_calls":["",{"tool":"\n"}]}"#.to_vec(),
            400,
            "bad-name",
        ),
        (
            path("validate-plan"),
            serde_json::to_vec(&json!({"planned_calls": vec!["web_search"; 300]})).unwrap(),
            422,
            "plan-too-long",
        ),
        (
            "/v1/sessions".into(),
            br#"{"session_id":"../../etc/passwd"}"#.to_vec(),
            400,
            "bad-name",
        ),
        (
            "/v1/sessions".into(),
            br#"{"session_id":"a\u0000"}"#.to_vec(),
            400,
            "bad-name",
        ),
        (
            "/v1/sessions".into(),
            br#"{"user":"..","agent":"bot"}"#.to_vec(),
            400,
            "bad-name",
        ),
        (
            "/v1/sessions".into(),
            br#"{"user":"bob"}"#.to_vec(),
            403,
            "not-yours",
        ),
        (
            "/v1/session/%2e%2e%2fx/authorize".into(),
            br#"{"tool":"web_search"}"#.to_vec(),
            400,
            "bad-name",
        ),
        (
            "/v1/session/a%00b/authorize".into(),
            br#"{"tool":"web_search"}"#.to_vec(),
            400,
            "bad-name",
        ),
        (
            "/v1/session/%ff%fe/authorize".into(),
            br#"{"tool":"web_search"}"#.to_vec(),
            400,
            "bad-session-id",
        ),
        (
            "/v1/session/sess_unknown/authorize".into(),
            br#"{"tool":"web_search"}"#.to_vec(),
            404,
            "unknown-session",
        ),
        ("/v1/nothing/here".into(), b"{}".to_vec(), 404, "not-found"),
        ("/healthz".into(), b"{}".to_vec(), 405, "method-not-allowed"),
    ];
    for (path, body, status, slug) in cases {
        let shown = String::from_utf8_lossy(&body)
            .chars()
            .take(60)
            .collect::<String>();
        let request = stand
            .client
            .post(stand.url(&path))
            .bearer_auth(&alice.token)
            .body(body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{path} {shown}");
        let document = problem(response, StatusCode::from_u16(status).unwrap()).await;
        assert_eq!(
            document["type"],
            format!("urn:tidegate:problem:{slug}"),
            "{path} {shown}"
        );
        assert_ne!(document["allowed"], json!(true));
    }
    assert_eq!(stand.get(&alice, &format!("/v1/session/{session}")).await, before);
}

#[tokio::test]
async fn an_unknown_tool_reads_as_a_denial_too() {
    let (stand, alice, session) = contaminated().await;
    let path = format!("/v1/session/{session}/authorize");
    let document = stand
        .refuse(&alice, &path, json!({"tool": "mystery"}), StatusCode::NOT_FOUND)
        .await;
    assert_eq!(document["decision"], "deny");
    assert_eq!(document["allowed"], false);
    assert!(document["remedy"].as_str().unwrap().contains("manifest"));
}

#[tokio::test]
async fn someone_elses_handle_looks_like_no_handle() {
    let (stand, _, session) = contaminated().await;
    let others = [
        stand.holder(Role::Agent, "bob", Some("bot")).await,
        stand.holder(Role::Agent, "alice", Some("other-bot")).await,
    ];
    for other in others {
        let missing = stand
            .send(&other, Method::GET, "/v1/session/sess_unknown", None)
            .await;
        let missing = problem(missing, StatusCode::NOT_FOUND).await;
        for (method, end, body) in all_calls() {
            let response = stand
                .send(&other, method, &format!("/v1/session/{session}{end}"), body)
                .await;
            if end == "/reset" {
                problem(response, StatusCode::FORBIDDEN).await;
            } else {
                assert_eq!(problem(response, StatusCode::NOT_FOUND).await, missing, "{end}");
            }
        }
    }
}

#[tokio::test]
async fn every_call_needs_a_token_and_its_role() {
    let (stand, alice, session) = contaminated().await;
    let before = stand.get(&alice, &format!("/v1/session/{session}")).await;
    for (method, end, body) in all_calls() {
        let url = stand.url(&format!("/v1/session/{session}{end}"));
        for header in [None, Some("Basic abc"), Some("Bearer tg_wrong"), Some("Bearer")] {
            let mut request = stand.client.request(method.clone(), &url).json(&body);
            if let Some(header) = header {
                request = request.header("authorization", header);
            }
            problem(request.send().await.unwrap(), StatusCode::UNAUTHORIZED).await;
        }
    }
    for role in [Role::HumanOperator, Role::PiiAuthorizedReviewer, Role::Auditor] {
        let viewer = stand.holder(role, "viewer", None).await;
        assert_eq!(
            stand.get(&viewer, &format!("/v1/session/{session}")).await,
            before
        );
        for end in ["authorize", "responses", "datasets", "reset"] {
            let body = body_for(end);
            let path = format!("/v1/session/{session}/{end}");
            let document = stand.refuse(&viewer, &path, body, StatusCode::FORBIDDEN).await;
            assert!(document["detail"].as_str().unwrap().contains(role.as_str()));
        }
        stand
            .refuse(&viewer, "/v1/sessions", json!({}), StatusCode::FORBIDDEN)
            .await;
    }
    assert_eq!(stand.get(&alice, &format!("/v1/session/{session}")).await, before);
}

fn all_calls() -> Vec<(Method, &'static str, Option<Value>)> {
    let mut calls = vec![
        (Method::GET, "", None),
        (Method::GET, "/manifest", None),
        (Method::GET, "/events", None),
        (
            Method::POST,
            "/validate-plan",
            Some(json!({"planned_calls": ["web_search"]})),
        ),
    ];
    for end in ["/authorize", "/responses", "/datasets", "/reset"] {
        calls.push((Method::POST, end, Some(body_for(&end[1..]))));
    }
    calls
}

fn body_for(end: &str) -> Value {
    match end {
        "authorize" => json!({"tool": "github_create_pr", "arguments": {}}),
        "responses" => json!({"tool": "read_key", "content": "x"}),
        "datasets" => json!({"name": "other", "sensitivity": "secret"}),
        _ => json!({"reason": "because"}),
    }
}

/// Connections that send the beginning of a request and nothing more.
async fn hold(stand: &Stand, count: usize) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for _ in 0..count {
        let mut stream = TcpStream::connect(stand.address).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nX: ").await.unwrap();
        held.push(stream);
    }
    held
}

/// Connections that ask for more than fits on the way, and read nothing of it.
async fn hold_unread(stand: &Stand, count: usize) -> Vec<TcpStream> {
    let asked = "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2_000);
    let mut held = Vec::new();
    for _ in 0..count {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut stream = socket.connect(stand.address).await.unwrap();
        // The gateway takes no more requests than it has room for.
        let _ = tokio::time::timeout(Duration::from_millis(100), stream.write_all(asked.as_bytes())).await;
        held.push(stream);
    }
    held
}

/// A stand with four places.
async fn narrow() -> Stand {
    let limits = Limits {
        connections: 4,
        idle: Duration::from_millis(500),
        ..Limits::STANDARD
    };
    let setting = Setting {
        limits,
        ..Setting::default()
    };
    Stand::start_with(setting).await
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_nobody_reads_hold_no_place_for_long() {
    let stand = narrow().await;
    let _held = hold_unread(&stand, 4).await;
    let health = async || {
        let response = stand.client.get(stand.url("/healthz")).send().await;
        response.unwrap().status()
    };
    let room = async {
        while health().await != StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(60), room).await;
    assert!(
        found.is_ok(),
        "the places are held by connections that read nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_stream_keeps_its_place() {
    let stand = narrow().await;
    let alice = stand.alice().await;
    let session = stand.open(&alice).await;
    let path = format!("/v1/session/{session}/events");
    let mut stream = stand.send(&alice, Method::GET, &path, None).await;
    stream.chunk().await.unwrap().unwrap();
    // Longer than anything that waits is waited for.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let body = json!({"name": "wiki", "sensitivity": "internal"});
    stand
        .post(&alice, &format!("/v1/session/{session}/datasets"), body)
        .await;
    let told = stream.chunk().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&told).contains("internal"), "{told:?}");
}

#[tokio::test]
async fn heads_that_never_end_take_no_more_than_their_places_and_not_for_long() {
    let stand = narrow().await;
    let mut held = hold(&stand, 4).await;
    let response = stand.client.get(stand.url("/healthz")).send().await.unwrap();
    let document = problem(response, StatusCode::SERVICE_UNAVAILABLE).await;
    let detail = document["detail"].as_str().unwrap();
    assert!(detail.contains("too many connections"), "{detail}");

    // Each is cut off in its time, and then there is room.
    for stream in &mut held {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    }
    let response = stand.client.get(stand.url("/healthz")).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
}
