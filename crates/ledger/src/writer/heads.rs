//! The last record of each chain: what the next one links to.
//!
//! Two generations of at most half the bound each: a chain that is used moves to the young one; when that is full the
//! old one is dropped, and its chains are found in the index again. So memory is bounded however many sessions
//! there have been, at about 200 bytes for each chain in memory.

use std::collections::HashMap;

use crate::index::{Head, Index, IndexError};
use crate::record::Chain;

pub(super) struct Heads {
    index: Index,
    young: HashMap<Chain, Option<Head>>,
    old: HashMap<Chain, Option<Head>>,
    half: usize,
}

impl Heads {
    /// INVARIANT (a dropped head is in the index): caught up at the start, and before every drop.
    pub(super) fn new(mut index: Index, bound: usize) -> Result<Self, IndexError> {
        index.catch_up()?;
        Ok(Self {
            index,
            young: HashMap::new(),
            old: HashMap::new(),
            half: (bound / 2).max(1),
        })
    }

    /// The last record of a chain, if it has one.
    pub(super) fn of(&mut self, chain: &Chain) -> Result<Option<Head>, IndexError> {
        if let Some(head) = self.young.get(chain) {
            return Ok(*head);
        }
        let head = match self.old.remove(chain) {
            Some(head) => head,
            None => self.index.head(chain)?,
        };
        self.young.insert(chain.clone(), head);
        Ok(head)
    }

    /// The chain's last record is another now: the next one, or again the one before when a commit failed.
    pub(super) fn replace(&mut self, chain: &Chain, head: Option<Head>) {
        self.young.insert(chain.clone(), head);
    }

    /// Between commits: drops what was not used lately if there is too much. Everything in memory is durable then.
    pub(super) fn trim(&mut self) -> Result<(), IndexError> {
        if self.young.len() < self.half {
            return Ok(());
        }
        // INVARIANT (a dropped head is in the index).
        self.index.catch_up()?;
        self.old = std::mem::take(&mut self.young);
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn in_memory(&self) -> usize {
        self.young.len() + self.old.len()
    }
}
