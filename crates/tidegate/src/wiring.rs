//! From a checked configuration to a gateway that serves. The only place where the parts are put together, so `serve` and
//! `demo` run the very same thing.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use tidegate_authority::OpenFga;
use tidegate_core::{Ident, Moment};
use tidegate_engine::{
    Caller, Engine, OriginKey, Origins, Parts, PooledRecord, Provenance, SessionBounds, last_policy,
};
use tidegate_gateway::egress::Proxy;
use tidegate_gateway::mcp::{Hosts, Mcp, Pins, Reach, Shell, Upstream};
use tidegate_gateway::telemetry::{DecisionLog, LogTarget, Metrics, Telemetry};
use tidegate_gateway::webhook::Webhook;
use tidegate_gateway::{App, Connectors, Limits, Server, router};
use tidegate_ledger::vault::Retention;
use tidegate_ledger::{Ledger, OpenError, Options, PublicDigest, Reader};
use tidegate_store::Mirror;
use tokio::net::TcpListener;

use crate::authority;
use crate::config::{self, Config};
#[cfg(target_os = "linux")]
use crate::confine::SandboxShell;
use crate::connect;
use crate::console;
use crate::context;
use crate::descriptors::room_for_connections;
use crate::egress;
use crate::failure::Failure;
use crate::gates;
use crate::model;
use crate::state::{State, claim_record, ledger_name, open_store};
use crate::terminal::note;
use crate::vault::open_vault;

/// The file in the data directory that holds the key under which values are remembered.
const ORIGIN_KEY_FILE: &str = "origin.key";

/// How often evidence is looked through for what has outlived its retention.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(3_600);

/// A gateway that has its address and its state, and is about to serve.
pub(crate) struct Gateway {
    /// Where tokens are kept.
    pub(crate) store: Arc<dyn State>,
    engine: Arc<Engine>,
    server: Server,
    routes: Router,
    limits: Limits,
    retention: Retention,
    webhook: Option<Webhook>,
    exit: Option<(Proxy, TcpListener)>,
}

impl Gateway {
    /// Opens the state, takes the address, and records that the gateway starts.
    pub(crate) async fn open(config: &Config) -> Result<Self, Failure> {
        let webhook = gates::webhook(&config.gates)?;
        let store = open_store(config).await?;
        let metrics = Arc::new(Metrics::new());
        let log = DecisionLog::open(&config.telemetry.decision_log)
            .map_err(|error| Failure::environment(format_args!("cannot open the decision log: {error}")))?;
        let telemetry = Arc::new(Telemetry::new(Arc::clone(&metrics), log));
        let (provenance, previous) = open_record(config)?;
        claim_record(&*store, &provenance).await?;
        let connectors = connect::open(config).await?;
        let engine = engine(config, &connectors, Arc::clone(&store), provenance, telemetry)?;
        let engine = Arc::new(with_authority(with_model(engine, config)?, config)?);
        let connectors = connect::trusted(connectors, &engine, config).await?;
        let limits = Limits {
            connections: room_for_connections(config),
            ..config.limits.clone()
        };
        let mut app = App::new(
            Arc::clone(&engine),
            Arc::clone(&store) as _,
            metrics,
            limits.clone(),
        );
        app = match &config.console {
            Some(configured) => app.with_console(console::options(configured)?),
            None => app.without_console(),
        };
        if !config.servers.is_empty() || !connectors.is_empty() || config.sandbox.enabled {
            app = app.with_mcp(mcp(config, &engine, &connectors)?);
        }
        app = app.with_connectors(Arc::clone(&connectors));
        let server = Server::bind(config.listen).await.map_err(Failure::environment)?;
        let exit = egress::open(config, &engine, Arc::clone(&store) as _, server.address()).await?;
        if let Some((proxy, listener)) = &exit {
            let address = listener.local_addr().map_err(Failure::environment)?;
            app = app.with_egress(proxy, address);
        }
        engine.started(previous).await.map_err(Failure::environment)?;
        engine.tidy_up_ended().await.map_err(Failure::environment)?;
        engine.end_left_gates().await.map_err(Failure::environment)?;
        connect::open_reviews(&connectors, &engine, config).await;
        Ok(Self {
            store,
            engine,
            server,
            routes: router(app),
            limits,
            retention: config.retention.clone(),
            webhook,
            exit,
        })
    }

