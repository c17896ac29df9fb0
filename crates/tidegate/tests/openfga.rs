//! A real OpenFGA server as the authority of a gateway as an operator runs it: who may use which tool, what is external
//! and what is a source, what changes while it runs, and what holds when the server is gone.
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

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

use run::gateway::{Gateway, create_token};
use run::{Place, Ran, tidegate};
use serde_json::{Value, json};
use xtask::services::{self, Running, Service};

const SERVER: &str = "TIDEGATE_TEST_OPENFGA";

/// What the control list says of the tools; the gateway is told the classes only, and takes the rest from OpenFGA.
const CLASSES: &str = "[tools.search_email]\nreturns = \"internal\"\n[tools.search_docs]\nreturns = \"internal\"\n\
                       [tools.web_search]\nreturns = \"public\"\n[tools.slack_post]\nreturns = \"public\"\n\
                       [tools.github_create_pr]\nreturns = \"public\"\nceiling = \"internal\"\n";
const EXTERNAL: [&str; 3] = ["web_search", "slack_post", "github_create_pr"];

/// How long the gateway may use an answer.
const LIFE: Duration = Duration::from_millis(300);

struct Stand {
    place: Place,
    server: String,
    store: String,
}

impl Stand {
    /// A place with a configuration for the server that all tests share.
    fn shared() -> Option<Self> {
        let server = services::address(SERVER).unwrap();
        if server.is_none() {
            eprintln!("skipped: cargo xtask test starts the OpenFGA server that this test needs");
        }
        Some(Self::on(&server?))
    }

    fn on(server: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let store = format!("gateway-{}-{number}", std::process::id());
        let place = Place::new();
        let openfga = format!(
            "data_dir = \"state\"\n[openfga]\nurl = \"{server}\"\nstore = \"{store}\"\ncache_ttl_ms = {}\ntimeout_ms = 700\n{CLASSES}",
            LIFE.as_millis()
        );
        place.write("tidegate.toml", &openfga);
        let mut whole = openfga;
        for tool in EXTERNAL {
            whole = whole.replace(
                &format!("[tools.{tool}]\n"),
                &format!("[tools.{tool}]\nexternal = true\n"),
            );
        }
        place.write("whole.toml", &whole);
        let server = server.to_owned();
        Self { place, server, store }
    }

    fn fga(&self, args: &[&str]) -> Ran {
        let config = ["--config", "whole.toml"];
        tidegate(&self.place, &[&["fga"][..], args, &config].concat())
    }

    /// Prepares the store; alice's agents may use everything.
    fn bootstrap(&self) {
        let ran = self.fga(&["bootstrap", "--grant", "user:alice", "--yes"]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    }

    /// Speaks to OpenFGA without the code under test.
    fn change(&self, kind: &str, user: &str, relation: &str, tool: &str) {
        let client = reqwest::blocking::Client::builder().no_proxy().build().unwrap();
        let stores = client.get(format!("{}/stores?name={}", self.server, self.store));
        let stores: Value = stores.send().unwrap().json().unwrap();
        let id = stores["stores"][0]["id"].as_str().unwrap();
        let tuple = json!({"user": user, "relation": relation, "object": format!("tool:{tool}")});
        let write = client.post(format!("{}/stores/{id}/write", self.server));
        let answer = write
            .json(&json!({kind: {"tuple_keys": [tuple]}}))
            .send()
            .unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
        // From here on the gateway has had the time that it is allowed.
        sleep(LIFE);
    }
}

/// A session of somebody's agent.
struct Session<'a> {
    gateway: &'a Gateway,
    token: String,
    id: String,
    opened: Value,
}

impl<'a> Session<'a> {
    fn open(gateway: &'a Gateway, stand: &Stand, user: &str) -> Self {
        let token = create_token(&stand.place, "agent", user);
        let (status, opened) = gateway.send(&token, "/v1/sessions", Some(json!({})));
        assert_eq!(status, 201, "{opened}");
        let id = opened["session_id"].as_str().unwrap().to_owned();
        Self {
            gateway,
            token,
            id,
            opened,
        }
    }

