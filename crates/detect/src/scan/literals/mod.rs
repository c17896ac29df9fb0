//! Finds every literal of every rule family in one go.
//!
//! An automaton over thousands of keywords costs a dependent load for each byte. Here most bytes are passed over by
//! arithmetic on whole chunks. Nearly all literals are names and words, which count only where a word starts: those are
//! looked up by their first bytes at the starts of words, one small look for each word of the text (see `starts`). The few
//! that count inside words are told by three bytes in a row that ordinary text seldom has (see `threes`). Both are filters,
//! never answers: they may let too much through and can let nothing slip.

mod commonness;
mod neighbours;
mod starts;
mod threes;

use std::ops::Range;

use super::signs::BlockSigns;
use crate::candidates::{Case, Literal, MIN_LITERAL, Stands};
use neighbours::Neighbours;
use starts::Starts;
use threes::Threes;

const FOLD: u64 = 0x2020_2020_2020_2020;

/// All literals, ready to be searched for.
pub(crate) struct LiteralSet {
    literals: Vec<Registered>,
    starts: Starts,
    threes: Threes,
}

struct Registered {
    bytes: Box<[u8]>,
    case: Case,
    family: usize,
    tag: u32,
    /// What must stand beside it, when it counts as a word only.
    neighbours: Option<Neighbours>,
}

/// A literal that stands at a place.
pub(crate) struct LiteralHit {
    pub(crate) family: usize,
    pub(crate) tag: u32,
    pub(crate) at: Range<usize>,
}

impl LiteralSet {
    /// Registers the literals of families `0..`. Literals shorter than the minimum are left out: whoever builds the
    /// configuration has refused them before.
    pub(crate) fn new(families: &[Vec<Literal>]) -> Self {
        let mut literals = Vec::new();
        let (mut at_starts, mut inside) = (Vec::new(), Vec::new());
        for (family, registered) in families.iter().enumerate() {
            for literal in registered
                .iter()
                .filter(|literal| literal.bytes.len() >= MIN_LITERAL)
            {
                let number = literals.len();
                match starts::anchor(literal) {
                    Some(offset) => at_starts.push(Entry {
                        is_whole: offset == 0 && is_short_word(literal),
                        ..Entry::new(number, &literal.bytes, offset)
                    }),
                    None => inside.push(number),
                }
                literals.push(Registered {
                    bytes: literal.bytes.clone().into_boxed_slice(),
                    case: literal.case,
                    family,
                    tag: literal.tag,
                    neighbours: match &literal.stands {
                        Stands::AsWord(beside) => Some(Neighbours::new(beside)),
                        Stands::Anywhere | Stands::AtWordStart => None,
                    },
                });
            }
        }
        let inside = inside
            .into_iter()
            .filter_map(|number| Some((number, &*literals.get(number)?.bytes)));
        Self {
            threes: Threes::new(inside.collect()),
            starts: Starts::new(at_starts),
            literals,
        }
    }

    /// Reports every literal whose representative bytes start in the block of these signs, which is a part of `text`. A
    /// literal that counts at the start of a word is reported where one starts; elsewhere it may be reported or not.
    pub(super) fn find(&self, text: &[u8], signs: &BlockSigns, hits: &mut Vec<LiteralHit>) {
        self.starts.find(text, signs, |at, entry| {
            self.confirm(text, at, entry, hits);
        });
        self.threes.find(text, signs.block(), |at, entry| {
            self.confirm(text, at, entry, hits);
        });
    }

    fn confirm(&self, text: &[u8], at: usize, entry: &Entry, hits: &mut Vec<LiteralHit>) {
        let Some(start) = at.checked_sub(entry.offset as usize) else {
            return;
        };
        if entry.before.is_some() && entry.before != text.get(at.wrapping_sub(1)).map(|byte| byte | 0x20) {
            return;
        }
        let Some(literal) = self.literals.get(entry.literal as usize) else {
            return;
        };
        let at = start..start + literal.bytes.len();
        let allowed = |neighbours: &Neighbours| neighbours.allow(text, &at);
        if literal.neighbours.as_ref().is_none_or(allowed)
            && (entry.is_whole || literal.stands_at(text, start))
        {
            hits.push(LiteralHit {
                family: literal.family,
                tag: literal.tag,
                at,
            });
        }
    }
}

impl Registered {
    fn stands_at(&self, text: &[u8], start: usize) -> bool {
        let Some(place) = text.get(start..start + self.bytes.len()) else {
            return false;
        };
        match self.case {
            Case::Exact => *place == *self.bytes,
            Case::Ignore => place.eq_ignore_ascii_case(&self.bytes),
        }
    }
}

/// Whether folded bytes say everything about a literal: letters in any case, no more than are folded at once.
fn is_short_word(literal: &Literal) -> bool {
    let letters = literal.bytes.iter().all(u8::is_ascii_alphabetic);
    letters && literal.bytes.len() <= 8 && literal.case == Case::Ignore
}

/// A literal by some bytes of it.
struct Entry {
    /// Up to eight bytes from the offset on, folded, and which of them there are.
    head: u64,
    mask: u64,
    offset: u32,
    literal: u32,
    /// The byte before the offset, folded; nothing when the offset is 0.
    before: Option<u8>,
    /// Whether nothing is left to compare where the bytes agree.
    is_whole: bool,
}

