//! Random calls by every role: whatever is sent, the label never falls but by an administrator's reset.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod stand;

use proptest::prelude::*;
use reqwest::Method;
use serde_json::{Value, json};
use stand::{Holder, Stand};
use tidegate_core::{Class, Role};

#[derive(Clone, Debug)]
struct Step {
    role: usize,
    call: usize,
    pick: usize,
}

const CLASSES: [&str; 6] = [
    "public",
    "internal",
    "confidential",
    "restricted",
    "pii",
    "secret",
];
const TOOLS: [&str; 6] = [
    "search_email",
    "booking_lookup",
    "read_key",
    "web_search",
    "github_create_pr",
    "nobody",
];

fn request(step: &Step, session: &str) -> (Method, String, Option<Value>) {
    let path = |end: &str| format!("/v1/session/{session}{end}");
    let (class, tool) = (CLASSES[step.pick % 6], TOOLS[step.pick % 6]);
    match step.call {
        0 => (
            Method::POST,
            path("/datasets"),
            Some(json!({"name": format!("d{}", step.pick % 3), "sensitivity": class})),
        ),
        1 => (
            Method::POST,
            path("/responses"),
            Some(json!({"tool": tool, "content": {"n": step.pick}})),
        ),
        2 => (
            Method::POST,
            path("/authorize"),
            Some(json!({"tool": tool, "arguments": {"q": "x"}})),
        ),
        3 => (
            Method::POST,
            path("/validate-plan"),
            Some(json!({"planned_calls": TOOLS})),
        ),
        4 => (Method::GET, path("/manifest"), None),
        5 => (Method::GET, path(""), None),
        6 => (
            Method::POST,
            "/v1/sessions".into(),
            Some(json!({"session_id": session})),
        ),
        7 => (Method::POST, path("/reset"), Some(json!({"reason": "r"}))),
        _ => (Method::DELETE, path(""), None),
    }
}

async fn label(stand: &Stand, admin: &Holder, session: &str) -> Class {
    let state = stand.get(admin, &format!("/v1/session/{session}")).await;
    state["sensitivity"].as_str().unwrap().parse().unwrap()
}

async fn play(stand: &Stand, holders: &[Holder], steps: &[Step]) {
    let (alice, admin) = (&holders[0], holders.last().unwrap());
    let session = stand.open(alice).await;
    let mut before = Class::Public;
    for step in steps {
        let holder = &holders[step.role];
        let (method, path, body) = request(step, &session);
        let response = stand.send(holder, method, &path, body).await;
        let was_reset = step.call == 7 && response.status().is_success();
        assert!(
            !was_reset || holder.role == Role::Admin,
            "{step:?} was reset by {}",
            holder.role
        );
        let after = label(stand, admin, &session).await;
        assert!(
            after >= before || was_reset,
            "{step:?} lowered {before} to {after}"
        );
        before = after;
    }
}

#[test]
fn ratchet_monotone_over_every_call_and_role() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let stand = runtime.block_on(Stand::start());
    let holders: Vec<Holder> = runtime.block_on(async {
        let mut holders = vec![
            stand.alice().await,
            stand.holder(Role::Agent, "mallory", None).await,
        ];
        for role in [
            Role::Connector,
            Role::HumanOperator,
            Role::PiiAuthorizedReviewer,
            Role::Auditor,
            Role::Admin,
        ] {
            holders.push(stand.holder(role, "someone", None).await);
        }
        holders
    });
    let step = (0..7usize, 0..9usize, 0..12usize).prop_map(|(role, call, pick)| Step { role, call, pick });
    let config = ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(steps in proptest::collection::vec(step, 1..25))| {
        runtime.block_on(play(&stand, &holders, &steps));
    });
}
