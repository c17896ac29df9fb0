//! Listening, and stopping without cutting anyone off.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A bound gateway that is not serving yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

/// Why a gateway does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// Serving failed.
    #[error("serving failed: {0}")]
    Serve(#[from] std::io::Error),
}

impl Server {
    /// Takes an address; port 0 picks one.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn bind(address: SocketAddr) -> Result<Self, ServeError> {
        let bind = |source| ServeError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` resolves, then takes no new connection and waits up to `drain` for requests under way.
    /// Streams do not end by themselves, so they are cut after that.
    ///
    /// # Errors
    /// When the listener fails.
    pub async fn serve(
        self,
        routes: Router,
        stop: impl Future<Output = ()> + Send + 'static,
        drain: Duration,
    ) -> Result<(), ServeError> {
        let (stopping, mut stopped) = watch::channel(false);
        let signal = async move {
            stop.await;
            let _ = stopping.send(true);
        };
        let listener = self.listener.tap_io(|stream| {
            // Answers are small and complete: waiting to fill a packet only adds delay.
            let _ = stream.set_nodelay(true);
        });
        let serving = axum::serve(listener, routes)
            .with_graceful_shutdown(signal)
            .into_future();
        let deadline = async move {
            let _ = stopped.wait_for(|stopping| *stopping).await;
            tokio::time::sleep(drain).await;
        };
        tokio::select! {
            served = serving => served.map_err(ServeError::from),
            () = deadline => Ok(()),
        }
    }
}