    fn post(&self, what: &str, body: Value) -> (u16, Value) {
        self.gateway.send(
            &self.token,
            &format!("/v1/session/{}/{what}", self.id),
            Some(body),
        )
    }

    fn get(&self, what: &str) -> Value {
        let (status, answer) =
            self.gateway
                .send(&self.token, &format!("/v1/session/{}{what}", self.id), None);
        assert_eq!(status, 200, "{answer}");
        answer
    }

    fn decide(&self, tool: &str) -> Value {
        let (status, decision) = self.post("authorize", json!({"tool": tool, "arguments": {}}));
        assert_eq!(status, 200, "{decision}");
        decision
    }

    fn allows(&self, tools: &[&str]) {
        for tool in tools {
            let decision = self.decide(tool);
            assert_eq!(decision["decision"], "allow", "{tool}: {decision}");
        }
    }

    fn denies(&self, tool: &str, rule: &str, reason: &str) {
        let decision = self.decide(tool);
        assert_eq!(
            (&decision["decision"], &decision["rule"]),
            (&json!("deny"), &json!(rule)),
            "{tool}"
        );
        let said = decision["reason"].as_str().unwrap();
        assert!(said.contains(reason), "{reason:?} in {said:?}");
        assert!(!decision["remedy"].as_str().unwrap().is_empty());
        assert_eq!(decision["retryable"], rule == "authority-unreachable");
    }

    fn bring(&self, tool: &str) -> (u16, Value) {
        self.post(
            "responses",
            json!({"tool": tool, "content": "Q3 pricing proposal"}),
        )
    }

    /// The same words, as part of a context that the caller has the gateway put together.
    fn assemble(&self, tool: &str) -> (u16, Value) {
        let chunk = json!({"source": tool, "origin": "task-data", "text": "Q3 pricing proposal"});
        self.post("context", json!({"chunks": [chunk]}))
    }
}

fn tool<'a>(manifest: &'a Value, name: &str) -> &'a Value {
    let tools = manifest["tools"].as_array().unwrap();
    tools.iter().find(|tool| tool["name"] == name).unwrap()
}

/// Whether the gateway says that it can decide.
fn readiness(gateway: &Gateway) -> (u16, String) {
    let client = reqwest::blocking::Client::builder().no_proxy().build().unwrap();
    let answer = client.get(format!("{}/readyz", gateway.url)).send().unwrap();
    (answer.status().as_u16(), answer.text().unwrap())
}

#[test]
fn after_internal_mail_the_web_is_closed_and_pull_requests_are_not() {
    let Some(stand) = Stand::shared() else { return };
    stand.bootstrap();
    let gateway = Gateway::start(&stand.place, &[]);
    let alice = Session::open(&gateway, &stand, "alice");
    let manifest = &alice.opened["manifest"];
    assert_eq!(tool(manifest, "search_email")["sensitivity"], "internal_source");
    for external in EXTERNAL {
        assert_eq!(tool(manifest, external)["sensitivity"], "external");
    }
    assert_eq!(
        tool(manifest, "search_email")["consequence"],
        "calling this tool will block: web_search, slack_post"
    );
    alice.allows(&[
        "search_email",
        "search_docs",
        "web_search",
        "slack_post",
        "github_create_pr",
    ]);

    assert_eq!(alice.bring("search_email").1["sensitivity"], "internal");
    for closed in ["web_search", "slack_post"] {
        alice.denies(
            closed,
            "label-above-ceiling",
            &format!("tool \"{closed}\" blocked: session context contains internal_ip (from search_email)"),
        );
    }
    alice.allows(&["search_docs", "github_create_pr"]);
    let state = alice.get("");
    assert_eq!(state["blocked_tools"], json!(["web_search", "slack_post"]));
    assert_eq!(state["contamination_source"], "search_email");
    let said = gateway.stop();
    let denied = said.lines().find(|line| line.contains("\"deny\"")).unwrap();
    assert!(
        denied.contains("web_search") && denied.contains("internal"),
        "{denied}"
    );
}

