//! A real gateway on a real store, listening on loopback, and one token for each role.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part of the stand"
)]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use tidegate_core::{Class, Control, ControlList, Ident, Moment, Name, Role, Tool, ToolFacts};
use tidegate_detect::exits::Exits;
use tidegate_detect::{Detector, DetectorConfig};
use tidegate_engine::{
    ContextRules, Engine, GateRules, Model, OriginKey, Origins, Parts, Policy, Provenance, RunRules,
};
use tidegate_gateway::telemetry::{DecisionLog, LogTarget, Metrics, Telemetry};
use tidegate_gateway::{App, ConsoleOptions, Limits, Server, digest, mcp, new_token, router};
use tidegate_ledger::disk::{Disk, RealDisk};
use tidegate_ledger::vault::{KeySource, Vault};
use tidegate_ledger::{Ledger, Options, Reader};
use tidegate_store::{Mirror, SqliteOptions, SqliteStore, TokenStore};
use tokio::sync::oneshot;

pub struct Stand {
    pub address: SocketAddr,
    pub client: Client,
    pub directory: tempfile::TempDir,
    pub store: Arc<SqliteStore>,
    pub engine: Arc<Engine>,
    _stop: oneshot::Sender<()>,
}

/// What a test wants to be otherwise than usual.
pub struct Setting {
    pub limits: Limits,
    pub sqlite: SqliteOptions,
    pub ledger_disk: Arc<dyn Disk>,
    pub model: Option<Model>,
    pub context: ContextRules,
    pub runs: RunRules,
    pub console: ConsoleOptions,
    pub gates: GateRules,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            limits: Limits::STANDARD,
            sqlite: SqliteOptions::default(),
            ledger_disk: Arc::new(RealDisk),
            model: None,
            context: ContextRules::none(),
            runs: RunRules::STANDARD,
            console: ConsoleOptions::STANDARD,
            gates: GateRules::STANDARD,
        }
    }
}

/// A token's text and who it speaks for.
#[derive(Clone)]
pub struct Holder {
    pub token: String,
    pub role: Role,
}

impl Stand {
    pub async fn start() -> Self {
        Self::start_with(Setting::default()).await
    }

    pub async fn start_with(setting: Setting) -> Self {
        Self::start_mcp(setting, policy(), Vec::new(), mcp::Options::STANDARD).await
    }

