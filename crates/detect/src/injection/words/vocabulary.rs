//! The words of the lexicon by their first bytes.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::word_length;
use crate::injection::class::ClassSet;
use crate::injection::gate::nearest;
use crate::injection::lexicon::LEXICON;
use crate::injection::token::ARTICLES;
use crate::lanes::Halves;

pub(super) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::build);

/// Bits of the sieve, as a power of two.
const SIEVE_BITS: u32 = 15;
const SIEVE_WORDS: usize = 1 << (SIEVE_BITS - 6);

/// The words of the lexicon by their beginning, and the articles.
pub(super) struct Vocabulary {
    known: FxHashMap<(u64, usize), Known>,
    /// Says of most other words that they are not known.
    sieve: Box<[u64; SIEVE_WORDS]>,
    /// The marks with which something begins, and what may follow them.
    pub(super) marks: Marks,
}

/// The marks with which something begins: told for whole chunks by two bytes in a row.
pub(super) struct Marks {
    begins: [bool; 256],
    pub(super) first: Halves,
    pub(super) second: Halves,
}

#[derive(Default)]
pub(super) struct Known {
    pub(super) phrases: Vec<Phrase>,
    pub(super) is_article: bool,
}

/// A phrase of the lexicon after its first word.
pub(super) struct Phrase {
    pub(super) rest: Box<[u8]>,
    /// The letter after the blank, folded, if that is how the rest begins.
    pub(super) next: Option<u8>,
    pub(super) classes: ClassSet,
}

impl Vocabulary {
    fn build() -> Self {
        let mut known: FxHashMap<(u64, usize), Known> = FxHashMap::default();
        for (entry, classes) in LEXICON.entries() {
            let bytes = entry.as_bytes();
            let length = word_length(bytes);
            if length > 0 {
                let rest: Box<[u8]> = bytes.get(length..).unwrap_or_default().into();
                let next = nearest(rest.iter().copied());
                let list = &mut known.entry(key(bytes, length)).or_default().phrases;
                list.push(Phrase { rest, next, classes });
            }
        }
        for article in ARTICLES {
            let key = key(article.as_bytes(), article.len());
            known.entry(key).or_default().is_article = true;
        }
        let mut sieve = Box::new([0; SIEVE_WORDS]);
        for &(start, length) in known.keys() {
            let (word, bit) = place_in_sieve(start, length);
            if let Some(word) = sieve.get_mut(word) {
                *word |= 1 << bit;
            }
        }
        Self {
            known,
            sieve,
            marks: Marks::of_lexicon(),
        }
    }

    /// What is known of the word of a length at the start of the bytes.
    #[inline]
    pub(super) fn look_up(&self, bytes: &[u8], length: usize) -> Option<&Known> {
        let (start, length) = key(bytes, length);
        if !self.may_know(start, length) {
            return None;
        }
        self.known.get(&(start, length))
    }

    /// Whether something may be known of the word with this key: for most words nothing is.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "every place in the sieve has its word")]
    pub(super) fn may_know(&self, start: u64, length: usize) -> bool {
        let (word, bit) = place_in_sieve(start, length);
        self.sieve[word] >> bit & 1 != 0
    }
}

impl Marks {
    fn of_lexicon() -> Self {
        let mut marks = Self {
            begins: [false; 256],
            first: Halves::default(),
            second: Halves::default(),
        };
        for (mark, begins) in (0..=u8::MAX).zip(&mut marks.begins) {
            let mut nexts: Vec<u8> = LEXICON
                .marked(mark)
                .filter_map(|(entry, _)| entry.as_bytes().get(1).copied())
                .collect();
            if mark == b'@' {
                // Anything may follow in an address.
                nexts.extend(0..=u8::MAX);
            }
            *begins = mark == b'@' || LEXICON.marked(mark).next().is_some();
            if *begins {
                let group = 1 << (mark % 8);
                marks.first.add(mark, group);
                nexts.iter().for_each(|next| marks.second.add(next | 0x20, group));
            }
        }
        marks
    }

    /// Whether something begins with a mark.
    #[inline]
    pub(super) fn begin_with(&self, mark: u8) -> bool {
        self.begins.get(usize::from(mark)).is_some_and(|begins| *begins)
    }
}

#[inline(always)]
const fn place_in_sieve(start: u64, length: usize) -> (usize, u64) {
    let hash = start
        .wrapping_add(length as u64)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        >> (64 - SIEVE_BITS);
    ((hash >> 6) as usize, hash & 63)
}

/// The first eight bytes of a word in lower case, and its length.
#[inline(always)]
pub(super) fn key(bytes: &[u8], length: usize) -> (u64, usize) {
    const SMALL: u64 = 0x2020_2020_2020_2020;
    let start = match bytes.first_chunk::<8>() {
        Some(start) => u64::from_le_bytes(*start),
        None => bytes
            .iter()
            .rev()
            .fold(0, |start, byte| start << 8 | u64::from(*byte)),
    };
    let missing = 8_usize.saturating_sub(length) as u32 * 8;
    let mask = u64::MAX.checked_shr(missing).unwrap_or(0);
    ((start | SMALL) & mask, length)
}
