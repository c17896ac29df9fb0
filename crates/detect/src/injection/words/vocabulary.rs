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

/// Bits of the sieve, as a power of two: reading a word that is not known costs more than the larger sieve does.
const SIEVE_BITS: u32 = 18;
const SIEVE_WORDS: usize = 1 << (SIEVE_BITS - 6);

/// The words of the lexicon by their beginning, and the articles.
pub(super) struct Vocabulary {
    known: FxHashMap<(u64, usize), Known>,
    /// Says of most other words that they are not known.
    sieve: Sieve,
    /// The same of words before what follows them (see [`Next`]), which most phrases need.
    followed: Sieve,
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
    /// Phrases that need no letter next, and those that do, by that letter.
    alone: Vec<Phrase>,
    followed: Vec<Phrase>,
    /// The letters that the latter need, one bit for each.
    nexts: u64,
    pub(super) is_article: bool,
}

/// A phrase of the lexicon after its first word.
pub(super) struct Phrase {
    pub(super) rest: Box<[u8]>,
    /// The letter after the blank, folded, if that is how the rest begins.
    next: Option<u8>,
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
                let known = known.entry(key(bytes, length)).or_default();
                known.add(Phrase { rest, next, classes });
            }
        }
        for article in ARTICLES {
            let key = key(article.as_bytes(), article.len());
            known.entry(key).or_default().is_article = true;
        }
        let (mut sieve, mut followed) = (Sieve::empty(), Sieve::empty());
        for (&(start, length), known) in &known {
            sieve.add(start, length);
            for next in known.all().flat_map(|phrase| Next::all_before(&phrase.rest)) {
                followed.add(next.after(start), length);
            }
        }
        Self {
            known,
            sieve,
            followed,
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
    pub(super) fn may_know(&self, start: u64, length: usize) -> bool {
        self.sieve.may_have(start, length)
    }

    /// Whether an entry may stand where the word with this key does, given the three bytes after the word. Articles are no
    /// entries.
    #[inline(always)]
    pub(super) fn may_stand(&self, start: u64, length: usize, after: [u8; 3]) -> bool {
        self.followed.may_have(Next::WHATEVER.after(start), length)
            | self.followed.may_have(Next::of(after).after(start), length)
    }
}

/// What follows a word: after a blank two letters, one letter, another blank or a mark; or a mark right after the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next(u8, u8);

impl Next {
    /// What an entry of one word needs.
    const WHATEVER: Self = Self(0, 0);
    const MORE_BLANKS: Self = Self(b' ', 0);

    #[inline(always)]
    const fn of([first, second, third]: [u8; 3]) -> Self {
        let letter = folded_letter(second);
        if !first.is_ascii_whitespace() {
            Self(first | 0x80, 0)
        } else if letter != 0 {
            Self(letter, folded_letter(third))
        } else if second.is_ascii_whitespace() {
            Self::MORE_BLANKS
        } else {
            Self(second, 0)
        }
    }

    /// Everything that may follow where the rest of a phrase does. Its blanks may be several, its apostrophes printed ones.
    fn all_before(rest: &[u8]) -> Vec<Self> {
        let first = |mark: u8| {
            [Some(mark), (mark == b'\'').then_some(PRINTED)]
                .into_iter()
                .flatten()
        };
        match rest {
            [] | [b' '] => vec![Self::WHATEVER],
            [b' ', letter] if folded_letter(*letter) != 0 => (0..=u8::MAX)
                .map(|any| Self(folded_letter(*letter), folded_letter(any)))
                .chain([Self::MORE_BLANKS])
                .collect(),
            [b' ', second, rest @ ..] => {
                let third = rest.first().copied().unwrap_or(0);
                let seconds = first(*second).map(|second| Self::of([b' ', second, third]));
                seconds.chain([Self::MORE_BLANKS]).collect()
            }
            [mark, ..] => first(*mark).map(|mark| Self::of([mark, 0, 0])).collect(),
        }
    }

    /// The key of a word that this follows.
    #[inline(always)]
    const fn after(self, start: u64) -> u64 {
        let Self(first, second) = self;
        start ^ (first as u64) << 56 ^ (second as u64) << 44 ^ (first as u64) << 24
    }
}

