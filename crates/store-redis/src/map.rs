//! Which server is asked about what, and the connections to each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Mutex;

use crate::cluster::{Held, Node, slot};
use crate::wire::Wire;

/// How many connections there are to each server.
const LANES: usize = 4;

/// The servers, as the address or the cluster named them last.
pub(crate) struct Map {
    pub(crate) held: Vec<Held>,
    servers: Vec<Arc<Server>>,
}

/// One server, and the connections to it.
pub(crate) struct Server {
    /// Where it is, in a cluster; otherwise the address says so.
    pub(crate) node: Option<Node>,
    lanes: Vec<Lane>,
    next: AtomicUsize,
    /// Whether to ask again who holds what, before it is asked again.
    doubted: AtomicBool,
}

/// The place of a connection.
pub(crate) type Lane = Mutex<Option<Open>>;

/// A connection that was checked.
#[derive(Clone)]
pub(crate) struct Open {
    pub(crate) wire: Wire,
    pub(crate) generation: usize,
}

impl Map {
    /// One server that holds everything.
    pub(crate) fn of_one() -> Self {
        Self {
            held: Vec::new(),
            servers: vec![Arc::new(Server::new(None))],
        }
    }

    /// The servers of a cluster. All of their connections are new: each is checked for what the server holds by now.
    pub(crate) fn of_cluster(held: Vec<Held>) -> Self {
        let mut servers: Vec<Arc<Server>> = Vec::new();
        for held in &held {
            if !servers
                .iter()
                .any(|server| server.node.as_ref() == Some(&held.by))
            {
                servers.push(Arc::new(Server::new(Some(held.by.clone()))));
            }
        }
        Self { held, servers }
    }

    /// The cluster was asked again, and says the same.
    pub(crate) fn believe(&self) {
        for server in &self.servers {
            server.doubted.store(false, Ordering::Relaxed);
        }
    }

    /// The server that holds this key; none while nobody in the cluster does.
    pub(crate) fn server(&self, key: &str) -> Option<&Arc<Server>> {
        if self.held.is_empty() {
            return self.servers.first();
        }
        let slot = slot(key);
        let held = self
            .held
            .iter()
            .find(|held| (held.first..=held.last).contains(&slot))?;
        self.servers
            .iter()
            .find(|server| server.node.as_ref() == Some(&held.by))
    }
}

impl Server {
    fn new(node: Option<Node>) -> Self {
        Self {
            node,
            lanes: (0..LANES).map(|_| Mutex::new(None)).collect(),
            next: AtomicUsize::new(0),
            doubted: AtomicBool::new(false),
        }
    }

    /// It did not answer, or not as the holder of what it was asked about.
    pub(crate) fn doubt(&self) {
        self.doubted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_doubted(&self) -> bool {
        self.doubted.load(Ordering::Relaxed)
    }

    /// The lane whose turn it is.
    pub(crate) fn lane(&self) -> Option<&Lane> {
        let place = self.next.fetch_add(1, Ordering::Relaxed) % self.lanes.len().max(1);
        self.lanes.get(place)
    }
}