    /// Where its egress proxy listens, if it has one.
    pub(crate) fn exit(&self) -> Option<SocketAddr> {
        let (_, listener) = self.exit.as_ref()?;
        listener.local_addr().ok()
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Serves until told to stop, lets requests under way finish, and records that it stopped in order.
    pub(crate) async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<(), Failure> {
        let Self {
            server,
            engine,
            routes,
            limits,
            retention,
            webhook,
            exit,
            ..
        } = self;
        let expiring = tokio::spawn(keep_expiring(Arc::clone(&engine), retention));
        let closing = tokio::spawn(gates::keep(Arc::clone(&engine), webhook));
        let following = follow_changes(&engine);
        let publishing = keep_publishing(&engine);
        let leaving = tokio::spawn(async move {
            if let Some((proxy, listener)) = exit {
                proxy.serve_tcp(listener, std::future::pending()).await;
            }
        });
        server.serve(routes, stop, limits).await;
        // Every connection is cut with it, before the record says that the gateway stopped. Whoever waits for that may open the
        // same state at once, so nothing is left behind that holds it.
        for task in [leaving, expiring, closing, following, publishing] {
            task.abort();
            let _ = task.await;
        }
        engine
            .stopped("asked to stop")
            .await
            .map_err(Failure::environment)
    }
}

/// A gateway for one client on this process's standard streams.
pub(crate) struct LocalGateway {
    store: Arc<dyn State>,
    engine: Arc<Engine>,
    mcp: Arc<Mcp>,
    webhook: Option<Webhook>,
}

impl LocalGateway {
    /// Opens the state beside whatever other gateways use it.
    pub(crate) async fn open(config: &Config) -> Result<Self, Failure> {
        let webhook = gates::webhook(&config.gates)?;
        let (engine, store, connectors) = local_engine(config).await?;
        let connectors = connect::trusted(connectors, &engine, config).await?;
        connect::open_reviews(&connectors, &engine, config).await;
        let mcp = mcp(config, &engine, &connectors)?;
        Ok(Self {
            store,
            engine,
            mcp,
            webhook,
        })
    }

