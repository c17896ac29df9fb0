//! The console as people use it: the real binary, a real browser.
//!
//! `cargo xtask test` installs the browser and what drives it into target/console-test. Without them the test says that it
//! was skipped, except where CI=true, where it fails. `cargo xtask screenshots` runs it and keeps pictures.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test stops at the first surprise, and says when it was skipped"
)]

mod run;

use std::path::{Path, PathBuf};
use std::process::Command;

use run::Place;
use run::gateway::{Gateway, create_token};
use serde_json::{Value, json};

/// Markup where a tool's name should be.
const HOSTILE: &str = "<img src=x onerror=\"window.broken = 1\">";

const TOOLS: &str = r#"
[tools.search_email]
returns = "internal"
[tools.booking_lookup]
returns = "pii"
fields = { "guest.name" = "pii", "guest.email" = "pii", "dates.*" = "public" }
[tools.web_search]
external = true
# Proposed, to be reviewed: its name speaks of reaching out.
[tools.slack_post]
external = true
ceiling = "public"
[tools.github_create_pr]
external = true
ceiling = "internal"
[tools.gmail_guest_draft]
ceiling = "pii"
sink = true
control = "human-approval"
"#;

/// Where the browser's driver is, if it is.
fn installed() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let place = root.join("target/console-test");
    if place.join("installed").exists() {
        return Some(place);
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "the browser is not installed: run cargo xtask screenshots"
    );
    eprintln!("skipped: cargo xtask screenshots installs the browser this test needs");
    None
}

/// Runs a script in the browser against a gateway with this configuration.
fn check(script: &str, configuration: &str) {
    let Some(installed) = installed() else { return };
    let place = Place::new();
    place.write("tidegate.toml", configuration);
    let gateway = Gateway::start(&place, &[]);
    let token = |role: &str, principal: &str| Value::from(create_token(&place, role, principal));
    let tokens = json!({
        "agent": token("agent", "alice"),
        "operator": token("human-operator", "olga"),
        "reviewer": token("pii-authorized-reviewer", "rita"),
        "auditor": token("auditor", "otto"),
        "admin": token("admin", "ada"),
    });
    let shots = std::env::var("TIDEGATE_SCREENSHOTS").ok();
    let wanted = json!({"url": gateway.url, "tokens": tokens, "shots": shots, "hostile": HOSTILE});
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    // A module finds its packages from where it lies.
    for file in ["stage.mjs", script] {
        std::fs::copy(scripts.join(file), installed.join(file)).unwrap();
    }
    let output = Command::new("node")
        .arg(installed.join(script))
        .arg(wanted.to_string())
        .output()
        .unwrap();
    let (said, told) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && said.ends_with("ok\n"),
        "{said}\n{told}"
    );
    let said = gateway.stop();
    assert!(
        !said.contains("tg_") || said.matches("tg_").count() == 1,
        "{said}"
    );
}

#[test]
fn every_page_is_for_everybody() {
    let hostile = format!("[tools.'{HOSTILE}']\nreturns = \"internal\"\n");
    check("pages.mjs", &format!("{TOOLS}{hostile}"));
}

#[test]
fn held_calls_are_decided_by_people() {
    check("gates.mjs", TOOLS);
}
