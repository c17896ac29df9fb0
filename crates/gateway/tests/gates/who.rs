//! Who may decide, and who may even look.

use reqwest::{Method, StatusCode};
use serde_json::json;
use tidegate_core::Role;

use crate::house::{House, TOOL};
use crate::stand::problem;

#[tokio::test(flavor = "multi_thread")]
async fn only_people_with_the_role_decide_and_nobody_about_their_own() {
    let house = House::start().await;
    let stand = &house.stand;
    let gate = house.held(&json!({"to": "desk"})).await;
    let connector = stand.holder(Role::Connector, "wires", None).await;
    for outsider in [&house.agent, &connector, &house.auditor] {
        for decision in ["approve", "deny"] {
            house
                .decide(outsider, &gate, decision, StatusCode::FORBIDDEN)
                .await;
        }
    }
    for outsider in [&house.agent, &connector] {
        for path in [
            "/v1/gates".to_owned(),
            format!("/v1/gates/{gate}"),
            "/v1/gates/events".to_owned(),
        ] {
            let response = stand.send(outsider, Method::GET, &path, None).await;
            problem(response, StatusCode::FORBIDDEN).await;
        }
    }
    let reveal = format!("/v1/gates/{gate}/reveal");
    for curious in [
        &house.agent,
        &connector,
        &house.operator,
        &house.auditor,
        &house.admin,
    ] {
        stand
            .refuse(
                curious,
                &reveal,
                json!({"reason": "curious"}),
                StatusCode::FORBIDDEN,
            )
            .await;
    }
    // The session is alice's, whatever other tokens she holds.
    for role in [Role::HumanOperator, Role::PiiAuthorizedReviewer, Role::Admin] {
        let alice = stand.holder(role, "alice", None).await;
        let own = house
            .decide(&alice, &gate, "approve", StatusCode::FORBIDDEN)
            .await;
        assert_eq!(own["type"], "urn:tidegate:problem:own-gate");
    }
    for (body, status) in [
        (
            json!({"decision": "approve", "reason": " "}),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (
            json!({"decision": "approve", "reason": "x".repeat(501)}),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (
            json!({"decision": "perhaps", "reason": "x"}),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (json!({"decision": "approve"}), StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        stand
            .refuse(
                &house.operator,
                &format!("/v1/gates/{gate}/decision"),
                body,
                status,
            )
            .await;
    }
    house
        .decide(&house.operator, "gate_nobody", "approve", StatusCode::NOT_FOUND)
        .await;
    assert_eq!(house.gate(&gate).await["state"], "open");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stolen_id_opens_nothing() {
    let house = House::start().await;
    let stand = &house.stand;
    let gate = house.held(&json!({"to": "desk"})).await;
    house.approve(&gate).await;
    let mallory = stand.holder(Role::Agent, "mallory", Some("bot")).await;
    let theirs = stand.open(&mallory).await;
    let other = stand.open(&house.agent).await;
    for (holder, session) in [
        (&mallory, &theirs),
        (&mallory, &house.session),
        (&house.agent, &other),
    ] {
        let path = format!("/v1/session/{session}/gates/{gate}");
        let response = stand.send(holder, Method::GET, &path, None).await;
        problem(response, StatusCode::NOT_FOUND).await;
    }
    let path = format!("/v1/session/{theirs}/authorize");
    let body = json!({"tool": TOOL, "arguments": {"to": "desk"}});
    assert_eq!(stand.post(&mallory, &path, body).await["decision"], "hold");
    let own = stand
        .get(
            &house.agent,
            &format!("/v1/session/{}/gates/{gate}", house.session),
        )
        .await;
    assert_eq!(own["state"], "approved");
    let listed = stand
        .get(
            &house.agent,
            &format!("/v1/session/{}/gates?state=all", house.session),
        )
        .await;
    assert_eq!(listed["gates"].as_array().unwrap().len(), 1);
}
