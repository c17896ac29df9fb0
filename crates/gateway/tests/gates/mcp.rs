//! Held calls over MCP: the call waits, the client is told so, and it goes on when somebody decides.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tidegate_core::{Class, Control, ControlList, Name, Role, Tool, ToolFacts};
use tidegate_engine::{GateRules, Policy};

use crate::mcp_stand::{Client, options, policy, scripted, server, text_of};
use crate::stand::{Holder, Setting, Stand, problem};

/// The scripted server with one tool that needs approval.
fn held_echo() -> Policy {
    let mut tools: Vec<Tool> = policy("").control.iter().cloned().collect();
    tools.retain(|tool| tool.name.as_str() != "echo");
    tools.push(Tool::declared(ToolFacts {
        returns: Some(Class::Public),
        control: Control::HumanApproval,
        ..ToolFacts::named(Name::parse("echo").unwrap())
    }));
    Policy::new(ControlList::new(tools).unwrap())
}

async fn stand(wait: Duration, arguments: &[String], policy: Policy) -> (Stand, Holder) {
    let setting = Setting {
        gates: GateRules {
            wait,
            ..GateRules::STANDARD
        },
        ..Setting::default()
    };
    let servers = vec![server("scripted", true, scripted(arguments))];
    let stand = Stand::start_mcp(setting, policy, servers, options()).await;
    let operator = stand.holder(Role::HumanOperator, "olga", None).await;
    (stand, operator)
}

async fn decide(stand: &Stand, by: &Holder, gate: &str, decision: &str) {
    let path = format!("/v1/gates/{gate}/decision");
    let body = json!({"decision": decision, "reason": "as agreed"});
    stand.post(by, &path, body).await;
}

/// The first gate that waits, once one does.
async fn first_open(stand: &Stand, by: &Holder) -> Value {
    loop {
        let open = stand.get(by, "/v1/gates").await;
        if open["gates"][0].is_object() {
            return open["gates"][0].clone();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_call_waits_and_goes_on_when_approved() {
    let (stand, operator) = stand(Duration::from_secs(60), &[], held_echo()).await;
    let mut client = Client::greet(&stand).await;
    for (decision, passes) in [("approve", true), ("deny", false)] {
        let params = json!({
            "name": "echo", "arguments": {"for": decision}, "_meta": {"progressToken": decision},
        });
        let calling = client.ask("tools/call", params);
        let deciding = async {
            let gate = first_open(&stand, &operator).await;
            assert_eq!(
                (&gate["tool"], &gate["kind"]),
                (&json!("echo"), &json!("tool-approval"))
            );
            decide(&stand, &operator, gate["gate_id"].as_str().unwrap(), decision).await;
        };
        let (result, ()) = tokio::join!(calling, deciding);
        if passes {
            assert_eq!(text_of(&result), r#"{"for":"approve"}"#);
        } else {
            assert_eq!(
                result["structuredContent"]["rule"], "denied-by-person",
                "{result}"
            );
        }
        let told = client
            .notes
            .iter()
            .filter(|note| note["method"] == "notifications/progress");
        let told: Vec<_> = told
            .filter(|note| note["params"]["progressToken"] == decision)
            .collect();
        let words = told[0]["params"]["message"].as_str().unwrap();
        assert!(words.contains("waiting for a person"), "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_bound_the_call_is_told_to_ask_again() {
    let (stand, operator) = stand(Duration::from_millis(50), &[], held_echo()).await;
    let mut client = Client::greet(&stand).await;
    let pending = client.call("echo", json!({"a": 1})).await;
    assert_eq!(pending["isError"], true);
    let facts = &pending["structuredContent"];
    assert_eq!(
        (&facts["pending"], &facts["retryable"]),
        (&json!(true), &json!(true))
    );
    let gate = facts["gate_id"].as_str().unwrap().to_owned();
    assert!(
        text_of(&pending).contains("pending") && text_of(&pending).contains(&gate),
        "{pending}"
    );
    decide(&stand, &operator, &gate, "approve").await;
    assert_eq!(text_of(&client.call("echo", json!({"a": 1})).await), r#"{"a":1}"#);
    let again = client.call("echo", json!({"a": 1})).await;
    assert_eq!(again["structuredContent"]["pending"], true, "it counts once");
    let changed = client.call("echo", json!({"a": 2})).await;
    assert_ne!(changed["structuredContent"]["gate_id"], json!(gate));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_tool_waits_for_a_person() {
    let directory = tempfile::tempdir().unwrap();
    let changed = directory.path().join("changed").to_str().unwrap().to_owned();
    let (stand, operator) = stand(Duration::from_millis(10), &[changed], policy("")).await;
    let mut client = Client::greet(&stand).await;
    client.ask("tools/list", json!({})).await;
    client.call("change", json!({})).await;
    let held = client.call("echo", json!({"a": 1})).await;
    assert_eq!(held["structuredContent"]["rule"], "definition-changed", "{held}");
    let gate = first_open(&stand, &operator).await;
    assert_eq!(
        (&gate["kind"], &gate["tool"]),
        (&json!("tool-changed"), &json!("echo"))
    );
    let gate = gate["gate_id"].as_str().unwrap();
    let own = stand.holder(Role::HumanOperator, "alice", None).await;
    let path = format!("/v1/gates/{gate}/decision");
    let body = json!({"decision": "approve", "reason": "mine"});
    let refused = stand.send(&own, reqwest::Method::POST, &path, Some(body)).await;
    problem(refused, StatusCode::FORBIDDEN).await;
    decide(&stand, &operator, gate, "approve").await;
    let passed = client.call("echo", json!({"a": 1})).await;
    assert_ne!(passed["isError"], true, "{passed}");
}
