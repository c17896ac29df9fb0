//! Literals that are looked up where words start.
//!
//! A word starts where a letter or digit follows something else, a letter follows a digit, or at a hump of camelCase.
//! It also starts after an escape such as `\n` or `%3D` in a string inside a string, and at every letter of a run so long
//! that someone may have glued words together. Where a character beyond ASCII begins, a literal of that script may begin.

use std::ops::Range;

use super::{Entry, before_end, folded};
use crate::candidates::{Case, Literal, Stands};
use crate::lanes::{Lanes, WIDTH, set_bits};

/// Bits of the filter, as a power of two: so many that few collide, so few that it stays in the nearest cache.
const FILTER_BITS: u32 = 18;
const FILTER_WORDS: usize = 1 << (FILTER_BITS - 5);

/// Slots of the table, as a power of two.
const SLOT_BITS: u32 = 12;
const SLOTS: usize = 1 << SLOT_BITS;

/// Odd, with no pattern in its bits.
const FACTOR: u32 = 0x9e37_79b1;

/// The fewest bytes of a literal by which it is looked up.
const SHORTEST: usize = 3;

/// From this length on a run of letters may be words glued together.
const GLUED: usize = 14;

/// The byte of a literal at which a word starts wherever the literal counts, so that it can be looked up there.
pub(super) fn anchor(literal: &Literal) -> Option<usize> {
    let bytes = &literal.bytes;
    let first = *bytes.first()?;
    let counts_at_start = literal.stands == Stands::AtWordStart;
    if first >= 0xc0 || first.is_ascii_alphabetic() && counts_at_start {
        return Some(0);
    }
    let starts = |pair: &[u8]| match pair {
        [before, here] if !before.is_ascii_alphanumeric() => here.is_ascii_alphanumeric(),
        [before, here] if before.is_ascii_digit() => here.is_ascii_alphabetic(),
        [before, here] => {
            literal.case == Case::Exact && before.is_ascii_lowercase() && here.is_ascii_uppercase()
        }
        _ => false,
    };
    let inner = bytes.windows(2).position(starts).map(|before| before + 1);
    inner
        .filter(|inner| bytes.len() - inner >= SHORTEST)
        .or_else(|| (first.is_ascii_digit() && counts_at_start).then_some(0))
}

/// How many bytes say of a long literal that it may start.
const MANY: u64 = 0xffff_ffff_ffff;

/// The literals by their first bytes.
pub(super) struct Starts {
    /// By four bytes for literals of up to five, and by six for longer ones.
    filter: Box<[u32; FILTER_WORDS]>,
    /// Entries of four bytes or more, and shorter ones.
    long: Table,
    short: Table,
}

/// Entries by some of their first bytes.
struct Table {
    /// Sorted by the slot that their first bytes choose; `slots` says where a slot's entries begin.
    entries: Vec<Entry>,
    slots: Vec<u32>,
    /// What the first bytes are multiplied with, so that those which do not count are lost.
    factor: u32,
}

impl Starts {
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        let mut starts = Self {
            filter: Box::new([0; FILTER_WORDS]),
            long: Table::new(Vec::new(), FACTOR),
            short: Table::new(Vec::new(), FACTOR),
        };
        for entry in &entries {
            if entry.mask & MANY == MANY {
                starts.set(number_of_many(entry.head));
            } else if gram_is_whole(entry) {
                starts.set(number(gram(entry.head)));
            } else {
                // Every fourth byte, as the text's are read: folded.
                let fourths = (0..=u32::from(u8::MAX)).filter(|fourth| fourth & 0x20 != 0);
                fourths.for_each(|fourth| starts.set(number(gram(entry.head) | fourth << 24)));
            }
        }
        let (long, short) = entries.into_iter().partition(gram_is_whole);
        starts.long = Table::new(long, FACTOR);
        // The fourth byte is shifted out.
        starts.short = Table::new(short, FACTOR << 8);
        starts
    }

    /// Calls `found` with each entry that may stand where a word starts in `block`.
    #[inline(always)]
    pub(super) fn find(&self, text: &[u8], block: Range<usize>, mut found: impl FnMut(usize, &Entry)) {
        let mut before = Signs::before(text, block.start);
        let mut next = Lanes::ask(text, block.start, 0, Signs::of);
        for at in block.clone().step_by(WIDTH) {
            let here = next;
            next = Lanes::ask(text, at + WIDTH, 0, Signs::of);
            let starts = here.starts(&before, &next) & before_end(at, block.end);
            before = here;
            for offset in set_bits(starts) {
                let bytes = folded(text, at + offset);
                if self.may_start(bytes) {
                    let entries = self.long.entries(bytes).iter().chain(self.short.entries(bytes));
                    for entry in entries.filter(|entry| entry.agrees(bytes)) {
                        found(at + offset, entry);
                    }
                }
            }
        }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "a number below 2^FILTER_BITS has its word"
    )]
    fn set(&mut self, number: u32) {
        self.filter[number as usize >> 5] |= 1 << (number & 31);
    }

    #[inline(always)]
    #[expect(
        clippy::indexing_slicing,
        reason = "a number below 2^FILTER_BITS has its word"
    )]
    fn may_start(&self, bytes: u64) -> bool {
        let (few, many) = (number(gram(bytes)), number_of_many(bytes));
        let few = self.filter[few as usize >> 5] >> (few & 31);
        let many = self.filter[many as usize >> 5] >> (many & 31);
        (few | many) & 1 != 0
    }
}

