//! Class reviews at a gateway as an operator runs it: a connector opens one, they outlive the process, and what cannot be opened
//! changes no answer.
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

const CONFIG: &str = r#"
data_dir = "state"
[tools.web_search]
external = true
[catalog.files.docs]
root = "docs"
paths = { "open/**" = "public", "hr/**" = "pii" }
"#;

const OF_API: &str = r#"
[catalog.openapi.desk]
document = "desk.json"
base_url = "http://127.0.0.1:9"
"#;

struct House {
    place: Place,
    agent: String,
    operator: String,
}

impl House {
    fn new(config: &str) -> Self {
        let place = Place::new();
        place.write("tidegate.toml", config);
        std::fs::create_dir_all(place.path("docs/open")).unwrap();
        Self {
            agent: create_token(&place, "agent", "alice"),
            operator: create_token(&place, "human-operator", "olga"),
            place,
        }
    }

    /// The document of the desk's API.
    fn document(&self, operations: &[(&str, &str)]) {
        let paths: serde_json::Map<_, _> = operations
            .iter()
            .map(|(id, summary)| {
                let answer = json!({"200": {"description": "found"}});
                let get = json!({"operationId": id, "summary": summary, "responses": answer});
                (format!("/{id}"), json!({"get": get}))
            })
            .collect();
        let info = json!({"title": "Desk", "version": "1"});
        let whole = json!({"openapi": "3.0.3", "info": info, "paths": paths});
        self.place.write("desk.json", &whole.to_string());
    }

    /// `tidegate reviews`, as an operator runs it.
    fn reviews(&self, gateway: &Gateway, args: &[&str]) -> Ran {
        let mut command = self.place.command(&["reviews"]);
        command
            .args(args)
            .env("TIDEGATE_URL", &gateway.url)
            .env("TIDEGATE_TOKEN", &self.operator);
        command.output().unwrap().into()
    }

    /// Cause, source and count of what is open.
    fn open(&self, gateway: &Gateway) -> Vec<(String, String, u64)> {
        let (status, page) = gateway.send(&self.operator, "/v1/class-reviews", None);
        assert_eq!(status, 200, "{page}");
        let text = |review: &Value, field: &str| review[field].as_str().unwrap().to_owned();
        let reviews = page["reviews"].as_array().unwrap().iter();
        let mut open: Vec<_> = reviews
            .map(|review| {
                let seen = review["seen"].as_u64().unwrap();
                (text(review, "cause"), text(review, "source"), seen)
            })
            .collect();
        open.sort();
        open
    }

    fn leak(&self, gateway: &Gateway, session: &str) {
        let (status, opened) =
            gateway.send(&self.agent, "/v1/sessions", Some(json!({"session_id": session})));
        assert_eq!(status, 201, "{opened}");
        let body = json!({"tool": "web_search", "arguments": {"q": "canary.person@example.com"}});
        let path = format!("/v1/session/{session}/authorize");
        let (status, denied) = gateway.send(&self.agent, &path, Some(body));
        assert_eq!((status, &denied["decision"]), (200, &json!("deny")), "{denied}");
    }
}

fn expected(reviews: &[(&str, &str, u64)]) -> Vec<(String, String, u64)> {
    let owned = |(cause, source, seen): &(&str, &str, u64)| (cause.to_string(), source.to_string(), *seen);
    reviews.iter().map(owned).collect()
}

