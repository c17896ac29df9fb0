//! Literals that are looked up where words start.
//!
//! A word starts where a letter or digit follows something else, a letter follows a digit, or at a hump of camelCase.
//! It also starts after an escape such as `\n` or `%3D` in a string inside a string, and at every letter of a run so long
//! that someone may have glued words together. Where a character beyond ASCII begins, a literal of that script may begin.

use super::super::signs::{BlockSigns, Signs};
use super::{Entry, folded};
use crate::candidates::{Case, Literal, Stands};
use crate::lanes::{self, WIDTH, before_end};

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
    let counts_at_start = literal.stands != Stands::Anywhere;
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

/// Six bytes, and eight.
const MANY: u64 = 0xffff_ffff_ffff;
const MOST: u64 = u64::MAX;

/// The literals by their first bytes.
pub(super) struct Starts {
    /// By eight bytes for literals that have them, by six, four or three for shorter ones.
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
            if entry.mask == MOST {
                starts.set(number_of_most(entry.head));
            } else if entry.mask & MANY == MANY {
                starts.set(number_of_many(entry.head));
            } else if gram_is_whole(entry) {
                starts.set(number(gram(entry.head)));
            } else {
                starts.set(number_of_three(entry.head));
            }
        }
        let (long, short) = entries.into_iter().partition(gram_is_whole);
        starts.long = Table::new(long, FACTOR);
        // The fourth byte is shifted out.
        starts.short = Table::new(short, FACTOR << 8);
        starts
    }

    /// Calls `found` with each entry that may stand where a word starts in the block of these signs.
    pub(super) fn find(&self, text: &[u8], signs: &BlockSigns, mut found: impl FnMut(usize, &Entry)) {
        let end = signs.block().end;
        let mut places = Places::new();
        let mut chunks = signs.chunks().peekable();
        while let Some(&(first, _)) = chunks.peek() {
            lanes::at_its_best(
                #[inline(always)]
                || {
                    for (at, [before, here, next]) in chunks.by_ref().take(CHUNKS) {
                        let starts = starts(here, before, next) & before_end(at, end);
                        places.push(at - first, starts);
                    }
                    places.retain(
                        #[inline(always)]
                        |place| self.may_start(folded(text, first + place)),
                    );
                },
            );
            for place in places.drain() {
                let bytes = folded(text, first + place);
                let entries = self.long.entries(bytes).iter().chain(self.short.entries(bytes));
                for entry in entries.filter(|entry| entry.agrees(bytes)) {
                    found(first + place, entry);
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
        let (three, few) = (number_of_three(bytes), number(gram(bytes)));
        let (many, most) = (number_of_many(bytes), number_of_most(bytes));
        let three = self.filter[three as usize >> 5] >> (three & 31);
        let few = self.filter[few as usize >> 5] >> (few & 31);
        let many = self.filter[many as usize >> 5] >> (many & 31);
        let most = self.filter[most as usize >> 5] >> (most & 31);
        (three | few | many | most) & 1 != 0
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

/// Which bit of the filter stands for three bytes.
#[inline(always)]
const fn number_of_three(bytes: u64) -> u32 {
    // The fourth byte is shifted out.
    gram(bytes << 8).wrapping_mul(0x85eb_ca6b) >> (32 - FILTER_BITS)
}

/// Which bit of the filter stands for six bytes.
#[inline(always)]
const fn number_of_many(bytes: u64) -> u32 {
    ((bytes << 16).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - FILTER_BITS)) as u32
}

/// Which bit of the filter stands for eight bytes.
#[inline(always)]
const fn number_of_most(bytes: u64) -> u32 {
    (bytes.wrapping_mul(0xd6e8_feb8_6659_fd93) >> (64 - FILTER_BITS)) as u32
}

/// How many chunks are looked at before the words that start in them are looked up.
const CHUNKS: usize = 16;

/// How many places are written at once.
const AT_ONCE: usize = 8;

/// Places in some chunks in a row. Where the next word starts cannot be foretold, and whether it is worth a look neither:
/// so places are written whether they count or not, and only the number of those that count is kept, which costs no jump.
struct Places {
    places: [u16; CHUNKS * WIDTH + AT_ONCE],
    count: usize,
}

impl Places {
    const fn new() -> Self {
        Self {
            places: [0; CHUNKS * WIDTH + AT_ONCE],
            count: 0,
        }
    }

    /// Adds the places of the bits that are set, counted from `first`.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "places are below CHUNKS * WIDTH")]
    fn push(&mut self, first: usize, mut bits: u64) {
        let end = self.count + bits.count_ones() as usize;
        while self.count < end {
            let slots = self.places.get_mut(self.count..self.count + AT_ONCE);
            for slot in slots.unwrap_or_default() {
                *slot = (first + bits.trailing_zeros() as usize) as u16;
                bits &= bits.wrapping_sub(1);
            }
            self.count += AT_ONCE;
        }
        self.count = end;
    }

    /// Drops the places that are not wanted.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "both are below the count")]
    fn retain(&mut self, wanted: impl Fn(usize) -> bool) {
        let mut kept = 0;
        for number in 0..self.count.min(self.places.len()) {
            let place = self.places[number];
            self.places[kept] = place;
            kept += usize::from(wanted(usize::from(place)));
        }
        self.count = kept;
    }

    /// The places, in order; none are left.
    #[inline(always)]
    fn drain(&mut self) -> impl Iterator<Item = usize> {
        let count = std::mem::take(&mut self.count);
        let places = self.places.get(..count).unwrap_or_default();
        places.iter().map(|place| usize::from(*place))
    }
}

/// Where words start in a chunk between two others.
#[inline(always)]
fn starts(here: &Signs, before: &Signs, next: &Signs) -> u64 {
    let (joined, joined_before) = (here.letters | here.digits, before.letters | before.digits);
    let small = here.letters & !here.capitals;
    let small_before = before.letters & !before.capitals;
    let follows_digit = here.digits << 1 | before.digits >> 63;
    let follows_small = small << 1 | small_before >> 63;
    let first = !(joined << 1 | joined_before >> 63);
    // An escape has one letter, a code two digits.
    let escaped = here.escapes << 2 | here.escapes << 3 | before.escapes >> 62 | before.escapes >> 61;
    joined & (first | escaped)
        | here.letters & follows_digit
        | here.capitals & follows_small
        | here.leads
        | glued(before.letters, here.letters, next.letters)
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
