//! The worked example, end to end: what the agent sees, what the record says, and that the guest is in no file.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;

use std::path::{Path, PathBuf};
use std::process::Command;

use run::gateway::Gateway;
use run::{Place, tidegate};
use serde_json::{Value, json};

/// A guest who is different in every run. No list of names has this one.
struct Guest {
    first: String,
    last: String,
    mail: String,
    phone: String,
}

impl Guest {
    fn new() -> Self {
        let number = u64::from(std::process::id());
        let letters = |mut n: u64| -> String {
            (0..5)
                .map(|_| {
                    n = n
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(144_115_188_075_855_872);
                    char::from(b'a' + (n >> 40) as u8 % 26)
                })
                .collect()
        };
        let (first, last) = (
            format!("Zq{}", letters(number)),
            format!("Xw{}", letters(number + 7)),
        );
        let mail = [first.to_lowercase(), "example.net".to_owned()].join("@");
        Self {
            first,
            last,
            mail,
            phone: format!("+1 850 555 {:04}", 100 + number % 100),
        }
    }

    fn all(&self) -> [&str; 4] {
        [&self.first, &self.last, &self.mail, &self.phone]
    }

    fn inquiry(&self) -> Value {
        json!({
            "guest": {"first_name": self.first, "last_name": self.last, "email": self.mail, "phone": self.phone},
            "dates": {"from": "2027-05-03", "to": "2027-05-09"},
            "message": format!("Looking forward to the stay. Do you allow pets? Write to {} or call {}.", self.mail, self.phone),
        })
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        self.all().iter().any(|value| {
            bytes
                .windows(value.len())
                .any(|window| window == value.as_bytes())
        })
    }
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// The example, built beside the tests.
fn example(gateway: &Gateway, token: &str, inquiry: &Path) -> Vec<Value> {
    let tests = std::env::current_exe().unwrap();
    let program = tests
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/guest-inquiry");
    assert!(program.exists(), "cargo builds the examples with the tests");
    let ran = Command::new(program)
        .arg(inquiry)
        .env("TIDEGATE_URL", &gateway.url)
        .env("TIDEGATE_TOKEN", token)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let steps = String::from_utf8(ran.stdout).unwrap();
    steps
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_guest_is_served_and_never_seen() {
    let (place, outside) = (Place::new(), Place::new());
    let guest = Guest::new();
    place.write(
        "tidegate.toml",
        include_str!("../../../examples/guest-inquiry/tidegate.toml"),
    );
    outside.write("inquiry.json", &guest.inquiry().to_string());
    let gateway = Gateway::start(&place, &["--data-dir", "state"]);
    let made = tidegate(
        &place,
        &[
            "token",
            "create",
            "--role",
            "agent",
            "--principal",
            "host",
            "--data-dir",
            "state",
        ],
    );
    let steps = example(&gateway, made.stdout.trim(), &outside.path("inquiry.json"));
    for step in &steps {
        assert!(!guest.is_in(step.to_string().as_bytes()), "{step}");
    }
    let of = |step: &str, tool: Option<&str>| {
        let found = steps
            .iter()
            .find(|s| s["step"] == step && s["tool"].as_str() == tool);
        found.unwrap_or_else(|| panic!("no {step}"))["answer"].clone()
    };
    let context = of("context", None);
    let text = context["context"].as_str().unwrap();
    assert!(
        text.contains("2027-05-03") && text.contains("Do you allow pets?"),
        "{text}"
    );
    assert!(text.contains("{FIRST_NAME_1}"), "{text}");
    assert_eq!(context["confidence_band"], "high");
    assert_eq!(context["sensitivity"], "pii");
    assert_eq!(of("authorize", Some("web_search"))["decision"], "deny");
    assert_eq!(of("output", None)["decision"], "pass");
    let draft = of("authorize", Some("gmail_guest_draft"));
    assert_eq!(draft["decision"], "hold", "{draft}\n{text}");
    assert_eq!(of("authorize", Some("gmail_send"))["rule"], "tool-blocked");
    assert_eq!(of("end", None)["ended"], true);
    let (stdout, stderr) = gateway.stop_and_listen();
    assert!(!guest.is_in(stdout.as_bytes()) && !guest.is_in(stderr.as_bytes()));

    check_records(&place);
    let files = files_below(&place.path(""));
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        assert!(!guest.is_in(&std::fs::read(&file).unwrap()), "{}", file.display());
    }
}

/// The four kinds of records, and the pointer behind which the guest's data lies.
fn check_records(place: &Place) {
    let exported = tidegate(place, &["ledger", "export", "--data-dir", "state"]);
    let events: Vec<Value> = exported
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone())
        .collect();
    let holds = |expected: Value| {
        let fields = expected.as_object().unwrap();
        let found = events
            .iter()
            .any(|event| fields.iter().all(|(name, value)| event[name] == *value));
        assert!(found, "no {expected} in {events:#?}");
    };
    holds(
        json!({"type": "context_assembly", "data_class": "pii", "redaction_applied": true, "source_id": "inquiry_message"}),
    );
    holds(json!({"type": "injection_detection_hit", "disposition": "allow", "source_id": "inquiry_message"}));
    holds(
        json!({"type": "tool_argument_construction", "tool_id": "gmail_guest_draft", "authorized_sink_verified": true}),
    );
    holds(json!({"type": "decision", "tool": "gmail_guest_draft", "decision": "hold", "label": "pii"}));
    holds(json!({"type": "session_ended", "label": "pii"}));
    let pointers = events
        .iter()
        .filter(|event| event["type"] == "context_assembly" && event["evidence_pointer"].is_string());
    assert_eq!(pointers.count(), 2, "the record and the message lie in the vault");
    assert_eq!(
        tidegate(place, &["ledger", "verify", "--data-dir", "state"]).code,
        0
    );
}
