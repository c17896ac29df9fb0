//! What the gateway is for, over HTTP: contamination blocks, plans avoid it, and only an administrator lowers a label.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod stand;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use stand::Stand;
use tidegate_core::Role;

async fn decision(stand: &Stand, holder: &stand::Holder, session: &str, tool: &str) -> Value {
    stand
        .post(
            holder,
            &format!("/v1/session/{session}/authorize"),
            json!({"tool": tool, "arguments": {}}),
        )
        .await
}

#[tokio::test]
async fn after_internal_mail_the_web_is_closed_and_pull_requests_are_not() {
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let session = stand.open(&alice).await;
    assert_eq!(
        decision(&stand, &alice, &session, "web_search").await["decision"],
        "allow"
    );

    let body = json!({"tool": "search_email", "content": {"subject": "Q3 pricing proposal"}});
    let answer = stand
        .post(&alice, &format!("/v1/session/{session}/responses"), body)
        .await;
    assert_eq!(answer["class"], "internal");
    assert_eq!(answer["sensitivity"], "internal");
    assert_eq!(answer["content"]["subject"], "Q3 pricing proposal");

    for tool in ["web_search", "slack_post"] {
        let denied = decision(&stand, &alice, &session, tool).await;
        assert_eq!(denied["decision"], "deny");
        assert_eq!(denied["allowed"], false);
        assert_eq!(denied["rule"], "label-above-ceiling");
        let reason = denied["reason"].as_str().unwrap();
        assert!(
            reason.contains("internal") && reason.contains("(from search_email)"),
            "{reason}"
        );
        assert!(!denied["remedy"].as_str().unwrap().is_empty());
        assert_eq!(denied["retryable"], false);
    }
    for tool in ["github_create_pr", "search_docs"] {
        assert_eq!(
            decision(&stand, &alice, &session, tool).await["allowed"],
            true,
            "{tool}"
        );
    }
    let state = stand.get(&alice, &format!("/v1/session/{session}")).await;
    assert_eq!(state["blocked_tools"], json!(["web_search", "slack_post"]));
    assert_eq!(state["contamination_source"], "search_email");
    assert_eq!(state["kinds"], json!(["internal_ip"]));
    assert!(state["contaminated_at"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn a_manifest_and_a_plan_check_come_before_any_call() {
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let opened = stand.post(&alice, "/v1/sessions", json!({})).await;
    let session = opened["session_id"].as_str().unwrap();
    let manifest = stand
        .get(&alice, &format!("/v1/session/{session}/manifest"))
        .await;
    assert_eq!(manifest, opened["manifest"]);
    let tool = |name: &str| {
        let tools = manifest["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap().clone()
    };
    assert_eq!(tool("search_email")["sensitivity"], "internal_source");
    assert_eq!(
        tool("search_email")["consequence"],
        "calling this tool will block: web_search, slack_post"
    );
    assert_eq!(tool("web_search")["sensitivity"], "external");
    assert_eq!(
        tool("web_search")["consequence"],
        "none — safe to call before internal tools"
    );
    assert!(
        manifest["planning_constraint"]
            .as_str()
            .unwrap()
            .contains("search_email")
    );

    let plan = json!({"planned_calls": ["search_email", "web_search", "github_create_pr"]});
    let report = stand
        .post(&alice, &format!("/v1/session/{session}/validate-plan"), plan)
        .await;
    assert_eq!(report["valid"], false);
    assert_eq!(report["violations"][0]["at_step"], 1);
    assert_eq!(
        report["violations"][0]["suggestion"],
        "move web_search before search_email"
    );
    assert_eq!(
        report["safe_ordering"],
        json!(["web_search", "search_email", "github_create_pr"])
    );

    let bound = json!({"planned_calls": ["search_email", {"tool": "web_search", "after": [0]}]});
    let report = stand
        .post(&alice, &format!("/v1/session/{session}/validate-plan"), bound)
        .await;
    assert_eq!(report["safe_ordering"], Value::Null);
    assert!(
        report["violations"][0]["suggestion"]
            .as_str()
            .unwrap()
            .contains("no order is safe")
    );
}

#[tokio::test]
async fn datasets_only_raise_and_only_a_reset_lowers() {
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let session = stand.open(&alice).await;
    let datasets = format!("/v1/session/{session}/datasets");
    let add = |name: &str, class: &str| json!({"name": name, "sensitivity": class});

    let state = stand.post(&alice, &datasets, add("weather", "public")).await;
    assert_eq!(state["has_private_data"], false);
    stand
        .post(&alice, &datasets, add("patient_records", "confidential"))
        .await;
    let state = stand
        .post(&alice, &datasets, add("financials_q4", "secret"))
        .await;
    assert_eq!(state["sensitivity"], "secret");
    let names: Vec<_> = state["datasets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|set| set["name"].clone())
        .collect();
    assert_eq!(names, ["weather", "patient_records", "financials_q4"]);
    let state = stand.post(&alice, &datasets, add("weather", "restricted")).await;
    assert_eq!(state["datasets"][0]["sensitivity"], "confidential");
    let state = stand.post(&alice, &datasets, add("weather", "public")).await;
    assert_eq!(state["datasets"][0]["sensitivity"], "confidential");

    let reset = format!("/v1/session/{session}/reset");
    stand
        .refuse(&alice, &reset, json!({"reason": "please"}), StatusCode::FORBIDDEN)
        .await;
    let admin = stand.admin().await;
    stand
        .refuse(
            &admin,
            &reset,
            json!({"reason": "  "}),
            StatusCode::UNPROCESSABLE_ENTITY,
        )
        .await;
    let state = stand
        .post(&admin, &reset, json!({"reason": "the task is over"}))
        .await;
    assert_eq!(state["sensitivity"], "public");
    assert_eq!(state["datasets"], json!([]));
}

#[tokio::test]
async fn the_mirror_follows_the_session() {
    let stand = Stand::start().await;
    let (alice, admin) = (stand.alice().await, stand.admin().await);
    let session = stand.open(&alice).await;
    let file = stand
        .directory
        .path()
        .join("mirror")
        .join("alice")
        .join(&session)
        .join(".private_data");
    assert!(!file.exists());
    let body = json!({"name": "patients", "sensitivity": "pii"});
    stand
        .post(&alice, &format!("/v1/session/{session}/datasets"), body)
        .await;
    let mirror: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(mirror["has_private_data"], true);
    assert_eq!(mirror["sensitivity"], "pii");
    assert_eq!(mirror["private_datasets"], json!(["patients"]));
    stand
        .post(
            &admin,
            &format!("/v1/session/{session}/reset"),
            json!({"reason": "done"}),
        )
        .await;
    assert!(!file.exists());
}

#[tokio::test]
async fn asking_again_for_a_session_gives_it_as_it_is() {
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let body = json!({"session_id": "analysis-42"});
    stand.post(&alice, "/v1/sessions", body.clone()).await;
    stand
        .post(
            &alice,
            "/v1/session/analysis-42/datasets",
            json!({"name": "d", "sensitivity": "pii"}),
        )
        .await;
    stand.post(&alice, "/v1/sessions", body.clone()).await;
    assert_eq!(
        stand.get(&alice, "/v1/session/analysis-42").await["sensitivity"],
        "pii"
    );
    let bob = stand.holder(Role::Agent, "bob", None).await;
    stand
        .refuse(&bob, "/v1/sessions", body, StatusCode::CONFLICT)
        .await;
}

#[tokio::test]
async fn connectors_open_and_tag_for_others_and_agents_do_not() {
    let stand = Stand::start().await;
    let connector = stand.holder(Role::Connector, "warehouse", None).await;
    let body = json!({"user": "alice", "agent": "bot", "session_id": "shared"});
    stand.post(&connector, "/v1/sessions", body.clone()).await;
    stand
        .post(
            &connector,
            "/v1/session/shared/datasets",
            json!({"name": "sql:crm", "sensitivity": "pii"}),
        )
        .await;
    let alice = stand.alice().await;
    assert_eq!(
        stand.get(&alice, "/v1/session/shared").await["sensitivity"],
        "pii"
    );
    let bob = stand.holder(Role::Agent, "bob", None).await;
    let document = stand
        .refuse(&bob, "/v1/sessions", body, StatusCode::FORBIDDEN)
        .await;
    assert!(document["detail"].as_str().unwrap().starts_with("user differs"));
}

#[tokio::test]
async fn a_held_call_is_not_allowed() {
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    let session = stand.open(&alice).await;
    let held = decision(&stand, &alice, &session, "gmail_guest_draft").await;
    assert_eq!(held["decision"], "hold");
    assert_eq!(held["allowed"], false);
    assert_eq!(held["rule"], "human-approval");
}

#[tokio::test]
async fn a_revoked_token_is_unknown_at_once() {
    use tidegate_store::TokenStore;
    let stand = Stand::start().await;
    let alice = stand.alice().await;
    stand.open(&alice).await;
    let id = stand.store.tokens().await.unwrap()[0].id.clone();
    stand.store.revoke(&id, tidegate_core::Moment(1)).await.unwrap();
    let response = stand
        .send(&alice, Method::POST, "/v1/sessions", Some(json!({})))
        .await;
    stand::problem(response, StatusCode::UNAUTHORIZED).await;
}