impl Table {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "there are far fewer than 2^32 literals"
    )]
    fn new(mut entries: Vec<Entry>, factor: u32) -> Self {
        let slot = |entry: &Entry| slot(entry.head, factor);
        entries.sort_by_key(|entry| (slot(entry), entry.head, entry.literal));
        let slots = (0..=SLOTS)
            .map(|wanted| entries.partition_point(|entry| slot(entry) < wanted) as u32)
            .collect();
        Self {
            entries,
            slots,
            factor,
        }
    }

    #[inline(always)]
    fn entries(&self, bytes: u64) -> &[Entry] {
        let slot = slot(bytes, self.factor);
        let start = self.slots.get(slot).map_or(0, |at| *at as usize);
        let end = self.slots.get(slot + 1).map_or(start, |at| *at as usize);
        self.entries.get(start..end).unwrap_or_default()
    }
}

/// Which slot of a table the first bytes choose.
#[inline(always)]
const fn slot(bytes: u64, factor: u32) -> usize {
    (gram(bytes).wrapping_mul(factor) >> (32 - SLOT_BITS)) as usize
}

/// The first four bytes.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low four bytes")]
const fn gram(bytes: u64) -> u32 {
    bytes as u32
}

const fn gram_is_whole(entry: &Entry) -> bool {
    gram(entry.mask) == u32::MAX
}

/// Which bit of the filter stands for four bytes.
#[inline(always)]
const fn number(gram: u32) -> u32 {
    gram.wrapping_mul(FACTOR) >> (32 - FILTER_BITS)
}

/// Which bit of the filter stands for six bytes.
#[inline(always)]
const fn number_of_many(bytes: u64) -> u32 {
    ((bytes << 16).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - FILTER_BITS)) as u32
}

/// What the bytes of a chunk are, one bit for each.
#[derive(Clone, Copy)]
struct Signs {
    letters: u64,
    capitals: u64,
    digits: u64,
    /// `\\` and `%`.
    escapes: u64,
    leads: u64,
}

impl Signs {
    #[inline(always)]
    fn of(chunk: Lanes) -> Self {
        let leads = if chunk.beyond_ascii() == 0 {
            0
        } else {
            chunk.between(0xc0, 0xff).bits()
        };
        Self {
            letters: chunk.letters().bits(),
            capitals: chunk.between(b'A', b'Z').bits(),
            digits: chunk.digits().bits(),
            escapes: (chunk.are(b'\\') | chunk.are(b'%')).bits(),
            leads,
        }
    }

    /// The signs of the chunk that ends at a place; before the start of the text stands nothing.
    fn before(text: &[u8], at: usize) -> Self {
        let missing = u32::try_from(WIDTH.saturating_sub(at)).unwrap_or(0);
        let signs = Lanes::ask(text, at.saturating_sub(WIDTH), 0, Self::of);
        let moved = |bits: u64| bits.checked_shl(missing).unwrap_or(0);
        Self {
            letters: moved(signs.letters),
            capitals: moved(signs.capitals),
            digits: moved(signs.digits),
            escapes: moved(signs.escapes),
            leads: moved(signs.leads),
        }
    }

    /// Where words start.
    #[inline(always)]
    fn starts(&self, before: &Self, next: &Self) -> u64 {
        let (joined, joined_before) = (self.letters | self.digits, before.letters | before.digits);
        let small = self.letters & !self.capitals;
        let small_before = before.letters & !before.capitals;
        let follows_digit = self.digits << 1 | before.digits >> 63;
        let follows_small = small << 1 | small_before >> 63;
        let first = !(joined << 1 | joined_before >> 63);
        // An escape has one letter, a code two digits.
        let escaped = self.escapes << 2 | self.escapes << 3 | before.escapes >> 62 | before.escapes >> 61;
        joined & (first | escaped)
            | self.letters & follows_digit
            | self.capitals & follows_small
            | self.leads
            | glued(before.letters, self.letters, next.letters)
    }
}

/// The letters of long runs.
#[inline(always)]
fn glued(before: u64, letters: u64, next: u64) -> u64 {
    let around = u128::from(before >> 32) | u128::from(letters) << 32 | u128::from(next) << 96;
    let two = around & around >> 1;
    let four = two & two >> 2;
    let eight = four & four >> 4;
    let first = eight & eight >> (GLUED - 8);
    if first == 0 { 0 } else { spread(first) }
}

/// The letters of runs of [`GLUED`] letters, given where these begin, counted from 32 bytes before the chunk.
#[cold]
#[expect(clippy::cast_possible_truncation, reason = "the bits of the chunk itself")]
const fn spread(first: u128) -> u64 {
    let two = first | first << 1;
    let four = two | two << 2;
    let eight = four | four << 4;
    ((eight | eight << (GLUED - 8)) >> 32) as u64
}

/// Where words start, asked of one place.
#[cfg(test)]
pub(super) fn starts_word(text: &[u8], at: usize) -> bool {
    let byte = |at: Option<usize>| at.and_then(|at| text.get(at)).copied().unwrap_or(0);
    let (here, before) = (byte(Some(at)), byte(at.checked_sub(1)));
    let escaped = byte(at.checked_sub(2)) == b'\\' || byte(at.checked_sub(3)) == b'%';
    let letter = |byte: &&u8| byte.is_ascii_alphabetic();
    let run =
        text[..at].iter().rev().take_while(letter).count() + text[at..].iter().take_while(letter).count();
    here >= 0xc0
        || here.is_ascii_alphanumeric() && (!before.is_ascii_alphanumeric() || escaped)
        || here.is_ascii_alphabetic() && (before.is_ascii_digit() || run >= GLUED)
        || here.is_ascii_uppercase() && before.is_ascii_lowercase()
}
