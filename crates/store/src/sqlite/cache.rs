//! Rows in memory, bounded, and never older than they may be.
//!
//! Each row carries the revision of the write that last changed it, and each write transaction, in whatever process,
//! takes the next revision. Two numbers tell how far this cache has followed:
//!
//! - `applied`: every change up to this revision is in force here: an entry of a row that it changed is gone or new.
//! - `floor`: somebody has begun to bring changes up to this revision in. It is raised *before* the first entry is
//!   touched, `applied` *after* the last.
//!
//! INVARIANT (no stale entry): an entry whose row was changed at or before `applied` holds that change.
//!
//! Why it holds. An entry gets in by [`Rows::keep`] alone, with a row and the revision S of the snapshot it was read in,
//! and only if, under its shard's lock, `floor <= S`. Take a change at revision R > S to that row. Whoever brings R in
//! raises `floor` to R or more, then takes the shard's lock to drop older entries of the row, then raises `applied`.
//! If the insertion came first under that lock, the drop removes it; if it came second, it sees the raised
//! floor and does not insert. Either way, once `applied >= R`, the old row is not in the cache. `keep` also never
//! replaces a newer row by an older one, since both carry their revision.
//!
//! `applied` rises in two ways: to a snapshot's revision, by whoever dropped everything that changed after the
//! `applied` it had read; or from `N - 1` to `N`, by the writer that made change N itself, only if it stood at `N - 1`.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tidegate_core::Ident;

use crate::{Session, TokenDigest, TokenRecord};

/// Everything that is kept in memory.
pub(super) struct Cache {
    horizon: Arc<Horizon>,
    pub(super) sessions: Rows<Ident, Session>,
    pub(super) tokens: Rows<TokenDigest, TokenRecord>,
}

/// How far the cache has followed; see the module.
struct Horizon {
    floor: AtomicI64,
    applied: AtomicI64,
}

impl Cache {
    /// An empty cache of at most about `bytes`, level with `revision`: it holds nothing, so nothing old.
    pub(super) fn new(bytes: usize, revision: i64) -> Self {
        let horizon = Arc::new(Horizon {
            floor: AtomicI64::new(revision),
            applied: AtomicI64::new(revision),
        });
        let token_bytes = bytes / 16;
        Self {
            sessions: Rows::new(bytes - token_bytes, horizon.clone(), session_bytes),
            tokens: Rows::new(token_bytes, horizon.clone(), token_bytes_of),
            horizon,
        }
    }

    pub(super) fn applied(&self) -> i64 {
        self.horizon.applied.load(Ordering::SeqCst)
    }

    /// Brings changes up to `revision` in by dropping what they changed. `drop_changed` must drop every row that changed
    /// after an [`Cache::applied`] read before.
    pub(super) fn follow<E>(
        &self,
        revision: i64,
        drop_changed: impl FnOnce(&Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.horizon.floor.fetch_max(revision, Ordering::SeqCst);
        drop_changed(self)?;
        self.horizon.applied.fetch_max(revision, Ordering::SeqCst);
        Ok(())
    }

    /// Brings in one transaction that this process committed: its revision, and the rows it wrote, in order. The last
    /// state of a row is the one that was committed.
    pub(super) fn publish(&self, revision: i64, sessions: &[Arc<Session>], tokens: &[Arc<TokenRecord>]) {
        self.horizon.floor.fetch_max(revision, Ordering::SeqCst);
        let stamp = Stamp {
            row: revision,
            snapshot: revision,
        };
        let mut done = HashSet::new();
        for session in sessions.iter().rev().filter(|session| done.insert(&session.id)) {
            self.sessions.keep(&session.id, session, stamp);
        }
        let mut done = HashSet::new();
        for token in tokens.iter().rev().filter(|token| done.insert(&token.digest)) {
            self.tokens.keep(&token.digest, token, stamp);
        }
        // When another process wrote in between, `applied` stays and the next reader follows both.
        let _ =
            self.horizon
                .applied
                .compare_exchange(revision - 1, revision, Ordering::SeqCst, Ordering::SeqCst);
    }
}

/// When a row was last changed, and when it was read.
#[derive(Clone, Copy)]
pub(super) struct Stamp {
    pub(super) row: i64,
    pub(super) snapshot: i64,
}

/// Rows of one table, in shards so that threads rarely meet.
pub(super) struct Rows<K, V> {
    horizon: Arc<Horizon>,
    shards: Vec<RwLock<Shard<K, V>>>,
    hasher: RandomState,
    shard_bytes: usize,
    weigh: fn(&V) -> usize,
}

struct Shard<K, V> {
    entries: HashMap<K, Kept<V>>,
    /// The order in which entries are considered for eviction; an entry used since gets a second chance.
    queue: VecDeque<K>,
    bytes: usize,
}

struct Kept<V> {
    value: Arc<V>,
    revision: i64,
    used: AtomicBool,
}

const SHARDS: usize = 64;

impl<K: Clone + Eq + Hash, V> Rows<K, V> {
    fn new(bytes: usize, horizon: Arc<Horizon>, weigh: fn(&V) -> usize) -> Self {
        let empty = || Shard {
            entries: HashMap::new(),
            queue: VecDeque::new(),
            bytes: 0,
        };
        Self {
            horizon,
            shards: (0..SHARDS).map(|_| RwLock::new(empty())).collect(),
            hasher: RandomState::new(),
            shard_bytes: bytes / SHARDS,
            weigh,
        }
    }

