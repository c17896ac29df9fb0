//! A few connections, each used by many at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use redis::{RedisError, Value};
use tidegate_store::StoreError;
use tokio::sync::Mutex;

use crate::address::Address;
use crate::durable::{check_identity, check_role, check_settings};
use crate::failure::{failed, refused, too_slow};
use crate::keys::Keys;
use crate::question::Question;
use crate::wire::Wire;

/// How many questions may be under way.
const MOST: usize = 16_384;

/// Connections to the server.
pub(crate) struct Lanes {
    pub(crate) address: Arc<Address>,
    keys: Keys,
    timeout: Duration,
    known: OnceLock<String>,
    lanes: Vec<Mutex<Option<Open>>>,
    next: AtomicUsize,
    under_way: AtomicUsize,
    generations: AtomicUsize,
}

#[derive(Clone)]
struct Open {
    wire: Wire,
    generation: usize,
}

impl Lanes {
    pub(crate) fn new(address: Arc<Address>, keys: Keys, timeout: Duration, count: usize) -> Self {
        Self {
            address,
            keys,
            timeout,
            known: OnceLock::new(),
            lanes: (0..count.max(1)).map(|_| Mutex::new(None)).collect(),
            next: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            generations: AtomicUsize::new(0),
        }
    }

    /// Asks something of the server that holds `key`. A connection that failed is given up: the next question makes a new one.
    pub(crate) async fn ask(&self, key: &str, question: &Question<'_>) -> Result<Vec<Value>, StoreError> {
        let _counted = Counted::new(&self.under_way);
        if self.under_way.load(Ordering::Relaxed) > MOST {
            return Err(StoreError::Overloaded);
        }
        let place = self.next.fetch_add(1, Ordering::Relaxed) % self.lanes.len().max(1);
        let lane = self
            .lanes
            .get(place)
            .ok_or_else(|| refused("the store has no connection"))?;
        let mut used = None;
        let asking = async {
            let mut open = self.open(lane).await?;
            used = Some(open.generation);
            Ok(open.wire.send(key, question).await)
        };
        let answer = tokio::time::timeout(self.timeout, asking).await;
        let (answer, lost) = match answer {
            Err(_) => (Err(too_slow()), true),
            Ok(Err(error)) => (Err(error), false),
            Ok(Ok(Err(error))) => (Err(failed(&error)), is_lost(&error)),
            Ok(Ok(Ok(value))) => (Ok(value), false),
        };
        if let (true, Some(generation)) = (lost, used) {
            let mut slot = lane.lock().await;
            if slot.as_ref().is_some_and(|open| open.generation == generation) {
                *slot = None;
            }
        }
        answer
    }

    async fn open(&self, lane: &Mutex<Option<Open>>) -> Result<Open, StoreError> {
        let mut slot = lane.lock().await;
        if let Some(open) = slot.as_ref() {
            return Ok(open.clone());
        }
        let mut wire = Wire::open(&self.address, self.timeout).await?;
        check_settings(&mut wire).await?;
        check_role(&mut wire).await?;
        check_identity(&mut wire, &self.keys, &self.known).await?;
        let generation = self.generations.fetch_add(1, Ordering::Relaxed);
        let open = Open { wire, generation };
        *slot = Some(open.clone());
        Ok(open)
    }
}

/// Whether the connection is of no more use: it broke, or the server behind it only reads by now.
fn is_lost(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_connection_dropped()
        || error.is_timeout()
        || error.code() == Some("READONLY")
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
