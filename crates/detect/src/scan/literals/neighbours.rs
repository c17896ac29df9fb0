//! What must stand beside a literal that counts as a word.
//!
//! Thousands of words might be part of an order, and many words of ordinary prose are among them. Nearly all of them
//! mean something only before or after another word, so the two letters nearest to them on one side are compared before anyone
//! looks closer. Like everything here this is a filter: it may let too much through and can let nothing slip.

use std::ops::Range;

use crate::candidates::{Beside, Near};

/// The pairs of letters that may stand beside a word, one bit for each; several pairs share a bit.
#[derive(Default)]
pub(super) struct Neighbours {
    before: u64,
    after: u64,
    /// Nothing need stand beside it.
    none_needed: bool,
}

impl Neighbours {
    pub(super) fn new(beside: &[Beside]) -> Self {
        let mut neighbours = Self::default();
        for beside in beside {
            match beside {
                Beside::Anything => neighbours.none_needed = true,
                Beside::After(near) => neighbours.after |= bits(near),
                Beside::Before(near) => neighbours.before |= bits(near),
            }
        }
        neighbours
    }

    /// Whether the word at a place may count. What is only the beginning of a longer one is left to whoever looks closer, and so
    /// is a neighbour that is not one blank away.
    #[inline(always)]
    pub(super) fn allow(&self, text: &[u8], word: &Range<usize>) -> bool {
        let after = text.get(word.end..).and_then(<[u8]>::first_chunk::<3>);
        let before = text.get(..word.start).and_then(<[u8]>::last_chunk::<3>);
        let (Some(&[next, behind, further]), Some(&[farther, ahead, last])) = (after, before) else {
            return true;
        };
        self.none_needed
            || self.after & bit(next, behind, further) | self.before & bit(last, ahead, farther) != 0
            || next.is_ascii_alphanumeric()
    }
}

/// Which bit the bytes next to a word stand for, the nearest first; all of them where it is not clear, none where no
/// word stands there.
#[inline(always)]
fn bit(first: u8, second: u8, third: u8) -> u64 {
    match (first, sort(second)) {
        (b' ', BLANK) => u64::MAX,
        (b' ', nearest) => 1 << number(nearest, sort(third)),
        _ if sort(first) == BLANK => u64::MAX,
        _ => 0,
    }
}

/// The bits that stand for a neighbour.
fn bits(near: &Near) -> u64 {
    let nearest = sort(near.first);
    let bit = |next| 1 << number(nearest, next);
    match near.second {
        Some(second) => bit(sort(second)),
        None => (0..=u8::MAX).map(sort).fold(0, |all, next| all | bit(next)),
    }
}

#[inline(always)]
const fn number(nearest: u8, next: u8) -> u32 {
    let pair = nearest as u32 | (next as u32) << 8;
    pair.wrapping_mul(0x9e37_79b1) >> (32 - 6)
}

const MARK: u8 = 0;
const BLANK: u8 = 1;

/// A letter or digit in any case, [`BLANK`], or [`MARK`] for every other byte.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "there is a place for every byte")]
const fn sort(byte: u8) -> u8 {
    SORTS[byte as usize]
}

#[expect(clippy::indexing_slicing, reason = "there is a place for every byte")]
static SORTS: [u8; 256] = {
    let mut sorts = [MARK; 256];
    let mut byte = u8::MAX;
    while byte > 0 {
        byte -= 1;
        if byte.is_ascii_alphanumeric() {
            sorts[byte as usize] = byte | 0x20;
        } else if byte.is_ascii_whitespace() {
            sorts[byte as usize] = BLANK;
        }
    }
    sorts
};
