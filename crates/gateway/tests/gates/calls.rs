//! A held call: what an approval of it fits, and for how long.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::json;
use tidegate_core::{Class, Role};
use tidegate_engine::GateRules;

use crate::house::{House, TOOL};

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_releases_that_call_once() {
    let house = House::start().await;
    let mail = json!({"to": "desk", "text": "hello"});
    let gate = house.held(&mail).await;
    assert_eq!(house.held(&mail).await, gate, "one question for one call");
    let decided = house.approve(&gate).await;
    assert_eq!(
        (&decided["state"], &decided["decided_by"]),
        (&json!("approved"), &json!("olga"))
    );

    // Anything else is another question.
    let changed = house.held(&json!({"to": "desk", "text": "hello!"})).await;
    let elsewhere = house.stand.open(&house.agent).await;
    let other = house.ask_in(&elsewhere, TOOL, &mail).await;
    assert_eq!(other["decision"], "hold");
    assert!(changed != gate && other["gate_id"] != json!(gate));

    let passed = house.ask(&mail).await;
    assert_eq!(
        (&passed["decision"], &passed["rule"]),
        (&json!("allow"), &json!("approved"))
    );
    assert_eq!(house.gate(&gate).await["state"], "spent");
    assert_ne!(
        house.held(&mail).await,
        gate,
        "a second time is a second question"
    );

    for event in ["gate_opened", "gate_decided", "gate_spent"] {
        let recorded = house.recorded(event).await;
        assert!(
            recorded
                .iter()
                .any(|record| record["event"]["gate_id"] == json!(gate)),
            "{event}: {recorded:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_lifts_no_ceiling() {
    let house = House::start().await;
    let mail = json!({"to": "desk"});
    let gate = house.held(&mail).await;
    house.approve(&gate).await;
    let path = format!("/v1/session/{}/datasets", house.session);
    let dataset = json!({"name": "keys", "sensitivity": "secret"});
    house.stand.post(&house.agent, &path, dataset).await;
    let refused = house.ask(&mail).await;
    assert_eq!(
        (&refused["decision"], &refused["rule"]),
        (&json!("deny"), &json!("label-above-ceiling"))
    );
    assert_eq!(
        house.gate(&gate).await["state"],
        "approved",
        "nothing was spent on it"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_is_told_and_lasts() {
    let house = House::start().await;
    let mail = json!({"to": "desk"});
    let gate = house.held(&mail).await;
    house.decide(&house.operator, &gate, "deny", StatusCode::OK).await;
    for _ in 0..2 {
        let refused = house.ask(&mail).await;
        assert_eq!(
            (&refused["decision"], &refused["rule"], &refused["gate_id"]),
            (&json!("deny"), &json!("denied-by-person"), &json!(gate))
        );
    }
    let late = house
        .decide(&house.operator, &gate, "approve", StatusCode::CONFLICT)
        .await;
    assert_eq!(late["type"], "urn:tidegate:problem:gate-closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_waiting_call_goes_on_when_somebody_decides() {
    let house = House::start().await;
    let path = format!("/v1/session/{}/authorize", house.session);
    for (decision, outcome) in [("approve", "allow"), ("deny", "deny")] {
        let mail = json!({"to": decision});
        let body = json!({"tool": TOOL, "arguments": mail, "wait_seconds": 20});
        let waiting = house.stand.post(&house.agent, &path, body);
        let deciding = async {
            let gate = loop {
                let open = house.stand.get(&house.operator, "/v1/gates").await;
                if let Some(gate) = open["gates"][0]["gate_id"].as_str() {
                    break gate.to_owned();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            };
            house
                .decide(&house.operator, &gate, decision, StatusCode::OK)
                .await
        };
        let (answer, _) = tokio::join!(waiting, deciding);
        assert_eq!(answer["decision"], outcome, "{answer}");
    }
    // Nobody decides: the call is told to ask again, and by which gate.
    let brief = json!({"tool": TOOL, "arguments": {"to": "nobody"}, "wait_seconds": 0});
    let held = house.stand.post(&house.agent, &path, brief).await;
    assert_eq!(
        (&held["decision"], held["gate_id"].is_string()),
        (&json!("hold"), true)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_people_approve_what_is_personal() {
    let house = House::with(GateRules {
        two_person: vec![Class::Pii, Class::Secret],
        ..GateRules::STANDARD
    })
    .await;
    let plain = house.held(&json!({"to": "desk"})).await;
    assert_eq!(house.approve(&plain).await["state"], "approved");
    let mail = json!({"to": "guest@hotel.example"});
    let gate = house.held(&mail).await;
    let half = house.approve(&gate).await;
    assert_eq!(
        (
            &half["state"],
            &half["approvals_needed"],
            half["approvals"].as_array().unwrap().len()
        ),
        (&json!("open"), &json!(2), 1)
    );
    let twice = house
        .decide(&house.operator, &gate, "approve", StatusCode::CONFLICT)
        .await;
    assert_eq!(twice["type"], "urn:tidegate:problem:approved-twice");
    let again = house.stand.holder(Role::Admin, "olga", None).await;
    house.decide(&again, &gate, "approve", StatusCode::CONFLICT).await;
    assert_eq!(house.held(&mail).await, gate);
    let whole = house
        .decide(&house.reviewer, &gate, "approve", StatusCode::OK)
        .await;
    assert_eq!(whole["state"], "approved");
    assert_eq!(house.ask(&mail).await["decision"], "allow");
}

#[tokio::test(flavor = "multi_thread")]
async fn time_is_a_denial() {
    let house = House::with(GateRules {
        expiry: Duration::from_millis(200),
        ..GateRules::STANDARD
    })
    .await;
    let mail = json!({"to": "desk"});
    let gate = house.held(&mail).await;
    while house.gate(&gate).await["state"] == "open" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    house
        .decide(&house.operator, &gate, "approve", StatusCode::CONFLICT)
        .await;
    assert_eq!(house.stand.engine.expire_gates().await.unwrap(), 1);
    assert_eq!(house.stand.engine.expire_gates().await.unwrap(), 0);
    let ended = house.recorded("gate_decided").await;
    assert_eq!(ended[0]["event"]["decision"], "expired");
    assert_ne!(house.held(&mail).await, gate);

    // An approval does not last for ever either.
    let house = House::with(GateRules {
        release: Duration::from_millis(1),
        ..GateRules::STANDARD
    })
    .await;
    let gate = house.held(&mail).await;
    house.approve(&gate).await;
    while house.gate(&gate).await["state"] == "approved" {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_ne!(house.held(&mail).await, gate);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_at_once_one_decides_and_one_passes() {
    let house = House::start().await;
    let mail = json!({"to": "desk"});
    let gate = house.held(&mail).await;
    let path = format!("/v1/gates/{gate}/decision");
    let answers = (0..8).map(|number| {
        let by = if number % 2 == 0 {
            &house.operator
        } else {
            &house.reviewer
        };
        let body = json!({"decision": "approve", "reason": "as agreed"});
        house.stand.send(by, Method::POST, &path, Some(body))
    });
    let answers = futures_util::future::join_all(answers).await;
    let won = answers
        .iter()
        .filter(|answer| answer.status() == StatusCode::OK)
        .count();
    assert_eq!(won, 1);
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer.status(), StatusCode::OK | StatusCode::CONFLICT))
    );
    assert_eq!(house.recorded("gate_decided").await.len(), 1);

    let asked = futures_util::future::join_all((0..8).map(|_| house.ask(&mail))).await;
    let passed = asked
        .iter()
        .filter(|answer| answer["decision"] == "allow")
        .count();
    assert_eq!(passed, 1, "{asked:?}");
    assert_eq!(house.recorded("gate_spent").await.len(), 1);
}
