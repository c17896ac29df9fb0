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

/// Clients write their own files: what they changed is kept, and so is a server that was added.
#[test]
fn changes_since_are_not_lost_unasked() {
    let place = Place::new();
    place.write("mcp.json", CLIENT);
    assert_eq!(tidegate(&place, &["wrap", "--client", "mcp.json"]).code, 0);
    let wrapped = std::fs::read_to_string(place.path("mcp.json")).unwrap();
    place.write("mcp.json", &wrapped.replace("dark", "light"));
    let unwrapped = tidegate(&place, &["unwrap", "--client", "mcp.json"]);
    assert_eq!(unwrapped.code, 0, "{}", unwrapped.stderr);
    assert_eq!(
        std::fs::read_to_string(place.path("mcp.json")).unwrap(),
        CLIENT.replace("dark", "light")
    );

    place.write("mcp.json", CLIENT);
    assert_eq!(tidegate(&place, &["wrap", "--client", "mcp.json"]).code, 0);
    let added = "\"mcpServers\": {\"added\": {\"command\": \"x\"},";
    place.write("mcp.json", &wrapped.replace("\"mcpServers\": {", added));
    assert_eq!(tidegate(&place, &["unwrap", "--client", "mcp.json"]).code, 0);
    let now: Value = serde_json::from_str(&std::fs::read_to_string(place.path("mcp.json")).unwrap()).unwrap();
    let names: Vec<_> = now["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["added", "notes"]);
    let again = tidegate(&place, &["wrap", "--client", "mcp.json"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(tidegate(&place, &["check", "tidegate.toml"]).code, 0);

    place.write("mcp.json", "no longer JSON");
    assert_eq!(tidegate(&place, &["unwrap", "--client", "mcp.json"]).code, 1);
    assert_eq!(
        std::fs::read_to_string(place.path("mcp.json")).unwrap(),
        "no longer JSON"
    );
    let forced = tidegate(&place, &["unwrap", "--client", "mcp.json", "--force"]);
    assert_eq!(forced.code, 0, "{}", forced.stderr);
}

#[test]
fn modes_and_links_come_back_too() {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.write("target.json", CLIENT);
    let mode = |name: &str| std::fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    std::fs::set_permissions(place.path("target.json"), Permissions::from_mode(0o644)).unwrap();
    std::os::unix::fs::symlink("target.json", place.path("mcp.json")).unwrap();
    for args in [
        ["wrap", "--client", "mcp.json"],
        ["unwrap", "--client", "mcp.json"],
    ] {
        assert_eq!(tidegate(&place, &args).code, 0);
        assert!(place.path("mcp.json").is_symlink(), "{args:?}");
        assert_eq!(mode("target.json"), 0o644, "{args:?}");
    }
    assert_eq!(
        std::fs::read_to_string(place.path("target.json")).unwrap(),
        CLIENT
    );
}

#[test]
fn keys_in_the_open_and_silent_servers_are_named() {
    let place = Place::new();
    let key = format!("AKIA{}", "QX3N7TZ2WB5LKD4M");
    let args = format!("[\"--header\", \"Authorization: Bearer {key}\"]");
    place.write("mcp.json", &CLIENT.replace("[\"--all\"]", &args));
    let shown = tidegate(&place, &["wrap", "--client", "mcp.json", "--dry-run"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(!shown.stdout.contains(&key) && !shown.stderr.contains(&key));
    assert!(
        shown.stderr.contains("notes: an argument holds"),
        "{}",
        shown.stderr
    );
    assert!(
        shown.stderr.contains("notes: no tools were seen"),
        "{}",
        shown.stderr
    );
}

/// Whatever Claude Code would start directly is moved: servers of the project, of the user, and of the user in any project.
#[test]
fn no_server_of_a_client_stays_direct() {
    let place = Place::new();
    std::fs::create_dir(place.path("home")).unwrap();
    let user = r#"{"mcpServers": {"mail": {"command": "/nonexistent/mail", "env": {"MAIL_KEY": "canary"}}}, "n": 1,
        "projects": {"/one": {"mcpServers": {"crm": {"command": "/nonexistent/crm"}}}}}"#;
    for user in [
        user.to_owned(),
        user.replace("\"mcpServers\": {\"mail\"", "\"more\": {\"mail\""),
    ] {
        let _ = std::fs::remove_file(place.path("tidegate.toml"));
        place.write(".mcp.json", CLIENT);
        place.write("home/.claude.json", &user);
        let wrapped = tidegate(&place, &["wrap", "--client", "claude-code"]);
        assert_eq!(wrapped.code, 0, "{}", wrapped.stderr);
        let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
        let (near, far) = (read(".mcp.json"), read("home/.claude.json"));
        let near: Value = serde_json::from_str(&near).unwrap();
        assert_eq!(
            near["mcpServers"],
            serde_json::json!({}),
            "keys of others do not come into the project"
        );
        let far: Value = serde_json::from_str(&far).unwrap();
        let names: Vec<_> = far["mcpServers"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["tidegate"]);
        assert_eq!(far["mcpServers"]["tidegate"]["env"]["NOTES_KEY"], "canary-value");
        assert_eq!(far["projects"]["/one"]["mcpServers"], serde_json::json!({}));
        let config = read("tidegate.toml");
        assert!(
            config.contains("[servers.\"notes\"]") && config.contains("[servers.\"crm\"]"),
            "{config}"
        );
        assert_eq!(
            config.contains("[servers.\"mail\"]"),
            !user.contains("more"),
            "{config}"
        );
        assert_eq!(tidegate(&place, &["check", "tidegate.toml"]).code, 0);

        assert_eq!(tidegate(&place, &["unwrap", "--client", "claude-code"]).code, 0);
        assert_eq!(
            (read(".mcp.json").as_str(), read("home/.claude.json")),
            (CLIENT, user)
        );
    }
}

#[test]
fn a_client_without_servers_and_two_servers_of_one_name_are_refused() {
    let place = Place::new();
    std::fs::create_dir(place.path("home")).unwrap();
    place.write(
        "home/.claude.json",
        r#"{"projects": {"/one": {"mcpServers": {}}}}"#,
    );
    let none = tidegate(&place, &["wrap", "--client", "claude-code"]);
    assert_eq!(none.code, 2, "{}", none.stderr);
    assert!(none.stderr.contains("there is no server"), "{}", none.stderr);

    let other = r#"{"projects": {"/one": {"mcpServers": {"notes": {"command": "/another"}}}}}"#;
    place.write("home/.claude.json", other);
    place.write(".mcp.json", CLIENT);
    let two = tidegate(&place, &["wrap", "--client", "claude-code"]);
    assert_eq!(two.code, 2, "{}", two.stderr);
    assert!(two.stderr.contains("notes: two servers"), "{}", two.stderr);
    assert_eq!(std::fs::read_to_string(place.path(".mcp.json")).unwrap(), CLIENT);
    assert!(!place.path("tidegate.toml").exists());
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
