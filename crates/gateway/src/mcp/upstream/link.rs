//! A server and the conversation with it, begun when it is needed and begun anew when it broke off.
//!
//! A server that fails is left alone for a while that doubles with each failure, so that one that cannot start costs
//! little, and a call meanwhile is answered at once.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use tidegate_engine::Engine;
use tokio::sync::{Mutex, mpsc};

use super::aside::Log;
use super::connection::{Connection, Read, Wire};
use super::http::Exchange;
use super::stdio::Pipe;
use super::{Bounds, Reach, Upstream, UpstreamError};
use crate::mcp::era::{self, Era};
use crate::mcp::message::Envelope;
use crate::mcp::object::{Object, raw};

/// How long a server rests after its first failure, and at most.
const REST: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

/// A conversation that lasted this long was no failure.
const LASTED: Duration = Duration::from_secs(60);

/// How a server is greeted.
#[derive(Clone, Debug)]
pub(crate) struct Hello {
    /// The era of the client.
    pub(crate) era: Era,
    /// What the client first said of itself, as parameters of `initialize`.
    pub(crate) greeting: Object,
}

/// A server and what is known of how to reach it.
pub(crate) struct Link {
    /// The server.
    pub(crate) server: Upstream,
    state: Mutex<State>,
    bounds: Bounds,
    /// Knows what logs may show of what the server says.
    engine: Arc<Engine>,
}

struct State {
    connection: Option<Arc<Connection>>,
    begun: Instant,
    failures: u32,
    not_before: Instant,
}

impl Link {
    pub(crate) fn to(server: Upstream, bounds: Bounds, engine: Arc<Engine>) -> Self {
        let now = Instant::now();
        let state = State {
            connection: None,
            begun: now,
            failures: 0,
            not_before: now,
        };
        Self {
            server,
            state: Mutex::new(state),
            bounds,
            engine,
        }
    }

    /// The conversation; a new one where there is none. `listen` is given everything that the server will say.
    pub(crate) async fn connection(
        &self,
        hello: &Hello,
        listen: impl FnOnce(Arc<Connection>, mpsc::Receiver<Read>),
    ) -> Result<Arc<Connection>, UpstreamError> {
        let mut state = self.state.lock().await;
        if let Some(connection) = &state.connection {
            if !connection.is_over() {
                return Ok(Arc::clone(connection));
            }
            state.connection = None;
            if state.begun.elapsed() > LASTED {
                state.failures = 0;
            } else {
                state.fail();
            }
        }
        let now = Instant::now();
        if now < state.not_before {
            return Err(UpstreamError::Resting(state.not_before - now));
        }
        let begun = tokio::time::timeout(self.bounds.start_timeout, self.begin(hello, listen)).await;
        match begun.unwrap_or(Err(UpstreamError::TimedOut)) {
            Ok(connection) => {
                state.connection = Some(Arc::clone(&connection));
                state.begun = Instant::now();
                Ok(connection)
            }
            Err(why) => {
                state.fail();
                tracing::warn!(server = %self.server.name, "{why}");
                Err(why)
            }
        }
    }

    /// The conversation that is under way, if one is.
    pub(crate) async fn current(&self) -> Option<Arc<Connection>> {
        let state = self.state.lock().await;
        state
            .connection
            .clone()
            .filter(|connection| !connection.is_over())
    }

    async fn begin(
        &self,
        hello: &Hello,
        listen: impl FnOnce(Arc<Connection>, mpsc::Receiver<Read>),
    ) -> Result<Arc<Connection>, UpstreamError> {
        let (wire, incoming) = self.wire()?;
        let connection = Arc::new(Connection::new(wire, self.bounds));
        if let Wire::Http(exchange) = connection.wire() {
            exchange.belongs_to(&connection);
        }
        listen(Arc::clone(&connection), incoming);
        let over = EndUnlessKept(&connection, true);
        let greeted = greet(&connection, hello, self.bounds.start_timeout / SILENCE).await?;
        connection.greeted(greeted);
        if connection.era() == Era::Greeted {
            connection.overhear().await;
        }
        over.keep();
        Ok(connection)
    }

