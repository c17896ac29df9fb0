//! A gateway to measure: a real store in a directory, the engine, and a token.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use tidegate_core::{Class, ControlList, Ident, Moment, Name, Role, Tool, ToolFacts};
use tidegate_detect::exits::Exits;
use tidegate_detect::{Detector, DetectorConfig};
use tidegate_engine::{Caller, Engine, GateRules, OriginKey, Parts, Policy, Provenance, SessionBounds};
use tidegate_gateway::telemetry::{DecisionLog, LogTarget, Metrics, Telemetry};
use tidegate_gateway::{App, Limits, Server, new_token, router};
use tidegate_ledger::vault::{KeySource, Vault};
use tidegate_ledger::{Ledger, Options, Reader};
use tidegate_store::{SessionStore, SqliteOptions, SqliteStore, TokenStore};

/// Whatever goes wrong in a benchmark ends it.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The parts of a gateway.
pub struct Stand<S = SqliteStore> {
    /// The store.
    pub store: Arc<S>,
    /// The engine on it.
    pub engine: Arc<Engine>,
    /// What the API shares.
    pub app: App,
    /// An agent's token.
    pub token: String,
    /// The agent itself.
    pub caller: Caller,
}

impl Stand {
    /// A gateway on an empty store in this directory.
    ///
    /// # Errors
    /// When the store cannot be made.
    pub async fn new(directory: &Path) -> Outcome<Self> {
        let store = SqliteStore::open(directory.join("tidegate.db"), SqliteOptions::default())?;
        Self::on(directory, Arc::new(store)).await
    }

    /// The same, where people can be asked.
    ///
    /// # Errors
    /// When the store cannot be made.
    pub async fn with_gates(directory: &Path) -> Outcome<Self> {
        let store = SqliteStore::open(directory.join("tidegate.db"), SqliteOptions::default())?;
        let store = Arc::new(store);
        let key = OriginKey::in_file(&directory.join("origin.key"))?;
        let gates = Arc::clone(&store);
        let furnish = |engine: Engine| Ok(engine.with_gates(gates, &key, GateRules::STANDARD)?);
        Self::furnished(directory, store, furnish).await
    }
}

impl<S: SessionStore + TokenStore + 'static> Stand<S> {
    /// A gateway on this store, with its record in this directory.
    ///
    /// # Errors
    /// When the record cannot be made, or the store does not answer.
    pub async fn on(directory: &Path, store: Arc<S>) -> Outcome<Self> {
        Self::furnished(directory, store, Ok).await
    }

    async fn furnished(
        directory: &Path,
        store: Arc<S>,
        furnish: impl FnOnce(Engine) -> Outcome<Engine>,
    ) -> Outcome<Self> {
        let metrics = Arc::new(Metrics::new());
        let log = DecisionLog::open(&LogTarget::File(directory.join("decisions.jsonl")))?;
        let observer = Arc::new(Telemetry::new(Arc::clone(&metrics), log));
        let provenance = provenance(directory)?;
        let engine = Engine::new(Parts {
            store: store.clone(),
            policy: policy()?,
            mirror: None,
            provenance,
            detector: Detector::new(&DetectorConfig::default())?,
            exits: Exits::NONE,
            observer,
        });
        // One user opens everything here.
        let engine = engine.with_session_bounds(SessionBounds {
            per_hour: usize::MAX,
            ..SessionBounds::STANDARD
        });
        let engine = Arc::new(furnish(engine)?);
        let token = new_token(
            Role::Agent,
            Ident::parse("alice")?,
            Some(Ident::parse("bot")?),
            Moment(0),
        )?;
        let (principal, agent) = (token.record.principal.clone(), token.record.agent.clone());
        let caller = Caller {
            principal,
            agent,
            role: Role::Agent,
            token_id: token.record.id.clone(),
        };
        store.issue(token.record).await?;
        let app = App::new(Arc::clone(&engine), store.clone(), metrics, Limits::STANDARD);
        Ok(Self {
            store,
            engine,
            app,
            token: token.text,
            caller,
        })
    }

    /// Serves on loopback for the rest of the process.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn serve(&self) -> Outcome<SocketAddr> {
        let server = Server::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = server.address();
        let limits = self.app.limits.clone();
        tokio::spawn(server.serve(router(self.app.clone()), std::future::pending(), limits));
        Ok(address)
    }
}

fn provenance(directory: &Path) -> Outcome<Provenance> {
    let ledger_dir = directory.join("ledger");
    let ledger = Ledger::open(&ledger_dir, Options::new(&ledger_dir))?;
    let key = KeySource::File(directory.join("vault.key"));
    let vault = Vault::open(&directory.join("vault.db"), key, SystemTime::now())?;
    Ok(Provenance::new(ledger, Reader::open(&ledger_dir)?, vault))
}

/// Twenty tools: what a busy agent has.
fn policy() -> Outcome<Policy> {
    let mut tools = Vec::new();
    for index in 0..10 {
        let source = ToolFacts::named(Name::parse(&format!("search_{index}"))?);
        tools.push(Tool::declared(ToolFacts {
            returns: Some(Class::Internal),
            ..source
        }));
        let external = ToolFacts::named(Name::parse(&format!("web_{index}"))?);
        tools.push(Tool::declared(ToolFacts {
            external: true,
            ..external
        }));
    }
    Ok(Policy::new(ControlList::new(tools)?))
}
