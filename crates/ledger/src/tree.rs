//! The Merkle tree over all records, as in RFC 6962: what one signature covers, and what a record's proof climbs.
//!
//! A tree over every record in order, instead of a digest of the chains' heads, costs the writer a few dozen hashes
//! of memory however many sessions there are, and makes each record provable by a path of logarithmic length.

use sha2::{Digest as _, Sha256};

use crate::record::Hash;

const NODE: u8 = 1;

/// The roots of the complete subtrees, largest first: all that is needed to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frontier {
    size: u64,
    nodes: Vec<Hash>,
}

impl Frontier {
    pub(crate) const fn empty() -> Self {
        Self {
            size: 0,
            nodes: Vec::new(),
        }
    }

    /// The frontier of a tree of this size, if the number of nodes fits it.
    pub(crate) fn from_nodes(size: u64, nodes: Vec<Hash>) -> Option<Self> {
        (usize::try_from(size.count_ones()) == Ok(nodes.len())).then_some(Self { size, nodes })
    }

    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn nodes(&self) -> &[Hash] {
        &self.nodes
    }

    pub(crate) fn push(&mut self, leaf: Hash) {
        let mut node = leaf;
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.nodes.pop() {
                node = join(&left, &node);
            }
        }
        self.nodes.push(node);
        self.size += 1;
    }

    pub(crate) fn root(&self) -> Hash {
        let mut nodes = self.nodes.iter().rev();
        match nodes.next() {
            None => Sha256::digest([]).into(),
            Some(last) => nodes.fold(*last, |right, left| join(left, &right)),
        }
    }
}

/// A tree that goes on growing and remembers the way from one leaf to its root.
///
/// It starts from the frontier of any tree that does not yet hold the leaf, so a proof needs only the records between
/// two checkpoints.
pub(crate) struct Climb {
    frontier: Frontier,
    leaf: u64,
    /// Where in the frontier the leaf's subtree is.
    at: Option<usize>,
    path: Vec<Hash>,
}

impl Climb {
    pub(crate) const fn new(frontier: Frontier, leaf: u64) -> Self {
        Self {
            frontier,
            leaf,
            at: None,
            path: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, leaf: Hash) {
        let mut node = leaf;
        let mut holds = self.frontier.size == self.leaf;
        for _ in 0..self.frontier.size.trailing_ones() {
            let Some(left) = self.frontier.nodes.pop() else {
                break;
            };
            if holds {
                self.path.push(left);
            } else if self.at == Some(self.frontier.nodes.len()) {
                self.path.push(node);
                holds = true;
            }
            node = join(&left, &node);
        }
        if holds {
            self.at = Some(self.frontier.nodes.len());
        }
        self.frontier.nodes.push(node);
        self.frontier.size += 1;
    }

    /// The siblings on the way from the leaf to the root of the tree as it is now.
    pub(crate) fn path(self) -> Option<Vec<Hash>> {
        let (at, mut path) = (self.at?, self.path);
        let (left, rest) = self.frontier.nodes.split_at_checked(at)?;
        let right = rest.get(1..)?;
        let mut right = right.iter().rev();
        if let Some(last) = right.next() {
            path.push(right.fold(*last, |right, left| join(left, &right)));
        }
        path.extend(left.iter().rev());
        Some(path)
    }
}

/// The root that a leaf and its path lead to (RFC 9162, 2.1.3.2), if the path has the right length.
pub(crate) fn climb(leaf: &Hash, index: u64, size: u64, path: &[Hash]) -> Option<Hash> {
    if index >= size {
        return None;
    }
    let (mut node, mut at, mut last) = (*leaf, index, size - 1);
    for sibling in path {
        if last == 0 {
            return None;
        }
        if at & 1 == 1 || at == last {
            node = join(sibling, &node);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            node = join(&node, sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    (last == 0).then_some(node)
}

fn join(left: &Hash, right: &Hash) -> Hash {
    let mut node = [NODE; 65];
    node[1..33].copy_from_slice(left);
    node[33..].copy_from_slice(right);
    Sha256::digest(node).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::HEXLOWER;

    fn leaf(n: u64) -> Hash {
        crate::record::hash_body(&n.to_le_bytes())
    }

    fn grown(size: u64) -> Frontier {
        let mut tree = Frontier::empty();
        (0..size).for_each(|n| tree.push(leaf(n)));
        tree
    }

    /// The definition in RFC 6962, word by word.
    fn plain_root(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Sha256::digest([]).into(),
            [one] => *one,
            _ => {
                let split = leaves.len().next_power_of_two() / 2;
                join(&plain_root(&leaves[..split]), &plain_root(&leaves[split..]))
            }
        }
    }

    #[test]
    fn the_frontier_agrees_with_the_definition() {
        let leaves: Vec<Hash> = (0..70).map(leaf).collect();
        for size in 0..leaves.len() {
            assert_eq!(grown(size as u64).root(), plain_root(&leaves[..size]), "{size}");
        }
    }

    #[test]
    fn the_roots_are_those_of_rfc_6962() {
        let mut tree = Frontier::empty();
        tree.push(crate::record::hash_body(b""));
        assert_eq!(
            HEXLOWER.encode(&tree.root()),
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
        );
    }

    #[test]
    fn every_leaf_is_proved_from_every_start() {
        for size in 1..34 {
            let root = grown(size).root();
            for index in 0..size {
                for start in 0..=index {
                    let mut way = Climb::new(grown(start), index);
                    (start..size).for_each(|n| way.push(leaf(n)));
                    let path = way.path().unwrap();
                    assert_eq!(
                        climb(&leaf(index), index, size, &path),
                        Some(root),
                        "{index} of {size} from {start}"
                    );
                    assert_ne!(climb(&leaf(index + 1), index, size, &path), Some(root));
                    if size > 1 {
                        assert_ne!(climb(&leaf(index), (index + 1) % size, size, &path), Some(root));
                        assert_eq!(climb(&leaf(index), index, size, &path[1..]), None);
                    }
                }
            }
        }
    }
}
