//! The way out: a proxy through which what runs in a session reaches the network.
//!
//! It speaks HTTP/1.1: requests with an absolute `http://` URL, and CONNECT. Every request is read strictly (`head`), its
//! session is known by a credential or by the listener it came in at, and the engine decides; the proxy then connects to
//! the very addresses that were checked (`resolve`). What runs through a tunnel must be TLS that names the same host
//! (`hello`). A connection lives only as long as its session may have it.

mod answer;
mod asked;
mod authority;
mod forward;
mod head;
mod hello;
mod intercept;
mod places;
mod relay;
mod resolve;
mod tunnel;
mod wire;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::Fault;
use tidegate_engine::Engine;
use tidegate_engine::egress::{Destinations, Egress, EgressKey, EgressSession, Target};
use tidegate_store::TokenStore;
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::task::JoinSet;

pub use authority::{Authority, AuthorityError};
pub use intercept::{Interception, NoRoots};
pub use resolve::{Addresses, Resolve, SystemResolver};

use answer::Refused;
use asked::Asked;
use head::Head;
use places::Places;
use wire::{Listener, Wire, finish};

/// How much the proxy takes on.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The largest head of a request, in bytes.
    pub head_bytes: usize,
    /// The largest body that is looked into, in bytes.
    pub body_bytes: usize,
    /// The most connections at once.
    pub connections: usize,
    /// The most connections of one session at once.
    pub session_connections: usize,
    /// How long a client may take for a head, a body or the first words of TLS.
    pub request_timeout: Duration,
    /// How long to wait for a name or a connection.
    pub connect_timeout: Duration,
    /// How long to wait for the head of an answer.
    pub answer_timeout: Duration,
}

impl Bounds {
    /// What serves when nothing is configured.
    pub const STANDARD: Self = Self {
        head_bytes: 16 * 1024,
        body_bytes: 1024 * 1024,
        connections: 1_024,
        session_connections: 128,
        request_timeout: Duration::from_secs(10),
        connect_timeout: Duration::from_secs(10),
        answer_timeout: Duration::from_secs(120),
    };
}

/// What a proxy is told.
pub struct Settings {
    /// Where connections may lead.
    pub destinations: Destinations,
    /// The key of the credentials.
    pub key: EgressKey,
    /// Who holds which token: a credential is good for as long as the token it was given to. Without them none is.
    pub tokens: Option<Arc<dyn TokenStore>>,
    /// How much it takes on.
    pub bounds: Bounds,
    /// Where the gateway itself listens; no connection leads there.
    pub own: Vec<SocketAddr>,
    /// Who knows where names lead.
    pub resolver: Arc<dyn Resolve>,
    /// How tunnels are opened, for destinations that ask to be looked into. Without it those are refused.
    pub interception: Option<Interception>,
}

/// The proxy. Clones are the same proxy.
#[derive(Clone)]
pub struct Proxy(Arc<Inner>);

struct Inner {
    egress: Arc<Egress>,
    bounds: Bounds,
    own: Vec<SocketAddr>,
    resolver: Arc<dyn Resolve>,
    interception: Option<Interception>,
    places: Places,
}

impl Proxy {
    /// A proxy for the sessions of an engine.
    #[must_use]
    pub fn new(engine: Arc<Engine>, settings: Settings) -> Self {
        let Settings {
            destinations,
            key,
            tokens,
            bounds,
            own,
            resolver,
            interception,
        } = settings;
        let places = Places::new(bounds.connections, bounds.session_connections);
        Self(Arc::new(Inner {
            egress: Arc::new(Egress::new(engine, destinations, key, tokens)),
            bounds,
            own,
            resolver,
            interception,
            places,
        }))
    }

    /// The use cases behind it: credentials, and sessions for [`Proxy::serve_unix`].
    #[must_use]
    pub fn egress(&self) -> &Arc<Egress> {
        &self.0.egress
    }

    /// Serves clients that show a session's credential, until `stop` resolves; then every connection is cut.
    pub async fn serve_tcp(&self, listener: TcpListener, stop: impl Future<Output = ()> + Send) {
        self.serve(Listener::Tcp(listener), None, stop).await;
    }

