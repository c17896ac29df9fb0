//! `tidegate serve`: the gateway.

use std::net::SocketAddr;

use clap::Args;
use tidegate_core::{Ident, Role};
use tidegate_gateway::telemetry::Traces;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::commands::token::issue;
use crate::config::Config;
use crate::failure::Failure;
use crate::source::Places;
use crate::terminal::{FAINT, HEAD, answer, note, painted};
use crate::wiring::Gateway;

/// Run the gateway
///
/// It prints `listening on http://ADDR:PORT` when it is ready, and a first token when its data directory has none. It stops
/// on Ctrl-C or SIGTERM once the requests under way are answered.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tidegate serve
  tidegate serve --config tidegate.toml --data-dir /var/lib/tidegate
  tidegate serve --listen 127.0.0.1:0        pick a free port")]
pub(crate) struct Serve {
    #[command(flatten)]
    places: Places,
    /// Where to listen; port 0 picks one [default: 127.0.0.1:7413]
    #[arg(long, value_name = "ADDR:PORT", env = "TIDEGATE_LISTEN")]
    listen: Option<SocketAddr>,
}

impl Serve {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let config = self.places.load(self.listen)?;
        // Outside the runtime on both ends: the exporter has a runtime of its own and waits for it when dropped.
        let _traces = start_tracing(&config)?;
        let runtime = tokio::runtime::Runtime::new()
            .map_err(|error| Failure::environment(format_args!("cannot start: {error}")))?;
        runtime.block_on(serve(&config))
    }
}

async fn serve(config: &Config) -> Result<(), Failure> {
    let stop = stop_signal()?;
    let gateway = Gateway::open(config).await?;
    let address = gateway.address();
    introduce(config);
    first_token(&gateway).await?;
    if let Some(exit) = gateway.exit() {
        note(format_args!("egress proxy on http://{exit}"));
    }
    answer(format_args!("listening on http://{address}"))?;
    gateway.serve(stop).await?;
    note("stopped");
    Ok(())
}

fn introduce(config: &Config) {
    let tools = config.policy.control.iter().count();
    let version = &config.policy.version;
    note(painted(
        FAINT,
        format_args!(
            "policy {version} with {tools} tools, state in {}",
            config.data_dir.display()
        ),
    ));
}

/// Whoever starts a gateway for the first time needs a way in.
async fn first_token(gateway: &Gateway) -> Result<(), Failure> {
    let known = gateway.store.tokens().await.map_err(Failure::environment)?;
    if !known.is_empty() {
        return Ok(());
    }
    let principal = Ident::parse("local").map_err(Failure::environment)?;
    let token = issue(&*gateway.store, Role::Agent, principal, None).await?;
    note(format_args!(
        "first token, for an agent of \"local\" (shown once): {}",
        painted(HEAD, token.text)
    ));
    note("more: tidegate token create --role ROLE --principal NAME");
    Ok(())
}

/// Warnings of the program itself on standard error; spans to a collector where one is configured.
fn start_tracing(config: &Config) -> Result<Option<Traces>, Failure> {
    let endpoint = config.telemetry.otlp_endpoint.as_ref();
    let traces = endpoint
        .map(|url| Traces::to(url.as_str()))
        .transpose()
        .map_err(Failure::usage)?;
    let warnings = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_filter(LevelFilter::WARN);
    let spans = traces.as_ref().map(Traces::layer);
    let started = tracing_subscriber::registry()
        .with(spans)
        .with(warnings)
        .try_init();
    started.map_err(Failure::environment)?;
    Ok(traces)
}

/// Resolves when somebody asks the program to stop. Listening starts at once, so a signal during start-up is not lost.
fn stop_signal() -> Result<impl Future<Output = ()> + Send + 'static, Failure> {
    #[cfg(unix)]
    let mut terminate = {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error| Failure::environment(format_args!("cannot listen for signals: {error}"));
        (
            signal(SignalKind::terminate()).map_err(failed)?,
            signal(SignalKind::interrupt()).map_err(failed)?,
        )
    };
    Ok(async move {
        #[cfg(unix)]
        {
            let (terminate, interrupt) = (&mut terminate.0, &mut terminate.1);
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        #[cfg(not(unix))]
        {
            let _ = tokio::signal::ctrl_c().await;
        }
    })
}
