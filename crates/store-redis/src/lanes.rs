//! A few connections to each server, each used by many at once and made through the checks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use redis::{RedisError, Value};
use tidegate_store::StoreError;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout, timeout_at};

use crate::address::Address;
use crate::durable::{Marks, check_role, check_settings};
use crate::failure::{failed, refused, too_slow};
use crate::keys::Keys;
use crate::map::{Lane, Map, Open, Server};
use crate::question::Question;
use crate::wire::Wire;

/// How many questions may be under way.
const MOST: usize = 16_384;

/// Connections to the servers.
pub(crate) struct Lanes {
    address: Arc<Address>,
    timeout: Duration,
    marks: Marks,
    /// Which servers there are.
    known: RwLock<Option<Arc<Map>>>,
    /// Held by whoever asks which servers there are.
    asking: Mutex<()>,
    under_way: AtomicUsize,
    generations: AtomicUsize,
}

/// Why a question has no answer.
enum Unanswered {
    /// The way to the server was never there.
    NoWay(StoreError),
    /// The server, or what lies before it, said so.
    Told(RedisError),
    TooSlow,
}

impl Lanes {
    pub(crate) fn new(address: Arc<Address>, keys: &Keys, timeout: Duration) -> Self {
        Self {
            marks: Marks::new(match *address {
                Address::Cluster(_) => keys.marks(),
                Address::Server(_) | Address::Sentinel(_) => vec![keys.store()],
            }),
            address,
            timeout,
            known: RwLock::default(),
            asking: Mutex::default(),
            under_way: AtomicUsize::new(0),
            generations: AtomicUsize::new(0),
        }
    }

    /// Asks something of the server that holds `key`. A connection that failed is given up: the next question makes a new one. To ask
    /// again is for whoever asked: some of it may have been done.
    pub(crate) async fn ask(&self, key: &str, question: &Question<'_>) -> Result<Vec<Value>, StoreError> {
        let _counted = Counted::new(&self.under_way);
        if self.under_way.load(Ordering::Relaxed) > MOST {
            return Err(StoreError::Overloaded);
        }
        let until = Instant::now() + self.timeout;
        let answer = self.ask_until(until, key, question).await;
        answer.map_err(|why| match why {
            Unanswered::NoWay(error) => error,
            Unanswered::Told(error) => failed(&error),
            Unanswered::TooSlow => too_slow(),
        })
    }

    /// One key of these for each server that holds any.
    pub(crate) async fn one_for_each_server(&self, keys: Vec<String>) -> Result<Vec<String>, StoreError> {
        let first = keys.first().map_or("", String::as_str);
        let map = timeout(self.timeout, self.map_for(first)).await;
        let map = map.unwrap_or_else(|_| Err(too_slow()))?;
        let mut servers: Vec<&Arc<Server>> = Vec::new();
        let mut chosen = Vec::new();
        for key in keys {
            let server = map.server(&key).ok_or_else(unheld)?;
            if !servers.iter().any(|known| Arc::ptr_eq(known, server)) {
                servers.push(server);
                chosen.push(key);
            }
        }
        Ok(chosen)
    }

    async fn ask_until(
        &self,
        until: Instant,
        key: &str,
        question: &Question<'_>,
    ) -> Result<Vec<Value>, Unanswered> {
        let map = timeout_at(until, self.map_for(key))
            .await
            .map_err(|_| Unanswered::TooSlow)?
            .map_err(Unanswered::NoWay)?;
        let way = map.server(key).and_then(|server| Some((server, server.lane()?)));
        let Some((server, lane)) = way else {
            return Err(Unanswered::NoWay(unheld()));
        };
        let mut used = None;
        let asking = async {
            let mut open = self.open(&map, server, lane).await.map_err(Unanswered::NoWay)?;
            used = Some(open.generation);
            open.wire.ask(question).await.map_err(Unanswered::Told)
        };
        let answer = timeout_at(until, asking).await;
        let answer = answer.unwrap_or(Err(Unanswered::TooSlow));
        if answer.as_ref().is_err_and(Unanswered::is_lost) {
            give_up(lane, used).await;
            server.doubt();
        }
        answer
    }

    /// The servers, with one for this key that nobody doubts. A question about another one does not wait for it.
    async fn map_for(&self, key: &str) -> Result<Arc<Map>, StoreError> {
        let fits = |map: &Arc<Map>| map.server(key).is_some_and(|server| !server.is_doubted());
        if let Some(map) = self.known().filter(fits) {
            return Ok(map);
        }
        let _asking = self.asking.lock().await;
        let before = self.known();
        // Another may have asked meanwhile.
        if let Some(map) = before.clone().filter(fits) {
            return Ok(map);
        }
        let map = match &*self.address {
            Address::Cluster(cluster) => {
                let last = before.as_ref().map_or(&[][..], |map| &map.held);
                // Half of the time, so that some is left for the question where a server does not answer.
                let held = cluster.held(last, self.timeout / 2).await?;
                let same = before.filter(|before| before.held == held);
                same.unwrap_or_else(|| Arc::new(Map::of_cluster(held)))
            }
            Address::Server(_) | Address::Sentinel(_) => before.unwrap_or_else(|| Arc::new(Map::of_one())),
        };
        map.believe();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some(Arc::clone(&map));
        Ok(map)
    }

    fn known(&self) -> Option<Arc<Map>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    /// INVARIANT (durable before acknowledged): every connection to every server is made here, through all of the checks.
    async fn open(&self, map: &Map, server: &Arc<Server>, lane: &Lane) -> Result<Open, StoreError> {
        let mut slot = lane.lock().await;
        if let Some(open) = slot.as_ref() {
            return Ok(open.clone());
        }
        let client = self.address.client(server.node.as_ref()).await?;
        let mut wire = Wire::open(&client, self.timeout).await?;
        check_settings(&mut wire).await?;
        check_role(&mut wire).await?;
        let holds = |mark: &str| map.server(mark).is_some_and(|holder| Arc::ptr_eq(holder, server));
        self.marks.check(&mut wire, holds).await?;
        let generation = self.generations.fetch_add(1, Ordering::Relaxed);
        let open = Open { wire, generation };
        *slot = Some(open.clone());
        Ok(open)
    }
}

impl Unanswered {
    /// Whether the connection, or the way to it, is of no more use: it broke, the server behind it only reads by now, or holds
    /// something else.
    fn is_lost(&self) -> bool {
        match self {
            Self::NoWay(_) | Self::TooSlow => true,
            Self::Told(error) => {
                error.is_io_error()
                    || error.is_connection_dropped()
                    || error.is_timeout()
                    || matches!(error.code(), Some("READONLY" | "MOVED" | "CLUSTERDOWN"))
            }
        }
    }
}

async fn give_up(lane: &Lane, used: Option<usize>) {
    let Some(used) = used else { return };
    let mut slot = lane.lock().await;
    if slot.as_ref().is_some_and(|open| open.generation == used) {
        *slot = None;
    }
}

fn unheld() -> StoreError {
    refused("no server of the cluster holds this part of the state")
}

/// Counts for as long as it lives.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
