//! Literals that count anywhere, told by two bytes in a row.
//!
//! Each is represented by a pair of its bytes that ordinary text seldom has, or by one mark that stands in hardly any text.
//! Literals share pairs where they can: what a chunk costs is the number of different pairs.

use std::ops::Range;

use super::{Entry, before_end, commonness, folded};
use crate::lanes::{Lanes, Those, WIDTH, set_bits};

/// Every pair has its place in a table, by six bits of each byte.
const TABLE: usize = 1 << 12;

/// Marks that tell a literal by themselves, folded.
const TELLING_MARKS: [u8; 2] = [b'$' | 0x20, b'~' | 0x20];

/// The literals by a pair of their bytes.
pub(super) struct Pairs {
    pairs: Vec<[u8; 2]>,
    marks: Vec<u8>,
    /// Literals that are told by a mark.
    marked: Vec<Entry>,
    /// For each pair's place the number of its list, from 1 on.
    lists: Box<[u8; TABLE]>,
    entries: Vec<Vec<Entry>>,
}

impl Pairs {
    pub(super) fn new(literals: Vec<(usize, &[u8])>) -> Self {
        let mark_of = |bytes: &[u8]| {
            bytes
                .iter()
                .position(|byte| TELLING_MARKS.contains(&(byte | 0x20)))
        };
        let (telling, mut others): (Vec<_>, Vec<_>) = literals
            .into_iter()
            .partition(|(_, bytes)| mark_of(bytes).is_some());
        let (mut pairs, mut chosen) = (Vec::new(), Vec::new());
        while let Some(pair) = best_pair(&others) {
            pairs.push(pair);
            others.retain(|(number, bytes)| {
                let offset = pairs_of(bytes).position(|known| known == pair);
                chosen.extend(offset.map(|offset| (place(pair), Entry::new(*number, bytes, offset))));
                offset.is_none()
            });
        }
        let marks = TELLING_MARKS.into_iter();
        let (lists, entries) = listed(chosen);
        Self {
            pairs,
            marks: marks
                .filter(|mark| {
                    telling
                        .iter()
                        .any(|(_, bytes)| bytes.iter().any(|byte| byte | 0x20 == *mark))
                })
                .collect(),
            marked: telling
                .into_iter()
                .map(|(number, bytes)| Entry::new(number, bytes, mark_of(bytes).unwrap_or(0)))
                .collect(),
            lists,
            entries,
        }
    }

    /// Calls `found` with each entry whose pair starts in `block` and that may stand there.
    #[inline(always)]
    pub(super) fn find(&self, text: &[u8], block: Range<usize>, mut found: impl FnMut(usize, &Entry)) {
        for at in block.clone().step_by(WIDTH) {
            let places = self.places(text, at) & before_end(at, block.end);
            for offset in set_bits(places) {
                let bytes = folded(text, at + offset);
                let entries = self.entries(bytes).iter().chain(self.marked(bytes));
                for entry in entries.filter(|entry| entry.agrees(bytes)) {
                    found(at + offset, entry);
                }
            }
        }
    }

    /// Where in the chunk at a place some pair stands.
    #[inline(always)]
    fn places(&self, text: &[u8], at: usize) -> u64 {
        Lanes::ask_both(text, at, 0, |first, second| {
            let (first, second) = (first.folded(), second.folded());
            let mut any = Those::NONE;
            for &[a, b] in &self.pairs {
                any = any | first.are(a) & second.are(b);
            }
            for &mark in &self.marks {
                any = any | first.are(mark);
            }
            any.bits()
        })
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the lowest byte")]
    fn marked(&self, bytes: u64) -> &[Entry] {
        if self.marks.contains(&(bytes as u8)) {
            &self.marked
        } else {
            &[]
        }
    }

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "a place has twelve bits")]
    #[expect(clippy::cast_possible_truncation, reason = "the two lowest bytes")]
    fn entries(&self, bytes: u64) -> &[Entry] {
        let list = self.lists[place([bytes as u8, (bytes >> 8) as u8])];
        self.entries.get(usize::from(list)).map_or(&[], Vec::as_slice)
    }
}

/// The pair that most of the literals have; of several the one that ordinary text has least often.
fn best_pair(literals: &[(usize, &[u8])]) -> Option<[u8; 2]> {
    let pairs = literals.iter().flat_map(|(_, bytes)| pairs_of(bytes));
    pairs.min_by_key(|pair| {
        let having = literals
            .iter()
            .filter(|(_, bytes)| pairs_of(bytes).any(|known| known == *pair));
        (std::cmp::Reverse(having.count()), commonness::of_pair(*pair))
    })
}

/// The pairs of a literal, folded, in order.
fn pairs_of(bytes: &[u8]) -> impl Iterator<Item = [u8; 2]> {
    let pairs = bytes.windows(2).filter_map(<[u8]>::first_chunk::<2>);
    pairs.map(|pair| pair.map(|byte| byte | 0x20))
}

/// The entries of each pair, and where to find them.
fn listed(chosen: Vec<(usize, Entry)>) -> (Box<[u8; TABLE]>, Vec<Vec<Entry>>) {
    let mut lists = Box::new([0; TABLE]);
    let mut entries: Vec<Vec<Entry>> = vec![Vec::new()];
    for (place, entry) in chosen {
        let Some(list) = lists.get_mut(place) else {
            continue;
        };
        if *list == 0 {
            match u8::try_from(entries.len()) {
                Ok(number) => {
                    *list = number;
                    entries.push(Vec::new());
                }
                // Lists may be shared: whatever stands in one is compared.
                Err(_) => *list = u8::MAX,
            }
        }
        if let Some(list) = entries.get_mut(usize::from(*list)) {
            list.push(entry);
        }
    }
    (lists, entries)
}

#[inline(always)]
const fn place([first, second]: [u8; 2]) -> usize {
    (first & 0x3f) as usize | ((second & 0x3f) as usize) << 6
}
