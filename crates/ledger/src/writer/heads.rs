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

    /// Whether there are so many that some are to be dropped.
    pub(super) fn are_many(&self) -> bool {
        self.young.len() >= self.half
    }

    /// Between commits: drops what was not used lately if there is too much. Everything in memory is durable then.
    pub(super) fn trim(&mut self) -> Result<(), IndexError> {
        if !self.are_many() {
            return Ok(());
        }
        // INVARIANT (a dropped head is in the index).
        self.index.catch_up()?;
        self.old = std::mem::take(&mut self.young);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::GatewayStopped;
    use crate::{Event, Ledger, Name, Options, Reader, Trust, verify};
    use std::time::SystemTime;
    use tidegate_core::Ident;

    fn chain(n: usize) -> Chain {
        Chain::Session(Ident::parse(&format!("s{n}")).unwrap())
    }

    #[test]
    fn a_dropped_head_is_in_the_index() {
        let house = tempfile::tempdir().unwrap();
        let dir = house.path().join("ledger");
        let mut options = Options::new(&dir);
        options.heads = 8;
        let ledger = Ledger::open(&dir, options).unwrap();
        let event: Event = GatewayStopped {
            cause: Name::parse("x").unwrap(),
        }
        .into();
        // Forward, then in another order: every chain is dropped and found again several times.
        for (round, stride) in [1, 3, 7, 9].into_iter().enumerate() {
            for n in 0..40 {
                let receipt = ledger.append_blocking(chain(n * stride % 40), &event, SystemTime::now());
                assert_eq!(receipt.unwrap().seq, round as u64);
            }
        }
        ledger.close().unwrap();
        let report = verify(&dir, Trust::DIRECTORY).unwrap();
        assert_eq!((report.records, report.chains), (160, 40));
        assert!(
            Reader::open(&dir)
                .unwrap()
                .record(&chain(7), 3)
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn memory_stays_in_its_bound() {
        let house = tempfile::tempdir().unwrap();
        let dir = house.path().join("ledger");
        std::fs::create_dir(&dir).unwrap();
        let mut heads = Heads::new(Index::open(&dir).unwrap(), 100).unwrap();
        for n in 0..10_000 {
            heads.replace(
                &chain(n),
                Some(Head {
                    seq: 0,
                    hash: [0; 32],
                }),
            );
            heads.trim().unwrap();
            assert!(heads.young.len() + heads.old.len() <= 100);
        }
    }
}
