//! `tidegate mcp`: the gateway for one MCP client, on standard streams.

use clap::Args;
use tidegate_core::{Ident, Role};
use tidegate_engine::Caller;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::Config;
use crate::failure::Failure;
use crate::source::Places;
use crate::wiring::LocalGateway;

/// Stand between one MCP client and its servers, on standard input and output
///
/// For a client that starts its servers itself: name this command in the client's configuration and the servers in
/// tidegate.toml. Each run is a session of its own, unless --session says which to go on with. `tidegate serve` offers the
/// same over HTTP, at /mcp.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tidegate mcp --config /home/me/tidegate.toml
  tidegate wrap --client claude-code        have a client's configuration rewritten to this command")]
pub(crate) struct Mcp {
    #[command(flatten)]
    places: Places,
    /// Go on with this session, with the label it has; one that is not there is opened [default: a new session]
    #[arg(long, value_name = "ID", value_parser = Ident::parse)]
    session: Option<Ident>,
    /// Who the session belongs to
    #[arg(long, value_name = "NAME", value_parser = Ident::parse, default_value = "local")]
    principal: Ident,
    /// Which agent it belongs to
    #[arg(long, value_name = "NAME", value_parser = Ident::parse, default_value = "mcp")]
    agent: Ident,
    /// Believe the client when it says, in `_meta` as tidegate/operatorInput, what its user typed
    #[arg(long)]
    client_speaks_for_user: bool,
}

impl Mcp {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let config = self.places.load(None)?;
        start_logging()?;
        let runtime = tokio::runtime::Runtime::new()
            .map_err(|error| Failure::environment(format_args!("cannot start: {error}")))?;
        let done = runtime.block_on(self.serve(&config));
        // A read of standard input cannot be taken back; the client that closed it waits for this process.
        runtime.shutdown_background();
        done
    }

    async fn serve(self, config: &Config) -> Result<(), Failure> {
        let caller = Caller {
            principal: self.principal,
            agent: Some(self.agent),
            role: if self.client_speaks_for_user {
                Role::Connector
            } else {
                Role::Agent
            },
            token_id: Ident::parse("stdio").map_err(Failure::environment)?,
        };
        let gateway = LocalGateway::open(config).await?;
        gateway.serve(caller, self.session).await
    }
}

/// What the program and the servers say goes to standard error, where clients keep it.
fn start_logging() -> Result<(), Failure> {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_filter(LevelFilter::INFO);
    let started = tracing_subscriber::registry().with(lines).try_init();
    started.map_err(Failure::environment)
}
