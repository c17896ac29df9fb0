//! A real OpenFGA server, a store of its own for each test, and an authority that asks it.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::print_stderr,
    reason = "each test file uses its own part of the stand, and says when it was skipped"
)]

pub mod fault;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_authority::bootstrap::{Grantee, Wanted};
use tidegate_authority::{Client, OpenFga, Settings};
use tidegate_core::{Class, Control, ControlList, Ident, Name, Tool, ToolFacts};
use tidegate_engine::{Authority, Subject, Unanswered};
use xtask::services;

/// How long answers are used in tests that do not say otherwise: not at all.
pub const NO_CACHE: Duration = Duration::ZERO;

/// The server that all tests share, if there is one.
pub fn server(variable: &str) -> Option<String> {
    let found = services::address(variable).unwrap();
    if found.is_none() {
        eprintln!("skipped: cargo xtask test starts the OpenFGA server that this test needs");
    }
    found
}

/// A name that no other test uses.
pub fn unused_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "test-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// A store on a server, spoken to without the code under test.
pub struct Store {
    pub settings: Settings,
    pub id: String,
    api: String,
}

impl Store {
    /// A store with the model and the tags of the control list, in which these may use everything.
    pub fn prepared(url: &str, grantees: &[&str]) -> Self {
        let settings = Settings {
            cache_ttl: NO_CACHE,
            ..Settings::new(url, &unused_name())
        };
        Self::prepared_by(settings, grantees)
    }

    pub fn prepared_by(settings: Settings, grantees: &[&str]) -> Self {
        let client = Client::new(settings.clone());
        let grantees: Vec<Grantee> = grantees.iter().map(|text| text.parse().unwrap()).collect();
        let wanted = Wanted::of(&control(), &grantees).unwrap();
        let difference = client.compare(&wanted).unwrap();
        let (id, _) = client.apply(&difference, false).unwrap();
        let api = settings.url.clone();
        Self { settings, id, api }
    }

    /// An empty store.
    pub fn empty(url: &str) -> Self {
        let settings = Settings {
            cache_ttl: NO_CACHE,
            ..Settings::new(url, &unused_name())
        };
        let made = post(url, "/stores", json!({"name": settings.store}));
        let id = made["id"].as_str().unwrap().to_owned();
        let api = url.to_owned();
        Self { settings, id, api }
    }

    pub fn post(&self, path: &str, body: Value) -> Value {
        post(&self.api, &format!("/stores/{}{path}", self.id), body)
    }

    pub fn write(&self, tuples: &[(&str, &str, &str)]) {
        self.post("/write", json!({"writes": {"tuple_keys": keys(tuples)}}));
    }

    pub fn delete(&self, tuples: &[(&str, &str, &str)]) {
        self.post("/write", json!({"deletes": {"tuple_keys": keys(tuples)}}));
    }

    pub fn write_model(&self, model: Value) -> String {
        let written = self.post("/authorization-models", model);
        written["authorization_model_id"].as_str().unwrap().to_owned()
    }

    pub fn authority(&self) -> OpenFga {
        OpenFga::new(self.settings.clone())
    }
}

/// A call to the server's own API, which must succeed.
pub fn post(url: &str, path: &str, body: Value) -> Value {
    let mut answer = ureq::post(format!("{url}{path}"))
        .content_type("application/json")
        .send(body.to_string())
        .unwrap_or_else(|error| panic!("POST {path}: {error}"));
    serde_json::from_slice(&answer.body_mut().read_to_vec().unwrap()).unwrap()
}

fn keys(tuples: &[(&str, &str, &str)]) -> Value {
    let key = |(user, relation, object): &(&str, &str, &str)| json!({"user": user, "relation": relation, "object": object});
    tuples.iter().map(key).collect()
}

/// What an agent may use, by name; or why nobody says so.
pub async fn may_use(
    authority: &OpenFga,
    (user, agent, session): (&str, &str, &str),
    tools: &[&str],
) -> Result<Vec<bool>, Unanswered> {
    let ident = |text| Ident::parse(text).unwrap();
    let (user, agent, session) = (ident(user), ident(agent), ident(session));
    let subject = Subject {
        user: &user,
        agent: &agent,
        session: &session,
    };
    let tools: Vec<_> = tools.iter().map(|tool| Name::parse(tool).unwrap()).collect();
    authority.permitted(subject, &tools).await
}

/// The tools of the acceptance case.
pub fn control() -> ControlList {
    let facts = |name: &str| ToolFacts::named(Name::parse(name).unwrap());
    let source = |name| ToolFacts {
        returns: Some(Class::Internal),
        ..facts(name)
    };
    let external = |name| ToolFacts {
        external: true,
        ..facts(name)
    };
    let blocked = ToolFacts {
        control: Control::Blocked,
        ..external("gmail_send")
    };
    let pull_request = ToolFacts {
        ceiling: Some(Class::Internal),
        ..external("github_create_pr")
    };
    let tools = [
        source("search_email"),
        external("web_search"),
        external("slack_post"),
        pull_request,
        blocked,
    ];
    ControlList::new(tools.map(Tool::declared)).unwrap()
}
