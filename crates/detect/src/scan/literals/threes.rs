//! Literals that count anywhere, told by three bytes in a row.
//!
//! Each is represented by three of its bytes that ordinary text seldom has; literals share them where they can. The threes
//! are dealt out to eight groups, and a table for each of the three places says to which groups a byte may belong there.
//! Where a group is left after all three, one of its threes may stand: so a chunk costs the same however many there are.

use std::ops::Range;

use fearless_simd::Simd;

use super::{Entry, commonness, folded};
use crate::lanes::{self, Chunk, Halves, Question, WIDTH, before_end, set_bits};

/// Every three has its place in a table, by six bits of its first two bytes.
const TABLE: usize = 1 << 12;

/// Bits of a byte, one for each group.
const GROUPS: usize = 8;

/// How many chunks are looked at before what they hold is compared.
const CHUNKS: usize = 64;

/// The literals by three of their bytes.
pub(super) struct Threes {
    may_stand: MayStand,
    /// For each place the number of its list, from 1 on.
    lists: Box<[u8; TABLE]>,
    entries: Vec<Vec<Entry>>,
}

impl Threes {
    pub(super) fn new(mut literals: Vec<(usize, &[u8])>) -> Self {
        let (mut threes, mut chosen) = (Vec::new(), Vec::new());
        while let Some(three) = best_three(&literals) {
            threes.push(three);
            literals.retain(|(number, bytes)| {
                let offset = threes_of(bytes).position(|known| known == three);
                chosen.extend(offset.map(|offset| (place(three), Entry::new(*number, bytes, offset))));
                offset.is_none()
            });
        }
        let (lists, entries) = listed(chosen);
        Self {
            may_stand: MayStand::new(&threes),
            lists,
            entries,
        }
    }

    /// Calls `found` with each entry whose three bytes start in `block` and that may stand there.
    #[inline(always)]
    pub(super) fn find(&self, text: &[u8], block: Range<usize>, mut found: impl FnMut(usize, &Entry)) {
        let mut answers = [0; CHUNKS];
        for first in block.clone().step_by(CHUNKS * WIDTH) {
            let count = (block.end - first).div_ceil(WIDTH).min(CHUNKS);
            let answers = answers.get_mut(..count).unwrap_or_default();
            lanes::ask(text, first, 0, &self.may_stand, answers);
            for (at, places) in (first..).step_by(WIDTH).zip(answers) {
                for offset in set_bits(*places & before_end(at, block.end)) {
                    let bytes = folded(text, at + offset);
                    for entry in self.entries(bytes).iter().filter(|entry| entry.agrees(bytes)) {
                        found(at + offset, entry);
                    }
                }
            }
        }
    }

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "a place has twelve bits")]
    #[expect(clippy::cast_possible_truncation, reason = "the lowest bytes")]
    fn entries(&self, bytes: u64) -> &[Entry] {
        let list = self.lists[place([bytes as u8, (bytes >> 8) as u8, 0])];
        self.entries.get(usize::from(list)).map_or(&[], Vec::as_slice)
    }
}

/// To which groups a byte may belong as the first, second and third.
struct MayStand([Halves; 3]);

impl MayStand {
    /// Threes that begin with a mark or a digit share the first group: ordinary text has few of these. The others are dealt
    /// out in order, so that those which begin alike share one.
    fn new(threes: &[[u8; 3]]) -> Self {
        let (mut words, others): (Vec<[u8; 3]>, Vec<[u8; 3]>) =
            threes.iter().partition(|[first, ..]| first.is_ascii_alphabetic());
        words.sort_unstable();
        let words = words.iter().enumerate().map(|(number, three)| {
            let group = 1 + number * (GROUPS - 1) / words.len();
            (*three, group)
        });
        let mut halves: [Halves; 3] = Default::default();
        for (three, group) in others.into_iter().map(|three| (three, 0)).chain(words) {
            for (halves, byte) in halves.iter_mut().zip(three) {
                halves.add(byte, 1 << group);
            }
        }
        Self(halves)
    }
}

impl Question for MayStand {
    type Answer = u64;

    #[inline(always)]
    fn of<S: Simd>(&self, chunk: Chunk<'_, S>) -> u64 {
        let Self([first, second, third]) = self;
        let first = chunk.lanes().folded().looked_up(first);
        let second = chunk.lanes_after::<1>().folded().looked_up(second);
        let third = chunk.lanes_after::<2>().folded().looked_up(third);
        first.and(second).and(third).not_empty()
    }
}

/// The three bytes that most of the literals have; of several those that ordinary text has least often.
fn best_three(literals: &[(usize, &[u8])]) -> Option<[u8; 3]> {
    let threes = literals.iter().flat_map(|(_, bytes)| threes_of(bytes));
    threes.min_by_key(|three| {
        let having = literals
            .iter()
            .filter(|(_, bytes)| threes_of(bytes).any(|known| known == *three));
        (std::cmp::Reverse(having.count()), commonness::of_three(*three))
    })
}

/// Each three bytes of a literal, folded, in order.
fn threes_of(bytes: &[u8]) -> impl Iterator<Item = [u8; 3]> {
    let threes = bytes.windows(3).filter_map(<[u8]>::first_chunk::<3>);
    threes.map(|three| three.map(|byte| byte | 0x20))
}

/// The entries of each place, and where to find them.
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
const fn place([first, second, _]: [u8; 3]) -> usize {
    (first & 0x3f) as usize | ((second & 0x3f) as usize) << 6
}
