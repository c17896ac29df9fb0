//! A gateway that runs beside the demo.

use tidegate_core::{Ident, Role};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Client;
use crate::commands::token::issue;
use crate::config::Config;
use crate::failure::Failure;
use crate::wiring::Gateway;

/// A gateway that serves until it is stopped.
pub(super) struct Running {
    address: String,
    token: String,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), Failure>>,
}

impl Running {
    /// Starts one, with a token for the demo's agent.
    pub(super) async fn start(config: &Config) -> Result<Self, Failure> {
        let gateway = Gateway::open(config).await?;
        let principal = Ident::parse("demo").map_err(Failure::environment)?;
        let agent = Ident::parse("assistant").map_err(Failure::environment)?;
        let token = issue(&*gateway.store, Role::Agent, principal, Some(agent))
            .await?
            .text;
        let address = format!("http://{}", gateway.address());
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            // A sender that is gone is a demo that is over.
            let _ = stopped.await;
        };
        let serving = tokio::spawn(gateway.serve(stopped));
        Ok(Self {
            address,
            token,
            stop,
            serving,
        })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The demo's agent, speaking to this gateway.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        Client::new(&self.address, &self.token)
    }

    /// Stops it as SIGTERM would.
    pub(super) async fn stop(self) -> Result<(), Failure> {
        let _ = self.stop.send(());
        self.serving
            .await
            .map_err(|error| Failure::environment(format_args!("the gateway failed: {error}")))?
    }
}