    fn wire(&self) -> Result<(Wire, mpsc::Receiver<Read>), UpstreamError> {
        match &self.server.reach {
            Reach::Command { command, args, env } => {
                let most = self.bounds.message_bytes;
                let log = Log {
                    name: self.server.name.clone(),
                    engine: Arc::clone(&self.engine),
                };
                let (pipe, incoming) = Pipe::start(log, command, args, env, most)?;
                Ok((Wire::Pipe(pipe), incoming))
            }
            Reach::Url {
                url,
                headers_env,
                ca_file,
            } => {
                let authorities = ca_file.as_deref();
                let (exchange, incoming) = Exchange::with(url, headers_env, authorities, self.bounds)?;
                Ok((Wire::Http(exchange), incoming))
            }
        }
    }
}

impl State {
    fn fail(&mut self) {
        let (first, most) = REST;
        let rest = first.saturating_mul(1 << self.failures.min(10)).min(most);
        self.failures += 1;
        self.not_before = Instant::now() + rest;
    }
}

/// A conversation that was begun but not kept is over.
struct EndUnlessKept<'a>(&'a Arc<Connection>, bool);

impl EndUnlessKept<'_> {
    fn keep(mut self) {
        self.1 = false;
    }
}

impl Drop for EndUnlessKept<'_> {
    fn drop(&mut self) {
        if self.1 {
            self.0.end(&UpstreamError::Gone);
        }
    }
}

/// A server that has said nothing for this part of the time it has to start is asked in the other era as well.
const SILENCE: u32 = 6;

/// Greets in the client's era first, and in the other where the server knows only that.
async fn greet(connection: &Connection, hello: &Hello, silence: Duration) -> Result<Object, UpstreamError> {
    match hello.era {
        Era::Greeted => match initialize(connection, hello).await {
            Err(UpstreamError::Version) => discover(connection, hello).await,
            greeted => greeted,
        },
        Era::Stateless => {
            let mut discovering = pin!(discover(connection, hello));
            match tokio::time::timeout(silence, &mut discovering).await {
                Ok(Err(UpstreamError::Version | UpstreamError::Status(_))) => {
                    initialize(connection, hello).await
                }
                Ok(discovered) => discovered,
                Err(_) => either(connection, hello, discovering).await,
            }
        }
    }
}

/// Greets a server that has not said yet that it speaks without greetings: some of those before do not answer what they do not
/// know, and some of those after take long to start. Whichever is answered first counts.
async fn either(
    connection: &Connection,
    hello: &Hello,
    discovering: Pin<&mut impl Future<Output = Result<Object, UpstreamError>>>,
) -> Result<Object, UpstreamError> {
    let greeting = pin!(initialize(connection, hello));
    let discovered = match select(discovering, greeting).await {
        Either::Left((Err(_), greeting)) => return greeting.await,
        Either::Right((Ok(greeted), _)) => return Ok(greeted),
        Either::Left((discovered, _)) => discovered,
        Either::Right((Err(why), discovering)) => discovering.await.map_err(|_| why),
    };
    connection.speak(Era::Stateless, hello.greeting.clone());
    discovered
}

async fn initialize(connection: &Connection, hello: &Hello) -> Result<Object, UpstreamError> {
    let asked = hello.greeting.text("protocolVersion").unwrap_or_default();
    let mut params = hello.greeting.clone();
    params.set("protocolVersion", raw(&era::agree(&asked)));
    connection.speak(Era::Greeted, params.clone());
    let request = Envelope::request("initialize", Some(params.to_raw()));
    let answer = connection.ask(request).await?;
    let result = answer
        .result()
        .and_then(Object::read)
        .ok_or(UpstreamError::Version)?;
    let version = result.text("protocolVersion").unwrap_or_default();
    if !era::WITH_GREETING.contains(&version.as_str()) {
        return Err(UpstreamError::Version);
    }
    if let Wire::Http(exchange) = connection.wire() {
        exchange.agreed(&version);
    }
    connection
        .tell(Envelope::notification("notifications/initialized", None))
        .await?;
    Ok(result)
}

async fn discover(connection: &Connection, hello: &Hello) -> Result<Object, UpstreamError> {
    connection.speak(Era::Stateless, hello.greeting.clone());
    let request = Envelope::request("server/discover", None);
    let answer = connection.ask(request).await?;
    let result = answer
        .result()
        .and_then(Object::read)
        .ok_or(UpstreamError::Version)?;
    let versions = result.list("supportedVersions").unwrap_or_default();
    let knows = |version: &str| versions.iter().any(|raw| raw.get() == format!("\"{version}\""));
    if knows(era::STATELESS) {
        Ok(result)
    } else {
        Err(UpstreamError::Version)
    }
}
