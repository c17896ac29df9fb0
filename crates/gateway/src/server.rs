//! Listening within bounds, and stopping without cutting anyone off.

mod onward;
mod patient;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::Limits;
use onward::Onward;
use patient::Patient;

/// How long nothing is accepted after the system refused to, for want of files or memory.
const RECOVERY: Duration = Duration::from_millis(200);

/// How many are told at once that there is no place for them; the rest is cut off.
const REFUSED_AT_ONCE: usize = 32;

/// How long somebody who is turned away has for reading why.
const REFUSAL: Duration = Duration::from_secs(1);

/// What somebody is told for whom there is no place.
const FULL: &str = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nconnection: close\r\n\r\n\
    {\"type\":\"urn:tidegate:problem:overloaded\",\"title\":\"Busy\",\"status\":503,\
    \"detail\":\"too many connections are open; nothing was allowed. Try again later, or raise limits.connections\"}\n";

/// A bound gateway that is not serving yet.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

/// Why a gateway does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be had.
    #[error(
        "cannot listen on {address}: {source}; name another address with --listen or `listen` in tidegate.toml"
    )]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
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

    /// Serves until `stop` resolves, then takes no new connection and waits up to `limits.drain` for requests under way.
    /// Streams do not end by themselves, so they are cut after that. When it is done nothing of a connection is left.
    pub async fn serve(self, routes: Router, stop: impl Future<Output = ()> + Send, limits: Limits) {
        let mut connections = Connections::new(routes, &limits);
        let mut stop = pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = &mut stop => break,
            };
            match accepted {
                Ok((stream, _)) => connections.take(stream),
                // Whoever left before being let in is nobody's trouble; for want of files or memory, what ends makes room.
                Err(error) if is_of_the_client(&error) => {}
                Err(error) => {
                    tracing::error!(kind = %error.kind(), "no connection can be accepted");
                    tokio::time::sleep(RECOVERY).await;
                }
            }
        }
        drop(self.listener);
        connections.end(limits.drain).await;
    }
}

fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

/// The connections that are open, each in its place.
struct Connections {
    routes: Router,
    protocol: http1::Builder,
    /// How long an answer waits for somebody to read it.
    patience: Duration,
    places: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    under_way: GracefulShutdown,
    tasks: JoinSet<()>,
}

impl Connections {
    fn new(routes: Router, limits: &Limits) -> Self {
        let mut protocol = http1::Builder::new();
        // INVARIANT (nothing without bound): a connection on which no request is under way does not stay for long, whether it
        // sends nothing, or a head that never ends; nor does one that reads nothing of its answers (`patient`).
        protocol.timer(TokioTimer::new()).header_read_timeout(limits.idle);
        Self {
            routes,
            protocol,
            patience: limits.idle,
            places: Arc::new(Semaphore::new(limits.connections)),
            refusals: Arc::new(Semaphore::new(REFUSED_AT_ONCE)),
            under_way: GracefulShutdown::new(),
            tasks: JoinSet::new(),
        }
    }

    fn take(&mut self, stream: TcpStream) {
        // What has ended is let go of.
        while self.tasks.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            self.turn_away(stream);
            return;
        };
        // Answers are small and complete: waiting to fill a packet only adds delay.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(self.routes.clone());
        let stream = TokioIo::new(Patient::new(stream, self.patience));
        let connection = self.protocol.serve_connection(stream, service);
        let connection = self.under_way.watch(connection);
        self.tasks.spawn(Onward::new(async move {
            // A client that breaks off has nobody left to be told.
            let _ = connection.await;
            drop(place);
        }));
    }

    /// Waits for requests under way, for so long, and cuts what is left.
    async fn end(self, drain: Duration) {
        let Self {
            under_way, mut tasks, ..
        } = self;
        let _ = tokio::time::timeout(drain, under_way.shutdown()).await;
        tasks.shutdown().await;
    }

    /// Says why there is no place, to as many as can be told without taking more than a few places for it.
    fn turn_away(&mut self, mut stream: TcpStream) {
        let Ok(place) = Arc::clone(&self.refusals).try_acquire_owned() else {
            return;
        };
        self.tasks.spawn(async move {
            let telling = async {
                // An answer to nothing confuses clients, and closing over what was sent would take the answer back.
                let mut sent = [0; 1024];
                let _begun = stream.read(&mut sent).await?;
                stream.write_all(FULL.as_bytes()).await?;
                stream.shutdown().await?;
                while stream.read(&mut sent).await? > 0 {}
                Ok::<_, io::Error>(())
            };
            let _ = tokio::time::timeout(REFUSAL, telling).await;
            drop(place);
        });
    }
}
