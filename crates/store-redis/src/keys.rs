//! What the keys are called.
//!
//! A script may touch keys of one slot of a cluster only, so a session's keys share a shard, named in braces, and the lists of ids
//! and of writers exist once for each shard.

use std::fmt::Write as _;

use tidegate_core::Ident;

/// How many shards there are. It is part of the format: with another number, sessions would not be found.
pub(crate) const SHARDS: u32 = 64;

/// The names for one namespace.
#[derive(Clone, Debug)]
pub(crate) struct Keys(String);

impl Keys {
    pub(crate) fn new(namespace: &str) -> Self {
        Self(namespace.to_owned())
    }

    /// The shard a session is in.
    pub(crate) fn shard(id: &Ident) -> u32 {
        crc32fast::hash(id.as_str().as_bytes()) % SHARDS
    }

    pub(crate) fn session(&self, id: &Ident) -> String {
        self.in_shard(Self::shard(id), "session", Some(id))
    }

    pub(crate) fn resets(&self, id: &Ident) -> String {
        self.in_shard(Self::shard(id), "resets", Some(id))
    }

    pub(crate) fn ids(&self, shard: u32) -> String {
        self.in_shard(shard, "ids", None)
    }

    pub(crate) fn writers(&self, shard: u32) -> String {
        self.in_shard(shard, "writers", None)
    }

    pub(crate) fn reads(&self, shard: u32) -> String {
        self.in_shard(shard, "reads", None)
    }

    /// Tokens by their digest, their digests by their ids, and when they were revoked.
    pub(crate) fn tokens(&self) -> [String; 3] {
        ["tokens", "digests", "revocations"].map(|part| format!("{}:{{tokens}}:{part}", self.0))
    }

    pub(crate) fn token_reads(&self) -> String {
        format!("{}:{{tokens}}:reads", self.0)
    }

    pub(crate) fn store(&self) -> String {
        format!("{}:store", self.0)
    }

    /// One mark in each part of the state that a cluster may put on a server of its own.
    pub(crate) fn marks(&self) -> Vec<String> {
        let shards = (0..SHARDS).map(|shard| self.in_shard(shard, "store", None));
        let tokens = format!("{}:{{tokens}}:store", self.0);
        shards.chain([tokens, self.store()]).collect()
    }

    /// A counter in each part of the state.
    pub(crate) fn counters(&self) -> Vec<String> {
        let shards = (0..SHARDS).map(|shard| self.reads(shard));
        [self.probes(), self.token_reads()]
            .into_iter()
            .chain(shards)
            .collect()
    }

    fn probes(&self) -> String {
        format!("{}:probes", self.0)
    }

    /// Where changes are told.
    pub(crate) fn channel(&self) -> String {
        format!("{}:changed", self.0)
    }

    fn in_shard(&self, shard: u32, what: &str, id: Option<&Ident>) -> String {
        let mut key = format!("{}:{{s{shard:02}}}:{what}", self.0);
        if let Some(id) = id {
            let _ = write!(key, ":{id}");
        }
        key
    }
}