    pub(super) fn find<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<Arc<V>>
    where
        K: Borrow<Q>,
    {
        let shard = self.shard(key)?.read().unwrap_or_else(PoisonError::into_inner);
        let kept = shard.entries.get(key)?;
        if !kept.used.load(Ordering::Relaxed) {
            kept.used.store(true, Ordering::Relaxed);
        }
        Some(kept.value.clone())
    }

    /// Keeps a row, unless something newer is known or on its way.
    pub(super) fn keep(&self, key: &K, value: &Arc<V>, stamp: Stamp) {
        let Some(shard) = self.shard(key) else { return };
        let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
        if shard
            .entries
            .get(key)
            .is_some_and(|kept| kept.revision >= stamp.row)
        {
            return;
        }
        shard.remove(key, self.weigh);
        // INVARIANT (no stale entry): checked under the lock that whoever raised the floor takes next.
        let weight = (self.weigh)(value);
        if self.horizon.floor.load(Ordering::SeqCst) > stamp.snapshot || weight > self.shard_bytes {
            return;
        }
        shard.make_room(self.shard_bytes - weight, self.weigh);
        shard.bytes += weight;
        shard.queue.push_back(key.clone());
        let kept = Kept {
            value: value.clone(),
            revision: stamp.row,
            used: AtomicBool::new(false),
        };
        shard.entries.insert(key.clone(), kept);
    }

    /// Drops the row if it is older than `revision`.
    pub(super) fn drop_older<Q: Hash + Eq + ?Sized>(&self, key: &Q, revision: i64)
    where
        K: Borrow<Q>,
    {
        let Some(shard) = self.shard(key) else { return };
        let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
        if shard
            .entries
            .get(key)
            .is_some_and(|kept| kept.revision < revision)
        {
            shard.remove(key, self.weigh);
        }
    }

    pub(super) fn drop_all(&self) {
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            shard.entries.clear();
            shard.queue.clear();
            shard.bytes = 0;
        }
    }

    fn shard<Q: Hash + ?Sized>(&self, key: &Q) -> Option<&RwLock<Shard<K, V>>> {
        let hash = self.hasher.hash_one(key);
        self.shards.get(usize::try_from(hash % SHARDS as u64).ok()?)
    }
}

impl<K: Clone + Eq + Hash, V> Shard<K, V> {
    /// Takes the entry out. Its place in the queue stays until it comes up, or until the queue is swept.
    fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q, weigh: fn(&V) -> usize)
    where
        K: Borrow<Q>,
    {
        if let Some(kept) = self.entries.remove(key) {
            self.bytes = self.bytes.saturating_sub(weigh(&kept.value));
        }
        if self.queue.len() > 2 * self.entries.len() + SHARDS {
            let entries = &self.entries;
            let mut seen = HashSet::new();
            self.queue
                .retain(|key| entries.contains_key::<K>(key) && seen.insert(key.clone()));
        }
    }

    fn make_room(&mut self, target: usize, weigh: fn(&V) -> usize) {
        while self.bytes > target {
            let Some(key) = self.queue.pop_front() else { return };
            let Some(kept) = self.entries.get(&key) else {
                continue;
            };
            if kept.used.swap(false, Ordering::Relaxed) {
                self.queue.push_back(key);
            } else if let Some(kept) = self.entries.remove(&key) {
                self.bytes = self.bytes.saturating_sub(weigh(&kept.value));
            }
        }
    }
}

/// What an allocation and an entry cost beside the text in it, measured and rounded up.
const TEXT: usize = 40;
const ENTRY: usize = 320;

fn session_bytes(session: &Session) -> usize {
    let rises = session
        .context
        .rises()
        .iter()
        .map(|rise| 2 * TEXT + rise.source.as_str().len());
    let datasets = session
        .context
        .datasets()
        .iter()
        .map(|set| 2 * TEXT + set.name.as_str().len());
    let halt = session
        .context
        .halted()
        .map(|halt| TEXT + halt.source.as_str().len());
    let names = [&session.id, &session.user, &session.agent].map(|name| TEXT + name.as_str().len());
    ENTRY + rises.chain(datasets).chain(halt).chain(names).sum::<usize>()
}

fn token_bytes_of(token: &TokenRecord) -> usize {
    let agent = token.agent.as_ref();
    let names = [Some(&token.id), Some(&token.principal), agent];
    ENTRY
        + names
            .into_iter()
            .flatten()
            .map(|name| TEXT + name.as_str().len())
            .sum::<usize>()
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