    pub async fn start_mcp(
        setting: Setting,
        policy: Policy,
        servers: Vec<mcp::Upstream>,
        options: mcp::Options,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("tidegate.db"), setting.sqlite).unwrap();
        let store = Arc::new(store);
        let limits = setting.limits;
        let metrics = Arc::new(Metrics::new());
        let log = DecisionLog::open(&LogTarget::File(directory.path().join("decisions.jsonl"))).unwrap();
        let telemetry = Arc::new(Telemetry::new(Arc::clone(&metrics), log));
        let engine = Engine::new(Parts {
            store: store.clone(),
            policy,
            mirror: Some(Mirror::new(directory.path().join("mirror")).unwrap()),
            provenance: provenance(directory.path(), setting.ledger_disk),
            detector: Detector::new(&DetectorConfig::default()).unwrap(),
            exits: Exits::NONE,
            observer: telemetry,
        });
        let engine = engine
            .with_context(setting.context)
            .with_runs(store.clone(), setting.runs);
        let key = OriginKey::in_file(&directory.path().join("origin.key")).unwrap();
        let engine = engine.with_gates(store.clone(), &key, setting.gates).unwrap();
        let engine = engine.with_reviews(store.clone());
        let engine = engine.with_origins(Origins::new(store.clone(), key, Origins::BOUNDS));
        let engine = Arc::new(match setting.model {
            Some(model) => engine.with_model(model),
            None => engine,
        });
        let pins = mcp::Pins::in_directory(directory.path());
        let gateway = mcp::Mcp::new(Arc::clone(&engine), servers, pins, options);
        let app = App::new(Arc::clone(&engine), store.clone(), metrics, limits.clone()).with_mcp(gateway);
        let app = app.with_console(setting.console);
        let server = Server::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let stop_signal = async move {
            let _ = stopped.await;
        };
        tokio::spawn(server.serve(router(app), stop_signal, limits));
        Self {
            address,
            client: Client::new(),
            directory,
            store,
            engine,
            _stop: stop,
        }
    }

    pub async fn holder(&self, role: Role, principal: &str, agent: Option<&str>) -> Holder {
        let ident = |text: &str| Ident::parse(text).unwrap();
        let made = new_token(role, ident(principal), agent.map(ident), Moment(0)).unwrap();
        self.store.issue(made.record).await.unwrap();
        Holder {
            token: made.text,
            role,
        }
    }

    /// Takes a token back.
    pub async fn revoke(&self, holder: &Holder) {
        let record = self.store.find(&digest(&holder.token)).await.unwrap().unwrap();
        assert!(self.store.revoke(&record.id, Moment(1)).await.unwrap());
    }

    pub async fn alice(&self) -> Holder {
        self.holder(Role::Agent, "alice", Some("bot")).await
    }

    pub async fn admin(&self) -> Holder {
        self.holder(Role::Admin, "root", None).await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub async fn send(&self, holder: &Holder, method: Method, path: &str, body: Option<Value>) -> Response {
        let mut request = self
            .client
            .request(method, self.url(path))
            .bearer_auth(&holder.token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        request.send().await.unwrap()
    }

    pub async fn get(&self, holder: &Holder, path: &str) -> Value {
        let response = self.send(holder, Method::GET, path, None).await;
        assert!(
            response.status().is_success(),
            "GET {path}: {}",
            response.status()
        );
        response.json().await.unwrap()
    }

    pub async fn post(&self, holder: &Holder, path: &str, body: Value) -> Value {
        let response = self.send(holder, Method::POST, path, Some(body)).await;
        assert!(
            response.status().is_success(),
            "POST {path}: {}",
            response.status()
        );
        response.json().await.unwrap()
    }

    /// A call that must fail with this status and a problem document; gives the document.
    pub async fn refuse(&self, holder: &Holder, path: &str, body: Value, status: StatusCode) -> Value {
        let response = self.send(holder, Method::POST, path, Some(body)).await;
        problem(response, status).await
    }

    pub async fn open(&self, holder: &Holder) -> String {
        let opened = self.post(holder, "/v1/sessions", json!({})).await;
        opened["session_id"].as_str().unwrap().to_owned()
    }
}

/// Checks that a response is a problem document with this status.
pub async fn problem(response: Response, status: StatusCode) -> Value {
    assert_eq!(response.status(), status);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let document: Value = response.json().await.unwrap();
    for field in ["type", "title", "detail"] {
        assert!(
            document[field].as_str().is_some_and(|text| !text.is_empty()),
            "{field} in {document}"
        );
    }
    assert_eq!(document["status"], status.as_u16());
    document
}

pub fn provenance(directory: &Path, disk: Arc<dyn Disk>) -> Provenance {
    let ledger_dir = directory.join("ledger");
    let options = Options {
        disk,
        ..Options::new(&ledger_dir)
    };
    let ledger = Ledger::open(&ledger_dir, options).unwrap();
    let reader = Reader::open(&ledger_dir).unwrap();
    let key = KeySource::File(directory.join("vault.key"));
    let vault = Vault::open(&directory.join("vault.db"), key, SystemTime::now()).unwrap();
    Provenance::new(ledger, reader, vault)
}

pub fn policy() -> Policy {
    let facts = |name: &str| ToolFacts::named(Name::parse(name).unwrap());
    let source = |name, class| {
        Tool::declared(ToolFacts {
            returns: Some(class),
            ..facts(name)
        })
    };
    let external = |name| ToolFacts {
        external: true,
        ..facts(name)
    };
    let control = ControlList::new([
        source("search_email", Class::Internal),
        source("search_docs", Class::Internal),
        source("booking_lookup", Class::Pii),
        source("read_key", Class::Secret),
        Tool::declared(external("web_search")),
        Tool::declared(external("slack_post")),
        Tool::declared(ToolFacts {
            ceiling: Some(Class::Internal),
            ..external("github_create_pr")
        }),
        Tool::declared(ToolFacts {
            control: Control::HumanApproval,
            ceiling: Some(Class::Pii),
            ..facts("gmail_guest_draft")
        }),
    ]);
    Policy::new(control.unwrap())
}