    /// Serves until the client leaves.
    pub(crate) async fn serve(self, caller: Caller, session: Option<Ident>) -> Result<(), Failure> {
        let Self {
            store,
            engine,
            mcp,
            webhook,
        } = self;
        if let Some(id) = &session
            && store.current(id).await.map_err(Failure::environment)?.is_none()
        {
            note(format_args!(
                "there was no session {id}: it is opened now, and has seen nothing"
            ));
        }
        let closing = tokio::spawn(gates::keep(Arc::clone(&engine), webhook));
        let following = follow_changes(&engine);
        let publishing = keep_publishing(&engine);
        let served = mcp.serve_stdio(caller, session).await;
        closing.abort();
        // Whoever asked is gone, and nobody would hear the answer.
        engine.end_left_gates().await.map_err(Failure::environment)?;
        following.abort();
        publishing.abort();
        engine
            .stopped("the client left")
            .await
            .map_err(Failure::environment)?;
        served.map_err(Failure::environment)
    }
}

/// An engine beside whatever gateways use the same state. Sessions are shared with them; the record is this process's own,
/// since one process writes to a record at a time.
pub(crate) async fn local_engine(
    config: &Config,
) -> Result<(Arc<Engine>, Arc<dyn State>, Connectors), Failure> {
    let store = open_store(config).await?;
    let log = DecisionLog::open(&config.telemetry.decision_log)
        .map_err(|error| Failure::environment(format_args!("cannot open the decision log: {error}")))?;
    let telemetry = Arc::new(Telemetry::new(Arc::new(Metrics::new()), log));
    let (provenance, previous) = open_free_record(config)?;
    claim_record(&*store, &provenance).await?;
    let connectors = connect::open(config).await?;
    let engine = engine(config, &connectors, Arc::clone(&store), provenance, telemetry)?;
    let engine = Arc::new(with_authority(with_model(engine, config)?, config)?);
    engine.started(previous).await.map_err(Failure::environment)?;
    engine.end_left_gates().await.map_err(Failure::environment)?;
    Ok((engine, store, connectors))
}

/// The gateway to the configured MCP servers.
fn mcp(config: &Config, engine: &Arc<Engine>, connectors: &Arc<Connectors>) -> Result<Arc<Mcp>, Failure> {
    let upstream = |server: &config::Server| Upstream {
        name: server.name.clone(),
        bare_names: server.bare_names,
        reach: match server.reach.clone() {
            config::Reach::Command { command, args, env } => Reach::Command { command, args, env },
            config::Reach::Url {
                url,
                headers_env,
                ca_file,
            } => Reach::Url {
                url: url.into(),
                headers_env,
                ca_file,
            },
        },
    };
    let servers = config.servers.iter().map(upstream).collect();
    let pins = Pins::in_directory(&config.data_dir);
    let mut options = config.mcp.clone();
    if options.hosts == Hosts::Named(Vec::new()) && !config.listen.ip().is_loopback() {
        options.hosts = Hosts::Any;
    }
    let mcp = Mcp::beside(Arc::clone(connectors), Arc::clone(engine), servers, pins, options);
    if config.sandbox.enabled {
        mcp.offer_shell(shell(config, engine)?);
    }
    Ok(mcp)
}

/// The shell for agents.
#[cfg(target_os = "linux")]
fn shell(config: &Config, engine: &Arc<Engine>) -> Result<Arc<dyn Shell>, Failure> {
    let proxy = egress::proxy_of_bound(config, engine, vec![config.listen])?;
    Ok(Arc::new(SandboxShell::open(config, engine, proxy)?))
}

#[cfg(not(target_os = "linux"))]
fn shell(_: &Config, _: &Arc<Engine>) -> Result<Arc<dyn Shell>, Failure> {
    Err(Failure::environment(
        "sandbox.enabled: commands are isolated on Linux alone",
    ))
}

/// Destroys evidence that has outlived its retention, at once and then every so often. What could not be destroyed or
/// recorded is tried again; serving goes on, because keeping evidence longer leaks nothing.
async fn keep_expiring(engine: Arc<Engine>, retention: Retention) {
    let mut ticks = tokio::time::interval(EXPIRY_INTERVAL);
    loop {
        ticks.tick().await;
        if let Err(error) = engine.expire_evidence(&retention).await {
            note(format_args!(
                "evidence past its retention could not be destroyed: {error}"
            ));
        }
    }
}

/// Hears of what other gateways do to the sessions that are watched here.
fn follow_changes(engine: &Arc<Engine>) -> tokio::task::JoinHandle<()> {
    let engine = Arc::clone(engine);
    tokio::spawn(async move { engine.follow_changes().await })
}

/// Shows auditors of other gateways what is recorded here.
fn keep_publishing(engine: &Arc<Engine>) -> tokio::task::JoinHandle<()> {
    let engine = Arc::clone(engine);
    tokio::spawn(async move { engine.keep_publishing().await })
}

/// The engine on a record that no gateway is using, for a command that changes something on the record.
pub(crate) async fn lone_engine(config: &Config, store: Arc<dyn State>) -> Result<Engine, Failure> {
    let log = DecisionLog::open(&LogTarget::Off).map_err(Failure::environment)?;
    let telemetry = Arc::new(Telemetry::new(Arc::new(Metrics::new()), log));
    let (provenance, _) = open_record(config)?;
    claim_record(&*store, &provenance).await?;
    engine(config, &Connectors::default(), store, provenance, telemetry)
}

/// The wall clock.
pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The record of a data directory with the evidence behind it, and the policy it last saw. One process writes to it
/// at a time.
fn open_record(config: &Config) -> Result<(Provenance, Option<PublicDigest>), Failure> {
    open_record_in(config, &config.data_dir.join("ledger"))?.ok_or_else(|| {
        Failure::environment(format_args!(
            "a gateway is running on the state in {}: stop it, or use another --data-dir; \
             a reset can go through it, with --gateway and an administrator's token",
            config.data_dir.display()
        ))
    })
}

/// The most gateways on standard streams at once on one data directory.
const MOST_LOCAL: usize = 256;

/// A record that no other process writes to.
fn open_free_record(config: &Config) -> Result<(Provenance, Option<PublicDigest>), Failure> {
    let data_dir = &config.data_dir;
    for place in 1..=MOST_LOCAL {
        let directory = data_dir.join("ledgers").join(format!("mcp-{place}"));
        if let Some(opened) = open_record_in(config, &directory)? {
            return Ok(opened);
        }
    }
    Err(Failure::environment(format_args!(
        "{MOST_LOCAL} gateways are running on the state in {}",
        data_dir.display()
    )))
}

/// A record and the evidence behind it; `None` while another process writes to it.
fn open_record_in(
    config: &Config,
    directory: &Path,
) -> Result<Option<(Provenance, Option<PublicDigest>)>, Failure> {
    let shown = config.data_dir.display();
    let failed =
        |error: &dyn std::fmt::Display| Failure::environment(format_args!("record in {shown}: {error}"));
    let ledger = match Ledger::open(directory, Options::new(directory)) {
        Ok(ledger) => ledger,
        Err(OpenError::InUse) => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    let reader = Reader::open(directory).map_err(|error| failed(&error))?;
    let vault = open_vault(config, &ledger_name(&ledger)?)?;
    let previous = last_policy(&reader).map_err(|error| failed(&error))?;
    Ok(Some((Provenance::new(ledger, reader, vault), previous)))
}

/// The engine with the model that the configuration names, for whoever lets content in.
fn with_model(engine: Engine, config: &Config) -> Result<Engine, Failure> {
    Ok(match &config.detect.model {
        Some(configured) => engine.with_model(model::open(configured)?),
        None => engine,
    })
}

/// The engine under the authority that the configuration names. It need not answer yet: until it does, calls are denied.
fn with_authority(engine: Engine, config: &Config) -> Result<Engine, Failure> {
    Ok(match &config.openfga {
        Some(configured) => {
            let settings = authority::settings(configured)?;
            engine.with_authority(Arc::new(OpenFga::new(settings)))
        }
        None => engine,
    })
}

fn engine(
    config: &Config,
    connectors: &Connectors,
    store: Arc<dyn State>,
    provenance: Provenance,
    observer: Arc<Telemetry>,
) -> Result<Engine, Failure> {
    let mirror = config.private_data_dir.as_ref().map(Mirror::new).transpose();
    let mirror =
        mirror.map_err(|error| Failure::environment(format_args!("cannot use private_data_dir: {error}")))?;
    let policy = connect::policy(config, connectors).map_err(Failure::usage)?;
    let (detector, exits) = config.detect.build().map_err(Failure::usage)?;
    let key = match &config.store {
        // What several machines remember, they remember under one key.
        config::Store::Shared { .. } => provenance.common_origin_key(),
        config::Store::Embedded => OriginKey::in_file(&config.data_dir.join(ORIGIN_KEY_FILE))
            .map_err(|error| Failure::environment(format_args!("{ORIGIN_KEY_FILE}: {error}")))?,
    };
    let annex = Arc::clone(&store).annex();
    let kept_gates = Arc::clone(&store).gates();
    let kept_reviews = Arc::clone(&store).reviews();
    let pooled = match store.pooled_index() {
        Some(index) => Some(PooledRecord::new(index, ledger_name(provenance.ledger())?)),
        None => None,
    };
    let engine = Engine::new(Parts {
        store,
        policy,
        mirror,
        provenance,
        detector,
        exits,
        observer,
    });
    let mut engine = engine
        .with_context(context::rules(config)?)
        .with_session_bounds(SessionBounds {
            most: config.limits.sessions,
            per_hour: config.limits.sessions_per_hour,
        });
    if let Some(pooled) = pooled {
        engine = engine.with_pooled_record(pooled);
    }
    if let Some(gates) = kept_gates {
        engine = engine
            .with_gates(gates, &key, config.gates.rules.clone())
            .map_err(Failure::environment)?;
    }
    if let Some(reviews) = kept_reviews {
        engine = engine.with_reviews(reviews);
    }
    Ok(match annex {
        Some(annex) => engine
            .with_origins(Origins::new(annex.clone(), key, Origins::BOUNDS))
            .with_runs(annex, config.runs.clone()),
        None => engine,
    })
}
