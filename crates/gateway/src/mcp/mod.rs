//! The gateway between an MCP client and its servers.
//!
//! Messages are forwarded as they are, and only what a rule needs is looked into, so that nothing is lost on the way.
//! Everything that carries content passes the engine on its way out (`authorize`) and on its way in (`deliver`): the
//! same two calls as on every other wire. Each session has conversations of its own with the servers, as if its client
//! had started them itself, so that no session's data reaches another through a server's memory of who asked.

mod downstream;
mod era;
mod message;
mod names;
mod notes;
mod object;
mod outlet;
mod own;
mod pins;
mod present;
mod routing;
mod session;
mod shell;
pub(crate) mod strict;
mod upstream;
mod wanted;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::Ident;
use tidegate_engine::{Caller, Engine, OpenRequest, OpenSessionError};

pub(crate) use downstream::http;
pub(crate) use object::{Object, raw};
pub use pins::{Checked, Definition, Kind, Owed, Pin, Pins, Standing};
pub(crate) use pins::{digest, said};
pub use shell::{NotRun, RUN_COMMAND, Ran, Shell, Wanted};
pub use upstream::{Reach, Upstream};

use crate::connect::Connectors;
use session::Session;
use upstream::Bounds;

/// What becomes of a tool in a list while the session's state closes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedTools {
    /// It stays, marked as closed.
    Mark,
    /// It is left out.
    Hide,
}

/// Under which names a gateway over HTTP lets itself be spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// The names of this machine for itself, and these.
    Named(Vec<String>),
    /// Any: other machines reach it, under names it does not know.
    Any,
}

/// How the gateway behaves towards clients and servers.
#[derive(Clone, Debug)]
pub struct Options {
    /// What becomes of closed tools.
    pub closed_tools: ClosedTools,
    /// The largest message either way, in bytes.
    pub message_bytes: usize,
    /// How long a server may take to start and greet.
    pub start_timeout: Duration,
    /// How long a call may go without a sign of life.
    pub call_timeout: Duration,
    /// How long a call goes on for a client over HTTP that went away and may come back. In the stateless era it cannot.
    pub abandon_after: Duration,
    /// The most sessions over HTTP at once.
    pub sessions: usize,
    /// The names that requests over HTTP may call the gateway by.
    pub hosts: Hosts,
}

impl Options {
    /// What serves when nothing is configured.
    pub const STANDARD: Self = Self {
        closed_tools: ClosedTools::Mark,
        message_bytes: 16 << 20,
        start_timeout: Duration::from_secs(30),
        call_timeout: Duration::from_secs(300),
        abandon_after: Duration::from_secs(60),
        sessions: 256,
        hosts: Hosts::Named(Vec::new()),
    };
}

/// A session that nobody used for this long is closed; its label stays.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// The MCP gateway.
pub struct Mcp {
    engine: Arc<Engine>,
    servers: Vec<Upstream>,
    connectors: Arc<Connectors>,
    pins: Pins,
    options: Options,
    shell: OnceLock<Arc<dyn Shell>>,
    open: Mutex<HashMap<Ident, Arc<Session>>>,
}

/// Why a session over MCP could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenMcpError {
    /// The engine did not open it.
    #[error(transparent)]
    Open(#[from] OpenSessionError),
    /// There are as many as there may be.
    #[error("too many sessions are open; close one or try again later")]
    TooMany,
}

impl Mcp {
    /// A gateway to these servers.
    #[must_use]
    pub fn new(engine: Arc<Engine>, servers: Vec<Upstream>, pins: Pins, options: Options) -> Arc<Self> {
        Self::beside(Arc::default(), engine, servers, pins, options)
    }

    /// A gateway to these servers beside the gateway's own connectors.
    #[must_use]
    pub fn beside(
        connectors: Arc<Connectors>,
        engine: Arc<Engine>,
        servers: Vec<Upstream>,
        pins: Pins,
        options: Options,
    ) -> Arc<Self> {
        let surfaces: Vec<_> = servers
            .iter()
            .flat_map(|server| names::Surface::ALL.map(|surface| names::surface(server, surface)))
            .flatten()
            .collect();
        engine.discover(&surfaces);
        Arc::new(Self {
            engine,
            servers,
            connectors,
            pins,
            options,
            shell: OnceLock::new(),
            open: Mutex::new(HashMap::new()),
        })
    }

    /// Offers a shell to agents, from now on. It is offered once.
    pub fn offer_shell(&self, shell: Arc<dyn Shell>) {
        let _ = self.shell.set(shell);
    }

    /// Speaks with a client on this process's standard streams until it leaves. One process is one session, a new one
    /// unless it is told which to go on with.
    ///
    /// # Errors
    /// When the session cannot be opened.
    pub async fn serve_stdio(
        self: Arc<Self>,
        caller: Caller,
        session: Option<Ident>,
    ) -> Result<(), OpenMcpError> {
        let session = self.session(&caller, session).await?;
        downstream::stdio::serve(&session, tokio::io::stdin(), tokio::io::stdout()).await;
        self.close(&session.id);
        session.part().await;
        Ok(())
    }

    /// Opens a session, or goes on with one of the caller's own.
    pub(crate) async fn session(
        self: &Arc<Self>,
        caller: &Caller,
        id: Option<Ident>,
    ) -> Result<Arc<Session>, OpenMcpError> {
        if let Some(open) = id.as_ref().and_then(|id| self.find(caller, id)) {
            return Ok(open);
        }
        self.forget_idle();
        if self.open().len() >= self.options.sessions {
            return Err(OpenMcpError::TooMany);
        }
        let request = OpenRequest {
            user: None,
            agent: None,
            id,
        };
        let opened = self.engine.open_session(caller, request).await?;
        let session = Session::new(Arc::clone(self), caller.clone(), &opened);
        self.open().insert(opened.id.clone(), Arc::clone(&session));
        Ok(session)
    }

    /// A session that is open here, if it is this caller's.
    pub(crate) fn find(&self, caller: &Caller, id: &Ident) -> Option<Arc<Session>> {
        let session = self.open().get(id).cloned()?;
        let same = session.caller.principal == caller.principal
            && session.caller.agent == caller.agent
            && session.caller.role == caller.role;
        same.then(|| {
            session.touch();
            session
        })
    }

    /// Ends a session's conversations. Its label stays.
    pub(crate) fn close(&self, id: &Ident) {
        let closed = self.open().remove(id);
        if let Some(session) = closed {
            session.abandon();
        }
    }

    fn forget_idle(&self) {
        let now = Instant::now();
        self.open().retain(|_, session| !session.is_idle(now, IDLE));
    }

    const fn bounds(&self) -> Bounds {
        Bounds {
            message_bytes: self.options.message_bytes,
            start_timeout: self.options.start_timeout,
            call_timeout: self.options.call_timeout,
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Ident, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