#[test]
fn who_was_not_given_leave_is_denied_and_told() {
    let Some(stand) = Stand::shared() else { return };
    stand.bootstrap();
    stand.change("writes", "user:bob#agent", "can_use", "search_docs");
    let gateway = Gateway::start(&stand.place, &[]);
    let bob = Session::open(&gateway, &stand, "bob");
    bob.allows(&["search_docs"]);
    bob.denies("web_search", "not-permitted", "this agent may not use it");
    let manifest = &bob.opened["manifest"];
    let marked = tool(manifest, "web_search");
    assert_eq!(
        (&marked["blocked"], &marked["consequence"]),
        (&json!(true), &json!("blocked: this agent may not use it"))
    );
    assert_eq!(tool(manifest, "search_docs")["blocked"], false);
    let constraint = manifest["planning_constraint"].as_str().unwrap();
    assert!(
        constraint.contains("Not available to you: search_email, web_search"),
        "{constraint}"
    );
    let plan = json!({"planned_calls": ["web_search", "search_docs"]});
    let report = bob.post("validate-plan", plan).1;
    assert_eq!(
        report["violations"][0]["reason"],
        "web_search is blocked: this agent may not use it"
    );
    assert_eq!(report["safe_ordering"], Value::Null);

    let asked = |args: &[&str]| stand.fga(&[&["check"][..], args].concat());
    assert_eq!(asked(&["--user", "bob", "--tool", "search_docs"]).code, 0);
    assert_eq!(asked(&["--user", "bob", "--tool", "web_search"]).code, 1);
    let all = asked(&["--user", "alice"]);
    assert_eq!(
        (all.code, all.stdout.matches("may     ").count()),
        (0, 5),
        "{}",
        all.stdout
    );
    gateway.stop();
}

#[test]
fn what_changes_in_openfga_is_in_force_when_the_cache_has_had_its_time() {
    let Some(stand) = Stand::shared() else { return };
    stand.bootstrap();
    let gateway = Gateway::start(&stand.place, &[]);
    let alice = Session::open(&gateway, &stand, "alice");
    alice.allows(&["web_search", "slack_post"]);
    stand.change("deletes", "user:alice#agent", "can_use", "slack_post");
    alice.denies("slack_post", "not-permitted", "may not use it");

    assert_eq!(alice.bring("search_email").0, 200);
    alice.denies("web_search", "label-above-ceiling", "internal_ip");
    stand.change("deletes", "system:tidegate", "is_external", "web_search");
    alice.allows(&["web_search"]);
    assert_eq!(
        tool(&alice.get("/manifest"), "web_search")["sensitivity"],
        "neutral"
    );
    stand.change("writes", "system:tidegate", "is_external", "web_search");
    alice.denies("web_search", "label-above-ceiling", "internal_ip");

    // What was public becomes a source.
    let fresh = Session::open(&gateway, &stand, "alice");
    assert_eq!(fresh.bring("github_create_pr").1["class"], "public");
    stand.change(
        "writes",
        "system:tidegate",
        "is_internal_source",
        "github_create_pr",
    );
    assert_eq!(fresh.bring("github_create_pr").1["class"], "internal");
    let check = stand.fga(&["check"]);
    assert_eq!(check.code, 1);
    assert!(
        check
            .stdout
            .contains("? tool:github_create_pr#is_internal_source@system:tidegate"),
        "{}",
        check.stdout
    );
    gateway.stop();
    let changes = tidegate(&stand.place, &["ledger", "export", "--event", "policy_changed"]);
    // At the start by the configuration, then by the tags: as they were written, without one, with it, with one more.
    assert_eq!(
        changes.stdout.matches("authority").count(),
        4,
        "{}",
        changes.stdout
    );
}