    /// Serves one session's clients, known by the listener they come in at, until `stop` resolves; then every connection is
    /// cut. Whoever can connect to it is the session: keep it where nobody else can.
    pub async fn serve_bound(
        &self,
        listener: TcpListener,
        bound: EgressSession,
        stop: impl Future<Output = ()> + Send,
    ) {
        self.serve(Listener::Tcp(listener), Some(bound), stop).await;
    }

    /// Serves one session's clients, known by the socket they come in at, until `stop` resolves; then every connection is
    /// cut. Whoever can open the socket is the session: keep it where nobody else can.
    pub async fn serve_unix(
        &self,
        listener: UnixListener,
        bound: EgressSession,
        stop: impl Future<Output = ()> + Send,
    ) {
        self.serve(Listener::Unix(listener), Some(bound), stop).await;
    }

    /// Serves one connection of a session that somebody else accepted.
    pub async fn serve_stream(&self, stream: TcpStream, bound: EgressSession) {
        let wire = Wire::Tcp(stream);
        match self.0.places.any() {
            Some(_place) => self.0.connection(wire, Some(bound)).await,
            None => finish(wire, &Refused::busy().bytes()).await,
        }
    }

    async fn serve(
        &self,
        listener: Listener,
        bound: Option<EgressSession>,
        stop: impl Future<Output = ()> + Send,
    ) {
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => return,
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            let Ok(wire) = accepted else {
                // No file left, most likely: one comes free before long.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let Some(place) = self.0.places.any() else {
                connections.spawn(async { finish(wire, &Refused::busy().bytes()).await });
                continue;
            };
            let (inner, bound) = (Arc::clone(&self.0), bound.clone());
            connections.spawn(async move {
                inner.connection(wire, bound).await;
                drop(place);
            });
        }
    }
}

impl Inner {
    /// One connection carries one request.
    async fn connection(&self, mut wire: Wire, bound: Option<EgressSession>) {
        let read = head::read(&mut wire, self.bounds.head_bytes, self.bounds.request_timeout);
        let head = match read.await {
            Ok(Some(head)) => head,
            Ok(None) => return,
            Err(fault) => return self.refuse(wire, bound.as_ref(), None, fault).await,
        };
        let asked = Asked::read(&head);
        let Some(session) = self.session(bound, &head).await else {
            let target = match &asked {
                Ok(Asked::Tunnel(target) | Asked::Request { target, .. }) => Some(target),
                Err((target, _)) => target.as_ref(),
            };
            return self.refuse(wire, None, target, Fault::NoCredential).await;
        };
        let asked = match asked {
            Ok(asked) => asked,
            Err((target, fault)) => return self.refuse(wire, Some(&session), target.as_ref(), fault).await,
        };
        let Some(_place) = self.places.of(session.id()) else {
            return self
                .refuse(wire, Some(&session), None, Fault::TooManyConnections)
                .await;
        };
        match asked {
            Asked::Tunnel(target) => self.tunnel(wire, head, &session, &target).await,
            Asked::Request { target, path } => self.forward(wire, head, &session, &target, &path).await,
        }
    }

    async fn session(&self, bound: Option<EgressSession>, head: &Head) -> Option<EgressSession> {
        match bound {
            Some(bound) => Some(bound),
            None => {
                let (id, password) = asked::credential(head)?;
                self.egress.known(&id, &password).await.ok()
            }
        }
    }

    async fn refuse(&self, wire: Wire, by: Option<&EgressSession>, target: Option<&Target>, fault: Fault) {
        let refused = self.refused(by, target, fault).await;
        finish(wire, &refused.bytes()).await;
    }

    async fn refused(&self, by: Option<&EgressSession>, target: Option<&Target>, fault: Fault) -> Refused {
        match self.egress.refuse(by, target, fault).await {
            Ok(refusal) => Refused::by(&refusal),
            Err(error) => Refused::unjudged(error),
        }
    }

    /// Where a target leads, once it is known that the session may connect to it.
    async fn way(&self, target: &Target) -> Result<resolve::Route, Fault> {
        let destination = self.egress.destination(&target.host);
        let timeout = self.bounds.connect_timeout;
        resolve::find(&*self.resolver, &self.own, target, destination, timeout).await
    }
}
