//! Finds every literal of every rule family in one go.
//!
//! An automaton over hundreds of keywords costs a dependent load for each byte. Instead each literal is represented
//! by its rarest four bytes (three, when it has no more), and a bit table says for each position whether some
//! literal could stand there: independent loads, several positions at a time. Only where the bit is set are the
//! literals compared. The table is a filter, never an answer: folding and hashing may let too much through and can
//! let nothing slip.

use std::ops::Range;

use crate::candidates::{Case, Literal, MIN_LITERAL};

/// Bits of the filter, as a power of two: so many that few hold by chance, so few that it stays in the nearest cache.
const FILTER_BITS: u32 = 18;
const FILTER_WORDS: usize = 1 << (FILTER_BITS - 6);
const BUCKET_BITS: u32 = 13;
const BUCKETS: usize = 1 << BUCKET_BITS;
const FOLD: u64 = 0x2020_2020_2020_2020;

/// All literals, ready to be searched for.
pub(crate) struct LiteralSet {
    literals: Vec<Registered>,
    four: GramTable,
    three: GramTable,
}

struct Registered {
    bytes: Box<[u8]>,
    case: Case,
    family: usize,
    tag: u32,
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
        for (family, registered) in families.iter().enumerate() {
            for literal in registered
                .iter()
                .filter(|literal| literal.bytes.len() >= MIN_LITERAL)
            {
                let bytes = literal.bytes.clone().into_boxed_slice();
                literals.push(Registered {
                    bytes,
                    case: literal.case,
                    family,
                    tag: literal.tag,
                });
            }
        }
        let four = GramTable::new(4, &literals);
        let three = GramTable::new(3, &literals);
        Self {
            literals,
            four,
            three,
        }
    }

    /// Reports every literal whose representative bytes start in `block`, which is a part of `text`.
    pub(crate) fn find(&self, text: &[u8], block: Range<usize>, hits: &mut Vec<LiteralHit>) {
        let Some(part) = text.get(block.clone()) else {
            return;
        };
        let (chunks, rest) = part.as_chunks::<8>();
        let mut following = chunks.iter().skip(1);
        let mut at = block.start;
        for chunk in chunks {
            let now = u64::from_le_bytes(*chunk);
            let next = match following.next() {
                Some(next) => u64::from_le_bytes(*next),
                None => padded(text, at + 8),
            };
            self.look(text, at, now, next, hits);
            at += 8;
        }
        if !rest.is_empty() {
            let end = block.end;
            self.look_tail(text, at, end, hits);
        }
    }

    /// The plain way: every literal at every position. What [`LiteralSet::find`] must equal.
    #[cfg(test)]
    fn find_plainly(&self, text: &[u8]) -> Vec<(usize, u32, Range<usize>)> {
        let mut all = Vec::new();
        for start in 0..text.len() {
            for literal in &self.literals {
                if literal.stands_at(text, start) {
                    all.push((literal.family, literal.tag, start..start + literal.bytes.len()));
                }
            }
        }
        all
    }

    #[inline(always)]
    fn look(&self, text: &[u8], at: usize, now: u64, next: u64, hits: &mut Vec<LiteralHit>) {
        let possible = self.possible(now, next);
        if possible != 0 {
            self.compare(text, at, now, next, possible, hits);
        }
    }

    fn look_tail(&self, text: &[u8], at: usize, end: usize, hits: &mut Vec<LiteralHit>) {
        let (now, next) = (padded(text, at), padded(text, at + 8));
        let inside = (1u32 << (end - at).min(8)) - 1;
        let possible = self.possible(now, next) & inside;
        if possible != 0 {
            self.compare(text, at, now, next, possible, hits);
        }
    }

    /// One bit for each of eight positions: whether some literal's representative bytes may stand there.
    #[inline(always)]
    fn possible(&self, now: u64, next: u64) -> u32 {
        let (low, high) = grams(now, next);
        let mut possible = 0;
        for k in 0..4 {
            possible |= self.may_stand(low >> (8 * k)) << k;
            possible |= self.may_stand(high >> (8 * k)) << (k + 4);
        }
        possible
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "a gram is the low four bytes")]
    fn may_stand(&self, bytes: u64) -> u32 {
        self.four.bit(bytes as u32) | self.three.bit((bytes as u32) & 0x00ff_ffff)
    }

    #[cold]
    #[expect(clippy::cast_possible_truncation, reason = "a gram is the low four bytes")]
    fn compare(
        &self,
        text: &[u8],
        at: usize,
        now: u64,
        next: u64,
        mut possible: u32,
        hits: &mut Vec<LiteralHit>,
    ) {
        let (low, high) = grams(now, next);
        while possible != 0 {
            let k = possible.trailing_zeros();
            possible &= possible - 1;
            let gram = if k < 4 {
                low >> (8 * k)
            } else {
                high >> (8 * (k - 4))
            } as u32;
            for (table, gram) in [(&self.four, gram), (&self.three, gram & 0x00ff_ffff)] {
                for entry in table.entries(gram) {
                    self.confirm(text, at + k as usize, entry, hits);
                }
            }
        }
    }

    fn confirm(&self, text: &[u8], gram_at: usize, entry: &Entry, hits: &mut Vec<LiteralHit>) {
        let Some(start) = gram_at.checked_sub(entry.offset) else {
            return;
        };
        let Some(literal) = self.literals.get(entry.literal) else {
            return;
        };
        if literal.stands_at(text, start) {
            let at = start..start + literal.bytes.len();
            hits.push(LiteralHit {
                family: literal.family,
                tag: literal.tag,
                at,
            });
        }
    }
}

