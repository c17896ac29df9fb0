//! The blocks of a text, and what was seen in each.

use std::ops::Range;

use super::blocks::blocks;

/// What was seen in a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    Nothing,
    /// An address, around which a pattern may stand.
    Address,
    /// A word that calls for attention: a pattern may stand there, which may be enough evidence or not.
    Estimate,
    /// Only its plain reading tells.
    Weigh,
}

/// Blocks and what was seen in them.
pub(super) struct Marks {
    blocks: Vec<(Range<usize>, Mark)>,
}

impl Marks {
    pub(super) fn of(text: &[u8]) -> Self {
        Self {
            blocks: blocks(text).map(|block| (block, Mark::Nothing)).collect(),
        }
    }

    /// Marks every block that holds some part of the place.
    pub(super) fn mark(&mut self, place: Range<usize>, mark: Mark) {
        let first = self.blocks.partition_point(|(block, _)| block.end <= place.start);
        for (block, known) in self.blocks.iter_mut().skip(first) {
            if block.start >= place.end {
                break;
            }
            *known = mark.max(*known);
        }
    }

    /// The blocks in order, with their marks.
    pub(super) fn marked(self) -> impl Iterator<Item = (Range<usize>, Mark)> {
        self.blocks.into_iter()
    }
}
