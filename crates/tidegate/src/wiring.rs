//! From a checked configuration to a gateway that serves. The only place where the parts are put together, so `serve` and
//! `demo` run the very same thing.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use tidegate_core::Moment;
use tidegate_engine::{Engine, Policy, PolicyVersion};
use tidegate_gateway::telemetry::{DecisionLog, LogTarget, Metrics, Telemetry};
use tidegate_gateway::{App, Server, router};
use tidegate_store::{Mirror, SqliteOptions, SqliteStore};

use crate::config::Config;
use crate::failure::Failure;

/// The file in the data directory that holds sessions and tokens.
const STATE_FILE: &str = "tidegate.db";

/// A gateway that has its address and its state, and is about to serve.
pub(crate) struct Gateway {
    /// Where tokens are kept.
    pub(crate) store: Arc<SqliteStore>,
    server: Server,
    routes: Router,
    drain: Duration,
}

impl Gateway {
    /// Opens the state and takes the address.
    pub(crate) async fn open(config: &Config) -> Result<Self, Failure> {
        let store = open_store(&config.data_dir)?;
        let metrics = Arc::new(Metrics::new());
        let log = DecisionLog::open(&config.telemetry.decision_log)
            .map_err(|error| Failure::environment(format_args!("cannot open the decision log: {error}")))?;
        let telemetry = Arc::new(Telemetry::new(Arc::clone(&metrics), log));
        let engine = Arc::new(engine(config, Arc::clone(&store), telemetry)?);
        let app = App::new(engine, store.clone(), metrics, config.limits.clone());
        let server = Server::bind(config.listen).await.map_err(Failure::environment)?;
        Ok(Self {
            store,
            server,
            routes: router(app),
            drain: config.limits.drain,
        })
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Serves until told to stop, then lets requests under way finish.
    pub(crate) async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), Failure> {
        let Self {
            server,
            routes,
            drain,
            ..
        } = self;
        server
            .serve(routes, stop, drain)
            .await
            .map_err(Failure::environment)
    }
}

/// The engine on the state of a configuration, for a command that asks it directly.
pub(crate) fn quiet_engine(config: &Config) -> Result<(Engine, Arc<SqliteStore>), Failure> {
    let store = open_store(&config.data_dir)?;
    let log = DecisionLog::open(&LogTarget::Off).map_err(Failure::environment)?;
    let telemetry = Arc::new(Telemetry::new(Arc::new(Metrics::new()), log));
    let engine = engine(config, Arc::clone(&store), telemetry)?;
    Ok((engine, store))
}

/// The sessions and tokens of a data directory.
pub(crate) fn open_store(data_dir: &Path) -> Result<Arc<SqliteStore>, Failure> {
    let store = SqliteStore::open(data_dir.join(STATE_FILE), SqliteOptions::default());
    let shown = data_dir.display();
    store
        .map(Arc::new)
        .map_err(|error| Failure::environment(format_args!("state in {shown}: {error}")))
}

/// The wall clock.
pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn engine(config: &Config, store: Arc<SqliteStore>, telemetry: Arc<Telemetry>) -> Result<Engine, Failure> {
    let policy = Policy {
        control: config.tools.control.clone(),
        version: PolicyVersion(config.policy_version.clone()),
    };
    let mirror = config.private_data_dir.as_ref().map(Mirror::new).transpose();
    let mirror =
        mirror.map_err(|error| Failure::environment(format_args!("cannot use private_data_dir: {error}")))?;
    Ok(Engine::new(store, policy, mirror, telemetry))
}