/// The folded bytes from which eight positions read their grams: positions 0..4 from the first, 4..8 from the second.
#[inline(always)]
fn grams(now: u64, next: u64) -> (u64, u64) {
    (now | FOLD, ((now >> 32) | (next << 32)) | FOLD)
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

struct Entry {
    gram: u32,
    offset: usize,
    literal: usize,
}

/// Which grams represent a literal. `filter` is asked for each byte of a text, `entries` where it says yes.
struct GramTable {
    filter: Box<[u64; FILTER_WORDS]>,
    /// Sorted by bucket; `starts` says where a bucket's entries begin.
    entries: Vec<Entry>,
    starts: Vec<u32>,
}

impl GramTable {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "there are far fewer than 2^32 literals"
    )]
    fn new(width: usize, literals: &[Registered]) -> Self {
        let mut entries: Vec<Entry> = literals
            .iter()
            .enumerate()
            .filter(|(_, literal)| literal.bytes.len().min(4) == width)
            .map(|(index, literal)| {
                let (offset, gram) = rarest(&literal.bytes, width);
                Entry {
                    gram,
                    offset,
                    literal: index,
                }
            })
            .collect();
        entries.sort_by_key(|entry| (bucket(entry.gram), entry.gram));
        let mut filter = Box::new([0u64; FILTER_WORDS]);
        for entry in &entries {
            let slot = slot(entry.gram);
            if let Some(word) = filter.get_mut(slot / 64) {
                *word |= 1 << (slot % 64);
            }
        }
        let starts = (0..=BUCKETS)
            .map(|wanted| entries.partition_point(|entry| bucket(entry.gram) < wanted) as u32)
            .collect();
        Self {
            filter,
            entries,
            starts,
        }
    }

    #[inline(always)]
    #[expect(
        clippy::indexing_slicing,
        reason = "a slot has FILTER_BITS bits, the table one bit for each"
    )]
    fn bit(&self, gram: u32) -> u32 {
        let slot = slot(gram);
        ((self.filter[slot / 64] >> (slot % 64)) & 1) as u32
    }

    fn entries(&self, gram: u32) -> impl Iterator<Item = &Entry> {
        let bucket = bucket(gram);
        let start = self.starts.get(bucket).map_or(0, |at| *at as usize);
        let end = self.starts.get(bucket + 1).map_or(start, |at| *at as usize);
        self.entries
            .get(start..end)
            .unwrap_or_default()
            .iter()
            .filter(move |entry| entry.gram == gram)
    }
}

#[inline(always)]
const fn slot(gram: u32) -> usize {
    (gram.wrapping_mul(0x9e37_79b1) >> (32 - FILTER_BITS)) as usize
}

#[inline(always)]
const fn bucket(gram: u32) -> usize {
    (gram.wrapping_mul(0x85eb_ca6b) >> (32 - BUCKET_BITS)) as usize
}

