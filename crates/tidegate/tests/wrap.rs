//! Putting the gateway in front of a client's servers, and taking it away again.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;

use run::{Place, tidegate};
use serde_json::Value;

/// Written as people write: odd spaces, a number that no program would write, no line break at the end.
const CLIENT: &str = "{\n   \"theme\": \"dark\" , \"n\": 1.50e1,\n\t\"mcpServers\": {\n  \"notes\": {\"command\": \"/nonexistent/notes\", \"args\": [\"--all\"], \"env\": {\"NOTES_KEY\": \"canary-value\"}}\n }}";

#[test]
fn a_clients_file_comes_back_byte_for_byte() {
    let place = Place::new();
    place.write("mcp.json", CLIENT);
    let wrapped = tidegate(&place, &["wrap", "--client", "mcp.json"]);
    assert_eq!(wrapped.code, 0, "{}", wrapped.stderr);
    let now: Value = serde_json::from_str(&std::fs::read_to_string(place.path("mcp.json")).unwrap()).unwrap();
    assert_eq!(now["theme"], "dark");
    let entry = &now["mcpServers"]["tidegate"];
    assert_eq!(entry["args"][0], "mcp");
    assert_eq!(entry["env"]["NOTES_KEY"], "canary-value");
    assert_eq!(now["mcpServers"].as_object().unwrap().len(), 1);

    let config = std::fs::read_to_string(place.path("tidegate.toml")).unwrap();
    assert!(!config.contains("canary-value"), "{config}");
    assert!(config.contains("[servers.\"notes\"]"));
    assert_eq!(tidegate(&place, &["check", "tidegate.toml"]).code, 0);

    assert_eq!(
        tidegate(&place, &["wrap", "--client", "mcp.json"]).code,
        2,
        "it is wrapped already"
    );
    assert_eq!(tidegate(&place, &["unwrap", "--client", "mcp.json"]).code, 0);
    assert_eq!(std::fs::read_to_string(place.path("mcp.json")).unwrap(), CLIENT);
    assert_eq!(
        tidegate(&place, &["unwrap", "--client", "mcp.json"]).code,
        1,
        "there is nothing to undo"
    );
}

#[test]
fn a_dry_run_writes_nothing() {
    let place = Place::new();
    place.write("mcp.json", CLIENT);
    let shown = tidegate(&place, &["wrap", "--client", "mcp.json", "--dry-run"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("[servers.\"notes\"]"), "{}", shown.stdout);
    assert!(!shown.stdout.contains("canary-value"));
    assert_eq!(std::fs::read_to_string(place.path("mcp.json")).unwrap(), CLIENT);
    assert!(!place.path("tidegate.toml").exists());
}

#[test]
fn changes_since_are_not_lost_unasked() {
    let place = Place::new();
    place.write("mcp.json", CLIENT);
    assert_eq!(tidegate(&place, &["wrap", "--client", "mcp.json"]).code, 0);
    let mut changed = std::fs::read_to_string(place.path("mcp.json")).unwrap();
    changed.push('\n');
    place.write("mcp.json", &changed);
    assert_eq!(tidegate(&place, &["unwrap", "--client", "mcp.json"]).code, 1);
    assert_eq!(std::fs::read_to_string(place.path("mcp.json")).unwrap(), changed);
    assert_eq!(
        tidegate(&place, &["unwrap", "--client", "mcp.json", "--force"]).code,
        0
    );
    assert_eq!(std::fs::read_to_string(place.path("mcp.json")).unwrap(), CLIENT);
}
