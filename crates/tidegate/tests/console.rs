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

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use run::Place;
use run::gateway::{Gateway, create_token};
use serde_json::{Value, json};

/// Markup where a tool's name should be.
const HOSTILE: &str = "<img src=x onerror=\"window.broken = 1\">";

/// What the gateway and its provider share.
const SECRET: &str = "between the two of us";

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
    drive(&installed, script, &place, gateway, None);
}

/// Runs a script in the browser against a gateway, and gives what the gateway said meanwhile.
fn drive(installed: &Path, script: &str, place: &Place, gateway: Gateway, issuer: Option<&str>) -> String {
    let token = |role: &str, principal: &str| Value::from(create_token(place, role, principal));
    let tokens = json!({
        "agent": token("agent", "alice"),
        "operator": token("human-operator", "olga"),
        "reviewer": token("pii-authorized-reviewer", "rita"),
        "auditor": token("auditor", "otto"),
        "admin": token("admin", "ada"),
    });
    let shots = std::env::var("TIDEGATE_SCREENSHOTS").ok();
    let wanted = json!({
        "url": gateway.url, "tokens": tokens, "shots": shots, "hostile": HOSTILE, "issuer": issuer,
    });
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
    said
}

/// A real OpenID Connect provider on another site. It ends with the test.
struct Provider {
    process: Child,
    /// Kept open: a provider that nobody listens to any more would end.
    _said: BufReader<ChildStdout>,
    issuer: String,
}

impl Provider {
    fn start(installed: &Path, redirect: &str) -> Self {
        let source = "../gateway/tests/oidc_stand/provider.mjs";
        let script = installed.join("provider-in-browser.mjs");
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(source), &script).unwrap();
        let people = json!({"olga": {"groups": ["desk"]}, "nils": {"groups": ["everybody"]}});
        // The gateway is at 127.0.0.1: to a browser that is another site, as a provider is.
        let wanted = json!({
            "host": "localhost", "redirect": redirect, "secret": SECRET, "people": people,
        });
        let mut process = Command::new("node")
            .arg(script)
            .arg(wanted.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut issuer = String::new();
        let mut said = BufReader::new(process.stdout.take().unwrap());
        said.read_line(&mut issuer).unwrap();
        Self {
            process,
            _said: said,
            issuer: issuer.trim_end().to_owned(),
        }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn people_sign_in_by_a_provider() {
    let Some(installed) = installed() else { return };
    // The provider must know where the gateway will be before the gateway can know the provider.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{address}");
    let provider = Provider::start(&installed, &format!("{url}/console/sign-in/oidc/callback"));
    let place = Place::new();
    let issuer = &provider.issuer;
    let oidc = format!(
        "[console.oidc]\nname = \"Harbour accounts\"\nissuer = \"{issuer}\"\nclient_id = \"tidegate\"\n\
         client_secret_env = \"OIDC_SECRET\"\npublic_url = \"{url}\"\n[console.oidc.roles]\ndesk = \"human-operator\"\n"
    );
    place.write("tidegate.toml", &format!("{TOOLS}{oidc}"));
    let mut command = place.command(&["serve", "--listen", &address.to_string()]);
    command.env("OIDC_SECRET", SECRET);
    let gateway = Gateway::spawn(command);
    let said = drive(&installed, "oidc.mjs", &place, gateway, Some(issuer));
    assert!(
        said.contains("nothing in the token is mapped to a role"),
        "{said}"
    );
    assert!(!said.contains(SECRET), "{said}");
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