/// The part of a literal that ordinary text has least often.
fn rarest(bytes: &[u8], width: usize) -> (usize, u32) {
    let mut best = (0, 0, u32::MAX);
    for (offset, window) in bytes.windows(width).enumerate() {
        let mut common: u32 = window.iter().map(|byte| commonness(*byte)).sum();
        if memchr::memmem::find(EVERYDAY, &window.to_ascii_lowercase()).is_some() {
            common += IN_EVERYDAY_WORDS;
        }
        if common < best.2 {
            let gram = window
                .iter()
                .rev()
                .fold(0, |gram, byte| (gram << 8) | u32::from(*byte | 0x20));
            best = (offset, gram, common);
        }
    }
    (best.0, best.1)
}

/// Words that stand in most prose, logs and records: bytes taken from one of them would stand for a literal on every line.
const EVERYDAY: &[u8] = b" the of and to in is that for on with as was this by are from at or an which be it not have has had but \
    all were when we there can more if will would about out up into than them only other new some could time these two may \
    then do first any like my now over such our even most made after also did many before must through back years where \
    much your way well down should because each just those people how too little state good very make world still own see \
    men work long get here between both life being under never day same another know while last might us great old year \
    off come since against go came right used take three report system service market during however several water around \
    small large number process different region quarter increase delivery schedule weather possible standard result \
    measure without already language history growth pattern surface average network request response message status \
    version error warning info debug true false null type value data list item items count total index date name title \
    description created updated content text body url http https www com org file path line code user users email phone \
    address company customer order product price amount account project issue comment please thank thanks regards meeting \
    team update available information support provide following example using used uses include including within contact \
    change changes option options default function return string object class method test tests build release note notes \
    document documents page pages section table figure chapter ation ition ing ings ment ness able ible ould ight ough \": \": \", \"";

const IN_EVERYDAY_WORDS: u32 = 40;

/// How common a byte is in prose, logs and JSON, on a rough logarithmic scale.
fn commonness(byte: u8) -> u32 {
    match byte.to_ascii_lowercase() {
        b' ' | b'e' => 10,
        b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b'"' => 9,
        b'h' | b'l' | b'd' | b'c' | b'u' | b'm' => 8,
        b'p' | b'f' | b'g' | b'y' | b'b' | b'w' | b',' | b'.' | b':' | b'\n' | b'0' | b'1' | b'2' => 7,
        b'v' | b'k' | b'-' | b'_' | b'/' | b'3'..=b'9' => 5,
        b'x' | b'j' | b'q' | b'z' => 3,
        _ => 2,
    }
}

/// Eight bytes from a position on, with zeros past the end of the text.
fn padded(text: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    for (slot, byte) in bytes.iter_mut().zip(text.iter().skip(at)) {
        *slot = *byte;
    }
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fast(set: &LiteralSet, text: &[u8], block: usize) -> Vec<(usize, u32, Range<usize>)> {
        let mut hits = Vec::new();
        for start in (0..text.len()).step_by(block) {
            set.find(text, start..(start + block).min(text.len()), &mut hits);
        }
        let mut all: Vec<_> = hits
            .into_iter()
            .map(|hit| (hit.family, hit.tag, hit.at))
            .collect();
        all.sort_by_key(|(family, tag, at)| (at.start, *family, *tag));
        all
    }

    proptest! {
        #[test]
        fn the_filter_loses_and_invents_nothing(
            text in "[abAB-]{0,60}",
            words in proptest::collection::vec(("[abAB-]{3,6}", any::<bool>()), 1..8),
            block in prop_oneof![Just(1usize), Just(8), Just(24), Just(4096), 1..40usize],
        ) {
            let literals: Vec<Literal> = words
                .iter()
                .zip(0..)
                .map(|((word, exact), tag)| {
                    let case = if *exact { Case::Exact } else { Case::Ignore };
                    Literal { bytes: word.as_bytes().to_vec(), case, tag }
                })
                .collect();
            let set = LiteralSet::new(&[literals]);
            let mut plain = set.find_plainly(text.as_bytes());
            plain.sort_by_key(|(family, tag, at)| (at.start, *family, *tag));
            prop_assert_eq!(fast(&set, text.as_bytes(), block), plain);
        }
    }
}
