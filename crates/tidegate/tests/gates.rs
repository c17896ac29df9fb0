//! A gateway that is killed while people are asked: what was decided stays decided, and everything else is denied.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;

use run::gateway::{Gateway, create_token};
use run::{Place, Ran, tidegate};
use serde_json::{Value, json};

struct House {
    place: Place,
    agent: String,
    operator: String,
}

impl House {
    fn ask(&self, gateway: &Gateway, to: &str) -> Value {
        let body = json!({"tool": "gmail_guest_draft", "arguments": {"to": to}});
        let (status, answer) = gateway.send(&self.agent, "/v1/session/s-1/authorize", Some(body));
        assert_eq!(status, 200, "{answer}");
        answer
    }

    fn held(&self, gateway: &Gateway, to: &str) -> String {
        let answer = self.ask(gateway, to);
        assert_eq!(answer["decision"], "hold", "{answer}");
        answer["gate_id"].as_str().unwrap().to_owned()
    }

    /// `tidegate gates`, as an operator runs it.
    fn gates(&self, gateway: &Gateway, args: &[&str]) -> Ran {
        let mut command = self.place.command(&["gates"]);
        command
            .args(args)
            .env("TIDEGATE_URL", &gateway.url)
            .env("TIDEGATE_TOKEN", &self.operator);
        command.output().unwrap().into()
    }

    fn state(&self, gateway: &Gateway, gate: &str) -> String {
        let (_, seen) = gateway.send(&self.operator, &format!("/v1/gates/{gate}"), None);
        seen["state"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_restart_denies_what_nobody_decided() {
    let place = Place::new();
    let house = House {
        agent: create_token(&place, "agent", "alice"),
        operator: create_token(&place, "human-operator", "olga"),
        place,
    };
    let gateway = Gateway::start(&house.place, &[]);
    let opened = gateway.send(&house.agent, "/v1/sessions", Some(json!({"session_id": "s-1"})));
    assert_eq!(opened.0, 201);
    let approved = house.held(&gateway, "desk");
    let denied = house.held(&gateway, "bar");
    let undecided = house.held(&gateway, "roof");
    let listed = house.gates(&gateway, &["list"]);
    assert_eq!(
        (listed.code, listed.stdout.lines().count()),
        (0, 3),
        "{}",
        listed.stdout
    );
    let reason = ["--reason", "as agreed"];
    let said = house.gates(&gateway, &["approve", &approved, reason[0], reason[1]]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let said = house.gates(&gateway, &["deny", &denied, reason[0], reason[1]]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let again = house.gates(&gateway, &["approve", &denied, reason[0], reason[1]]);
    assert_eq!(again.code, 1, "{}", again.stderr);
    gateway.kill();

    let gateway = Gateway::start(&house.place, &[]);
    for (gate, state) in [
        (&approved, "approved"),
        (&denied, "denied"),
        (&undecided, "expired"),
    ] {
        assert_eq!(house.state(&gateway, gate), state);
    }
    let late = house.gates(&gateway, &["approve", &undecided, reason[0], reason[1]]);
    assert_eq!(late.code, 1, "{}", late.stderr);
    assert_eq!(house.ask(&gateway, "desk")["decision"], "allow");
    assert_eq!(house.ask(&gateway, "bar")["rule"], "denied-by-person");
    assert_ne!(house.held(&gateway, "roof"), undecided);
    gateway.kill();

    // What was used up stays used up.
    let gateway = Gateway::start(&house.place, &[]);
    assert_eq!(house.state(&gateway, &approved), "spent");
    assert_ne!(house.held(&gateway, "desk"), approved);
    gateway.stop();
    let verified = tidegate(&house.place, &["ledger", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    let ended = tidegate(&house.place, &["ledger", "export", "--event", "gate_decided"]);
    let ended: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let expired = ended
        .iter()
        .filter(|record| record["event"]["decision"] == "expired");
    assert!(expired.count() >= 2, "{ended:?}");
}