#[test]
fn a_connector_and_a_leak_are_to_be_looked_at_and_outlive_the_gateway() {
    let house = House::new(CONFIG);
    let gateway = Gateway::start(&house.place, &[]);
    assert_eq!(house.open(&gateway), expected(&[("new_connector", "docs", 1)]));
    house.leak(&gateway, "s-1");
    gateway.kill();

    let gateway = Gateway::start(&house.place, &[]);
    house.leak(&gateway, "s-2");
    let open = expected(&[("new_connector", "docs", 1), ("pii_leak_risk", "web_search", 2)]);
    assert_eq!(house.open(&gateway), open, "a known connector is not new again");
    let listed = house.reviews(&gateway, &["list"]);
    assert_eq!(
        (listed.code, listed.stdout.lines().count()),
        (0, 2),
        "{}",
        listed.stdout
    );
    assert!(!listed.stdout.contains("canary"), "{}", listed.stdout);
    for line in listed.stdout.lines() {
        let id = line.split(' ').next().unwrap();
        let args = ["settle", id, "--verdict", "assigned-right", "--reason", "looked"];
        let settled = house.reviews(&gateway, &args);
        assert_eq!(settled.code, 0, "{}", settled.stderr);
        assert_eq!(house.reviews(&gateway, &args).code, 1, "once is enough");
    }
    assert_eq!(house.reviews(&gateway, &["list"]).code, 1, "nothing is open");
    let settled = house.reviews(&gateway, &["list", "--state", "settled"]);
    assert_eq!(settled.stdout.lines().count(), 2, "{}", settled.stdout);
    gateway.stop();

    let gateway = Gateway::start(&house.place, &[]);
    assert_eq!(
        house.open(&gateway),
        expected(&[]),
        "what was settled is not new again"
    );
    gateway.stop();
    let verified = tidegate(&house.place, &["ledger", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    for event in ["class_review_opened", "class_review_settled"] {
        let exported = tidegate(&house.place, &["ledger", "export", "--event", event]);
        assert_eq!(exported.stdout.lines().count(), 2, "{}", exported.stdout);
        assert!(!exported.stdout.contains("canary"), "{}", exported.stdout);
    }
}

const CONNECTORS: [(&str, &str, u64); 2] = [("new_connector", "desk", 1), ("new_connector", "docs", 1)];

#[test]
fn a_connector_that_says_something_else_is_to_be_looked_at() {
    let house = House::new(&format!("{CONFIG}{OF_API}"));
    house.document(&[("rooms", "List the rooms")]);
    let gateway = Gateway::start(&house.place, &[]);
    assert_eq!(house.open(&gateway), expected(&CONNECTORS));
    gateway.stop();
    house.document(&[("rooms", "List rooms and guests"), ("bills", "List the bills")]);
    for _ in 0..2 {
        let gateway = Gateway::start(&house.place, &[]);
        assert_eq!(house.open(&gateway), expected(&changed()));
        gateway.stop();
    }
}

/// What is open when the desk's rooms say something else and its bills are new.
fn changed() -> Vec<(&'static str, &'static str, u64)> {
    let tools = [("changed_tool", "desk.rooms", 1), ("new_tool", "desk.bills", 1)];
    let mut open: Vec<_> = CONNECTORS.into_iter().chain(tools).collect();
    open.sort_unstable();
    open
}

#[test]
fn what_a_start_that_failed_had_to_ask_is_asked_at_the_next() {
    let house = House::new(&format!("{CONFIG}{OF_API}"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = (taken.local_addr().unwrap().to_string(), taken);
    let fail = || {
        let failed = tidegate(&house.place, &["serve", "--listen", &taken.0]);
        assert!(
            failed.code != 0 && failed.stderr.contains("cannot listen"),
            "{}",
            failed.stderr
        );
    };
    house.document(&[("rooms", "List the rooms")]);
    fail();
    let gateway = Gateway::start(&house.place, &[]);
    assert_eq!(house.open(&gateway), expected(&CONNECTORS));
    gateway.stop();
    house.document(&[("rooms", "List rooms and guests"), ("bills", "List the bills")]);
    fail();
    for _ in 0..2 {
        let gateway = Gateway::start(&house.place, &[]);
        assert_eq!(house.open(&gateway), expected(&changed()));
        gateway.stop();
    }
}

#[test]
fn what_cannot_be_opened_changes_no_answer() {
    let house = House::new(CONFIG);
    let gateway = Gateway::start(&house.place, &[]);
    let state = rusqlite::Connection::open(house.place.path("state/tidegate.db")).unwrap();
    state.execute_batch("DROP TABLE class_review").unwrap();
    house.leak(&gateway, "s-1");
    let call = json!({"tool": "docs.list", "arguments": {}});
    let (status, listed) = gateway.send(&house.agent, "/v1/session/s-1/connect", Some(call));
    assert_eq!((status, &listed["allowed"]), (200, &json!(true)), "{listed}");
    let (status, _) = gateway.send(&house.operator, "/v1/class-reviews", None);
    assert!((500..600).contains(&status), "{status}");
    let said = gateway.stop();
    assert!(
        said.contains("a class review could not be opened") && !said.contains("canary"),
        "{said}"
    );
}
