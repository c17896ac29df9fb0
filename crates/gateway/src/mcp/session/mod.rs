//! One client's session: who it is, its conversations with the servers, and its requests under way.

mod along;
mod catalog;
mod connect;
mod content;
mod dispatch;
mod govern;
mod greeting;
mod held;
mod introduced;
mod lists;
mod offers;
mod operator;
mod rounds;
mod shell;
mod speakers;
mod stopped;
mod talks;
mod tasks;
mod unanswered;
mod upward;
mod veil;
mod wishes;

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tidegate_core::{Class, Ident};
use tidegate_engine::Caller;

use super::Mcp;
use super::downstream::Streams;
use super::object::Object;
use super::outlet::Ways;
use super::upstream::{Connection, Link, Read, UpstreamError};
use catalog::Catalog;
use introduced::Introduced;
pub(crate) use stopped::Stopped;
pub(crate) use talks::Resumed;
use tasks::Tasks;
use tokio::sync::{OnceCell, Semaphore, mpsc, watch};
use tokio::task::JoinSet;

/// The most requests of one client that are under way at once.
const MOST_UNDER_WAY: usize = 128;

/// A client's session.
pub(crate) struct Session {
    /// The gateway's own handle.
    pub(crate) id: Ident,
    /// Whose it is.
    pub(crate) caller: Caller,
    /// The ways to the client.
    pub(crate) ways: Ways,
    /// The streams that the client can take up again.
    pub(crate) streams: Streams,
    hub: Arc<Mcp>,
    links: Vec<Server>,
    client: Mutex<Introduced>,
    /// What each server is told of the client, once that is decided.
    greetings: OnceCell<Vec<Object>>,
    /// What servers asked of the client, and who waits for the answer.
    asked: Mutex<HashMap<u64, upward::Question>>,
    next_question: AtomicU64,
    /// Places for questions of servers.
    questions: Arc<Semaphore>,
    /// Calls whose servers ask in a way that their client does not hear.
    talks: Mutex<talks::Talks>,
    /// The server and the tool behind each task.
    tasks: Mutex<Tasks>,
    /// The label that the client was last told of.
    told: Mutex<Class>,
    /// Whether the client has left for good.
    left: watch::Sender<bool>,
    used: Mutex<Instant>,
    me: Weak<Self>,
}

/// A server as this session knows it.
pub(super) struct Server {
    link: Link,
    catalog: Mutex<Catalog>,
    wishes: Mutex<wishes::Wishes>,
}

impl Session {
    pub(super) fn new(hub: Arc<Mcp>, caller: Caller, opened: &tidegate_store::Session) -> Arc<Self> {
        let bounds = hub.bounds();
        let link = |server: &super::Upstream| Server {
            link: Link::to(server.clone(), bounds, Arc::clone(&hub.engine)),
            catalog: Mutex::default(),
            wishes: Mutex::default(),
        };
        let links = hub.servers.iter().map(link).collect();
        let session = Arc::new_cyclic(|me| Self {
            id: opened.id.clone(),
            caller,
            ways: Ways::default(),
            streams: Streams::default(),
            hub,
            links,
            client: Mutex::new(Introduced::silent()),
            greetings: OnceCell::new(),
            asked: Mutex::default(),
            next_question: AtomicU64::new(1),
            questions: Arc::new(Semaphore::new(upward::MOST_QUESTIONS)),
            talks: Mutex::default(),
            tasks: Mutex::default(),
            told: Mutex::new(opened.context.label().class()),
            left: watch::Sender::new(false),
            used: Mutex::new(Instant::now()),
            me: me.clone(),
        });
        tokio::spawn(upward::tell_of_rises(Arc::downgrade(&session)));
        session
    }

    /// The engine that decides.
    pub(super) fn engine(&self) -> &tidegate_engine::Engine {
        &self.hub.engine
    }

    /// The largest message.
    pub(super) fn message_bytes(&self) -> usize {
        self.hub.options.message_bytes
    }

    /// How long a call goes on for a client that went away and may come back.
    pub(super) fn abandon_after(&self) -> Duration {
        self.hub.options.abandon_after
    }

    /// The session was used just now.
    pub(super) fn touch(&self) {
        *locked(&self.used) = Instant::now();
    }

    /// The client has left for good: what servers still work on for it is given up.
    pub(super) fn abandon(&self) {
        self.left.send_replace(true);
    }

    /// Lets the servers go that were started for this session, once everything was written to them.
    pub(super) async fn part(&self) {
        let mut partings = JoinSet::new();
        for entry in &self.links {
            if let Some(connection) = entry.link.current().await {
                partings.spawn(async move { connection.part().await });
            }
        }
        while partings.join_next().await.is_some() {}
    }

    /// Whether nobody used the session for a while.
    pub(super) fn is_idle(&self, now: Instant, after: Duration) -> bool {
        let unused = now.saturating_duration_since(*locked(&self.used));
        unused > after && self.ways.under_way() == 0 && !self.ways.has_general()
    }

    /// The conversation with a server, begun where it is not under way.
    async fn connection(&self, server: usize) -> Result<Arc<Connection>, UpstreamError> {
        let entry = self.links.get(server).ok_or(UpstreamError::Gone)?;
        if let Some(connection) = entry.link.current().await {
            return Ok(connection);
        }
        let hello = self.hello(server).await;
        let me = self.me.clone();
        let mut begun = false;
        let listen = |connection: Arc<Connection>, incoming: mpsc::Receiver<Read>| {
            begun = true;
            let connection = Arc::downgrade(&connection);
            tokio::spawn(upward::listen(me, server, connection, incoming));
        };
        let connection = entry.link.connection(&hello, listen).await?;
        if begun {
            // What was begun in another conversation is gone, and its ids may come again for something else.
            locked(&self.tasks).forget(server);
            self.restore(server, &connection).await;
        }
        Ok(connection)
    }

    /// Whether the client knows how to take up a stream that broke off.
    pub(super) fn can_resume(&self) -> bool {
        locked(&self.client).can_resume()
    }

    fn catalog(&self, server: usize) -> Option<MutexGuard<'_, Catalog>> {
        self.links.get(server).map(|entry| locked(&entry.catalog))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