#[test]
fn a_store_is_prepared_once_and_compared() {
    let Some(stand) = Stand::shared() else { return };
    let expect = |ran: &Ran, code: i32, said: &str| {
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, code, "{all}");
        assert!(all.contains(said), "{said:?} in {all}");
    };
    expect(&stand.fga(&["check"]), 1, "+ store");
    expect(
        &stand.fga(&["bootstrap"]),
        1,
        "+ tool:web_search#is_external@system:tidegate",
    );
    expect(&stand.fga(&["check"]), 1, "+ store");
    expect(&stand.fga(&["bootstrap", "--yes"]), 0, "nobody was given leave");
    expect(&stand.fga(&["bootstrap", "--yes"]), 0, "nothing to write");
    expect(
        &stand.fga(&["check"]),
        0,
        "the store has what the control list says",
    );
    expect(
        &stand.fga(&["bootstrap", "--grant", "agent:bot"]),
        2,
        "agent:USER/AGENT",
    );
    stand.change("deletes", "system:tidegate", "is_external", "web_search");
    expect(
        &stand.fga(&["check"]),
        1,
        "+ tool:web_search#is_external@system:tidegate",
    );
    let gone = Stand::on("http://127.0.0.1:1");
    expect(&gone.fga(&["check"]), 3, "OpenFGA cannot be reached");
    gone.place.write("whole.toml", "data_dir = \"state\"\n");
    expect(&gone.fga(&["bootstrap"]), 2, "no [openfga]");
}

fn own_server(place: &services::Place, name: &str, port: u16) -> Running {
    services::OpenFga
        .start(&place.directory(name).unwrap(), port)
        .unwrap()
}

/// Nothing passes while OpenFGA hangs or is gone; each answer says why, and everything is back by itself.
#[test]
fn without_openfga_nothing_passes_and_it_is_said_why() {
    if services::address(SERVER).unwrap().is_none() {
        return;
    }
    let place = services::Place::new().unwrap();
    let port = services::free_port().unwrap();
    let running = own_server(&place, "first", port);
    let stand = Stand::on(running.url());
    stand.bootstrap();
    let gateway = Gateway::start(&stand.place, &[]);
    let alice = Session::open(&gateway, &stand, "alice");
    alice.allows(&["web_search"]);
    assert_eq!(readiness(&gateway).0, 200);

    let closed = |why: &str| {
        alice.denies("web_search", "authority-unreachable", why);
        for (status, problem) in [alice.bring("search_email"), alice.assemble("search_email")] {
            assert_eq!(status, 503);
            assert!(problem["detail"].as_str().unwrap().contains(why), "{problem}");
        }
        let opened = Session::open(&gateway, &stand, "alice").opened;
        let tools = opened["manifest"]["tools"].as_array().unwrap().clone();
        assert!(tools.iter().all(|tool| tool["blocked"] == true), "{tools:?}");
        assert_eq!(alice.get("")["blocked_tools"].as_array().unwrap().len(), 5);
        let plan = json!({"planned_calls": ["web_search"]});
        assert_eq!(alice.post("validate-plan", plan).1["valid"], false);
        let (status, body) = readiness(&gateway);
        assert_eq!(status, 503);
        assert!(body.contains(why), "{body}");
    };
    let open = || {
        assert_eq!(readiness(&gateway).0, 200);
        alice.allows(&["web_search"]);
    };
    running.pause();
    sleep(LIFE);
    closed("OpenFGA did not answer in time");
    running.resume();
    open();

    running.kill();
    sleep(LIFE);
    closed("OpenFGA cannot be reached");
    let again = own_server(&place, "second", port);
    closed("OpenFGA does not have the configured store");
    stand.bootstrap();
    open();
    assert_eq!(alice.get("")["sensitivity"], "public");
    assert_eq!(alice.assemble("slack_post").1["sensitivity"], "public");
    assert_eq!(alice.bring("search_email").1["sensitivity"], "internal");
    drop(again);
    gateway.stop();
}

/// The server need not be there when the gateway starts; a secret that is not in the environment is a mistake.
#[test]
fn a_gateway_starts_before_its_authority_and_needs_its_secret() {
    let stand = Stand::on("http://127.0.0.1:1");
    let gateway = Gateway::start(&stand.place, &[]);
    let alice = Session::open(&gateway, &stand, "alice");
    alice.denies("web_search", "authority-unreachable", "OpenFGA cannot be reached");
    assert_eq!(readiness(&gateway).0, 503);
    gateway.stop();
    let config = "data_dir = \"state\"\n[openfga]\nurl = \"http://127.0.0.1:1\"\nstore = \"x\"\ntoken_env = \"FGA_KEY\"\n";
    stand.place.write("tidegate.toml", config);
    let ran = tidegate(&stand.place, &["serve"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr
            .contains("openfga.token_env: the variable FGA_KEY is not set"),
        "{}",
        ran.stderr
    );
}