/// The first byte of a printed apostrophe.
const PRINTED: u8 = 0xe2;

/// A letter or digit in lower case; 0 for anything else.
#[inline(always)]
const fn folded_letter(byte: u8) -> u8 {
    if byte.is_ascii_alphanumeric() {
        byte | 0x20
    } else {
        0
    }
}

impl Phrase {
    /// Whether the rest may stand in the bytes: two letters after a blank tell most of them.
    #[inline]
    pub(super) fn may_follow(&self, after: &[u8]) -> bool {
        match (&*self.rest, after) {
            // Of several blanks nothing is said.
            ([b' ', wanted, next, ..], [b' ', there, second, ..])
                if wanted.is_ascii_alphanumeric() && there.is_ascii_alphanumeric() =>
            {
                (wanted ^ there) & !0x20 == 0
                    && (!next.is_ascii_alphanumeric() || (next ^ second) & !0x20 == 0)
            }
            _ => true,
        }
    }
}

impl Known {
    fn add(&mut self, phrase: Phrase) {
        match phrase.next {
            None => self.alone.push(phrase),
            Some(next) => {
                self.nexts |= letter_bit(next);
                let after = self.followed.partition_point(|known| known.next <= phrase.next);
                self.followed.insert(after, phrase);
            }
        }
    }

    /// The phrases that may stand where this letter comes next.
    pub(super) fn phrases(&self, next: Option<u8>) -> impl Iterator<Item = &Phrase> {
        let needed = next.is_some_and(|next| self.nexts & letter_bit(next) != 0);
        let followed = if needed { self.followed.as_slice() } else { &[] };
        let first = followed.partition_point(|phrase| phrase.next < next);
        let followed = followed
            .iter()
            .skip(first)
            .take_while(move |phrase| phrase.next == next);
        self.alone.iter().chain(followed)
    }

    /// All phrases.
    fn all(&self) -> impl Iterator<Item = &Phrase> {
        self.alone.iter().chain(&self.followed)
    }
}

/// A digit shares its bit with a letter.
const fn letter_bit(letter: u8) -> u64 {
    1 << (letter & 0x3f)
}

/// Says of most keys that they are not among some.
struct Sieve(Box<[u64; SIEVE_WORDS]>);

impl Sieve {
    fn empty() -> Self {
        Self(Box::new([0; SIEVE_WORDS]))
    }

    fn add(&mut self, start: u64, length: usize) {
        let (word, bit) = place_in_sieve(start, length);
        if let Some(word) = self.0.get_mut(word) {
            *word |= 1 << bit;
        }
    }

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "every place in the sieve has its word")]
    fn may_have(&self, start: u64, length: usize) -> bool {
        let (word, bit) = place_in_sieve(start, length);
        self.0[word] >> bit & 1 != 0
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::injection::gate::follow;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn two_letters_hold_back_no_phrase(
            entry in proptest::sample::select(LEXICON.entries().map(|(entry, _)| entry.to_owned()).collect::<Vec<_>>()),
            (blank, upper, tail) in (" |  |\n", any::<bool>(), "[ -~]{0,4}"),
        ) {
            let length = word_length(entry.as_bytes());
            let rest: Box<[u8]> = entry.as_bytes()[length..].into();
            let next = nearest(rest.iter().copied());
            let phrase = Phrase { rest, next, classes: ClassSet::default() };
            let written = entry[length..].replace(' ', &blank) + &tail;
            let written = if upper { written.to_ascii_uppercase() } else { written };
            prop_assert!(follow(written.as_bytes().iter(), phrase.rest.iter().copied()).is_some());
            prop_assert!(phrase.may_follow(written.as_bytes()));
        }

        #[test]
        fn phrases_are_those_of_the_next_letter(next in "[a-z0-9]?") {
            let next = next.bytes().next();
            for known in VOCABULARY.known.values() {
                let found = known.phrases(next).count();
                let plainly = known.all().filter(|phrase| phrase.next.is_none() || phrase.next == next);
                prop_assert_eq!(found, plainly.count());
            }
        }
    }
}
