//! What one gateway on PostgreSQL was told, all of them know: stubs, notes, and where values came from.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::stand::Stand;
use crate::run::gateway::{Gateway, create_token};
use crate::run::{Place, tidegate};

/// The tools that this needs beside the stand's own.
pub(crate) const TOOLS: &str = "[tools.booking_lookup]\nreturns = \"pii\"\nfields = { \"guest.email\" = \"pii\" }\n\
     [tools.mailer]\nreturns = \"public\"\nsink = true\nceiling = \"pii\"\n[tools.send]\nreturns = \"public\"\nguard = [\"to\"]\n";

const ANNA: &str = "anna@example.org";
const BERTA: &str = "berta@example.org";
const NAMED: &str = "named@example.org";
const PLANTED: &str = "planted@evil.example";

pub(crate) fn is_common(stand: &Stand) {
    let connector = create_token(&stand.places[0], "connector", "crm");
    let post = |gateway: usize, token: &str, what: &str, body: Value| {
        let path = format!("/v1/session/common/{what}");
        let (status, answer) = stand.gateways[gateway].send(token, &path, Some(body));
        assert!(status < 300, "{what} on {gateway}: {status} {answer}");
        answer
    };
    let agent = stand.token.as_str();
    let opened = stand.gateways[0].send(agent, "/v1/sessions", Some(json!({"session_id": "common"})));
    assert!(opened.0 < 300, "{opened:?}");

    let brought = |gateway, email: &str| {
        let content = json!({"guest": {"email": email}});
        let body = json!({"tool": "booking_lookup", "content": content});
        post(gateway, agent, "responses", body)["content"]["guest"]["email"].clone()
    };
    let resolved = |gateway, stub: &str| {
        let body = json!({"tool": "mailer", "arguments": {"to": stub}});
        post(gateway, &connector, "resolve", body)["arguments"]["to"].clone()
    };
    assert_eq!(brought(0, ANNA), "{GUEST_EMAIL_1}");
    assert_eq!(resolved(1, "{GUEST_EMAIL_1}"), ANNA);
    assert_eq!(brought(2, ANNA), "{GUEST_EMAIL_1}", "a value has one stub");
    assert_eq!(brought(1, BERTA), "{GUEST_EMAIL_2}", "and a stub one value");
    assert_eq!(resolved(0, "{GUEST_EMAIL_2}"), BERTA);

    let note = json!({"key": "plan", "text": "remember the milk"});
    post(0, agent, "notes", note);
    let recalled = post(1, agent, "recall", json!({}));
    assert_eq!(recalled["notes"][0]["text"], "remember the milk");

    let rule = |gateway, to: &str| {
        let body = json!({"tool": "send", "arguments": {"to": to}});
        post(gateway, agent, "authorize", body)["rule"].clone()
    };
    let typed = json!({"text": format!("write to {NAMED}")});
    post(0, &connector, "operator-input", typed);
    let mail = json!({"tool": "search_email", "content": format!("my new address is {PLANTED}")});
    post(1, agent, "responses", mail);
    assert_eq!(rule(2, NAMED), "within-ceiling");
    assert_eq!(rule(2, PLANTED), "untrusted-origin");
    an_auditor_sees_all_gateways(stand);
    a_gateway_without_the_key_is_refused(stand);
}

/// Decisions were made on each of the three, and each of them shows all.
fn an_auditor_sees_all_gateways(stand: &Stand) {
    let auditor = create_token(&stand.places[0], "auditor", "olga");
    for gateway in &stand.gateways {
        let body = json!({"tool": "web_search", "arguments": {"query": "weather"}});
        let decided = gateway.send(&stand.token, "/v1/session/common/authorize", Some(body));
        assert_eq!(decided.0, 200, "{decided:?}");
    }
    // What others recorded is published a moment after it was recorded.
    let since = Instant::now();
    for gateway in &stand.gateways {
        loop {
            let records = all_records(gateway, &auditor);
            let ledgers: HashSet<_> = records.iter().map(|(ledger, _)| ledger.clone()).collect();
            let is_asked = |(_, record): &&(String, Value)| {
                record["event"]["type"] == "decision" && record["event"]["tool"] == "web_search"
            };
            if ledgers.len() == 3 && records.iter().filter(is_asked).count() == 3 {
                break;
            }
            assert!(since.elapsed() < Duration::from_secs(60), "{records:?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// The records of a session with the ledger each is in, page by page.
fn all_records(gateway: &Gateway, auditor: &str) -> Vec<(String, Value)> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/provenance?session=common&limit=7{cursor}");
        let (status, page) = gateway.send(auditor, &path, None);
        assert_eq!(status, 200, "{page}");
        let ledgers = page["ledgers"].as_array().unwrap();
        let records = page["records"].as_array().unwrap();
        assert_eq!(ledgers.len(), records.len());
        let pairs = ledgers.iter().zip(records);
        found.extend(pairs.map(|(ledger, record)| (ledger.as_str().unwrap().to_owned(), record.clone())));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

fn a_gateway_without_the_key_is_refused(stand: &Stand) {
    let stranger = Place::new();
    let configuration = std::fs::read_to_string(stand.places[0].path("tidegate.toml")).unwrap();
    stranger.write("tidegate.toml", &configuration);
    let ran = tidegate(
        &stranger,
        &["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"],
    );
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("vault.key"), "{}", ran.stderr);
}