impl Entry {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "there are far fewer than 2^32 literals, and each is far shorter"
    )]
    fn new(literal: usize, bytes: &[u8], offset: usize) -> Self {
        let rest = bytes.get(offset..).unwrap_or_default();
        let mask = u64::MAX
            .checked_shr(64 - 8 * rest.len().min(8) as u32)
            .unwrap_or(0);
        Self {
            head: folded(rest, 0) & mask,
            mask,
            offset: offset as u32,
            literal: literal as u32,
            before: offset
                .checked_sub(1)
                .and_then(|at| bytes.get(at))
                .map(|byte| byte | 0x20),
            is_whole: false,
        }
    }

    /// Whether the folded bytes at a place are those of the literal.
    #[inline(always)]
    fn agrees(&self, folded: u64) -> bool {
        (folded ^ self.head) & self.mask == 0
    }
}

/// Eight bytes from a position on, folded, with blanks past the end of the text.
#[inline(always)]
fn folded(text: &[u8], at: usize) -> u64 {
    let bytes = match text.get(at..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => *bytes,
        None => padded(text.get(at..).unwrap_or_default()),
    };
    u64::from_le_bytes(bytes) | FOLD
}

#[cold]
#[inline(never)]
fn padded(rest: &[u8]) -> [u8; 8] {
    let mut bytes = [0; 8];
    for (slot, byte) in bytes.iter_mut().zip(rest) {
        *slot = *byte;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::Stands;
    use proptest::prelude::*;

    type Place = (usize, u32, Range<usize>);

    fn fast(set: &LiteralSet, text: &[u8], block: usize) -> Vec<Place> {
        let mut hits = Vec::new();
        for start in (0..text.len()).step_by(block) {
            let mut signs = BlockSigns::default();
            signs.read(text, start..(start + block).min(text.len()));
            set.find(text, &signs, &mut hits);
        }
        let mut all: Vec<_> = hits
            .into_iter()
            .map(|hit| (hit.family, hit.tag, hit.at))
            .collect();
        all.sort_by_key(|(family, tag, at)| (at.start, *family, *tag));
        all
    }

    /// Every literal at every position.
    fn plainly(set: &LiteralSet, text: &[u8]) -> Vec<Place> {
        let stands = |start: usize| {
            let literals = set.literals.iter();
            literals
                .filter(move |literal| literal.stands_at(text, start))
                .map(move |literal| (literal.family, literal.tag, start..start + literal.bytes.len()))
        };
        (0..text.len()).flat_map(stands).collect()
    }

    /// Each phrase that may be part of an order, in some of the ways in which its words can be set apart.
    fn phrases() -> impl Iterator<Item = String> {
        let apart = [" ", "\n", "  ", " \t", "\\n"];
        crate::injection::phrases().flat_map(move |phrase| {
            apart.map(|apart| format!("Yes, so we {}{apart}end.", phrase.replace(' ', apart)))
        })
    }

    #[test]
    fn no_word_that_tells_is_lost_for_its_neighbours() {
        let triggers = crate::injection::triggers();
        let plainly = aho_corasick::AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(triggers.iter().map(|trigger| &trigger.bytes))
            .unwrap();
        let set = LiteralSet::new(std::slice::from_ref(&triggers));
        let mut telling = 0;
        for text in phrases() {
            let found = fast(&set, text.as_bytes(), 4096);
            for stands in plainly.find_overlapping_iter(&text) {
                let (at, tag) = (stands.range(), triggers[stands.pattern().as_usize()].tag);
                let hit = crate::candidates::Hit { at: at.clone(), tag };
                if crate::injection::tells(text.as_bytes(), &hit) {
                    telling += 1;
                    assert!(found.contains(&(0, tag, at)), "{hit:?} of {text:?} is lost");
                }
            }
        }
        assert!(telling > 10_000, "only {telling} words tell");
    }

    proptest! {
        #[test]
        fn the_filters_lose_and_invent_nothing(
            text in "([abAB1 $-]{0,9}|[ab]{10,20}|\\\\n|%2A|é){0,20}",
            words in proptest::collection::vec(("[abAB1 é$-]{3,6}", any::<bool>(), any::<bool>()), 1..8),
            block in prop_oneof![Just(1usize), Just(8), Just(64), Just(4096), 1..150usize],
        ) {
            let literals: Vec<Literal> = words
                .iter()
                .zip(0..)
                .map(|((word, exact, inside), tag)| {
                    let case = if *exact { Case::Exact } else { Case::Ignore };
                    let stands = if *inside { Stands::Anywhere } else { Stands::AtWordStart };
                    Literal { bytes: word.as_bytes().to_vec(), case, stands, tag }
                })
                .collect();
            let set = LiteralSet::new(std::slice::from_ref(&literals));
            let found = fast(&set, text.as_bytes(), block);
            let plain = plainly(&set, text.as_bytes());
            let counts = |place: &&Place| {
                let literal = &literals[place.1 as usize];
                literal.stands == Stands::Anywhere || starts::starts_word(text.as_bytes(), place.2.start)
            };
            for place in plain.iter().filter(counts) {
                prop_assert!(found.contains(place), "lost {place:?}");
            }
            for place in &found {
                prop_assert!(plain.contains(place), "invented {place:?}");
            }
            prop_assert!(found.windows(2).all(|pair| pair[0] != pair[1]), "found twice");
        }
    }
}
