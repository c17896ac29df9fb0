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

/// Wrapped servers stand in tidegate.toml, and stay there when the client's file is restored.
#[test]
fn wrapping_again_after_unwrapping_is_as_good_as_the_first_time() {
    let place = Place::new();
    place.write("mcp.json", CLIENT);
    assert_eq!(tidegate(&place, &["wrap", "--client", "mcp.json"]).code, 0);
    let first = std::fs::read_to_string(place.path("tidegate.toml")).unwrap();
    assert_eq!(tidegate(&place, &["unwrap", "--client", "mcp.json"]).code, 0);
    let again = tidegate(&place, &["wrap", "--client", "mcp.json"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(
        std::fs::read_to_string(place.path("tidegate.toml")).unwrap(),
        first
    );
    assert_eq!(tidegate(&place, &["check", "tidegate.toml"]).code, 0);
}

#[test]
fn the_gateway_never_becomes_a_server_of_its_own() {
    let place = Place::new();
    place.write("mcp.json", CLIENT);
    assert_eq!(tidegate(&place, &["wrap", "--client", "mcp.json"]).code, 0);
    let first = std::fs::read_to_string(place.path("tidegate.toml")).unwrap();
    let wrapped = std::fs::read_to_string(place.path("mcp.json")).unwrap();
    let added = wrapped.replace(
        "\"mcpServers\": {",
        "\"mcpServers\": {\"added\": {\"command\": \"x\"},",
    );
    let renamed = added.replace("\"tidegate\": {", "\"another name\": {");
    for (text, direct) in [
        (&wrapped, None),
        (&added, Some("added")),
        (&renamed, Some("added")),
    ] {
        place.write("mcp.json", text);
        let again = tidegate(&place, &["wrap", "--client", "mcp.json"]);
        assert_eq!(again.code, 2, "{}", again.stderr);
        assert!(again.stderr.contains("wrapped already"), "{}", again.stderr);
        assert!(
            direct.is_none_or(|name| again.stderr.contains(name)),
            "{}",
            again.stderr
        );
        assert_eq!(std::fs::read_to_string(place.path("mcp.json")).unwrap(), *text);
        assert_eq!(
            std::fs::read_to_string(place.path("tidegate.toml")).unwrap(),
            first
        );
    }
}

#[test]
fn nothing_is_written_that_the_gateway_could_not_start_with() {
    let place = Place::new();
    for config in [
        "[tools.a]\nceiling = \"nonsense\"\n",
        "[servers.notes]\ncommand = \"/another\"\n",
        "servers = { other = { command = \"x\" } }\n",
    ] {
        place.write("mcp.json", CLIENT);
        place.write("tidegate.toml", config);
        let refused = tidegate(&place, &["wrap", "--client", "mcp.json"]);
        assert_eq!(refused.code, 2, "{config}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("nothing was written"),
            "{}",
            refused.stderr
        );
        assert_eq!(std::fs::read_to_string(place.path("mcp.json")).unwrap(), CLIENT);
        assert_eq!(
            std::fs::read_to_string(place.path("tidegate.toml")).unwrap(),
            config
        );
    }
}
