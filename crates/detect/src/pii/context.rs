//! Words near a candidate that make it more likely to be what it looks like.

use std::ops::Range;

use fearless_simd::Simd;

use crate::lanes::{self, Chunk, Question, WIDTH, before_end, set_bits};

const BEFORE: usize = 72;
const AFTER: usize = 24;

/// Words of one rule, asked for in any ASCII case at the start of a word (so `card` also finds `cards` and, because
/// field names are words too, `credit_card` and `creditCard`).
pub(crate) struct ContextWords {
    words: &'static [&'static str],
    /// For each letter that a word may start with the letters that may follow it, one bit for each. The other bytes of ASCII
    /// share a place and a bit, and so do those beyond it.
    seconds: [u32; LETTERS],
}

impl ContextWords {
    #[expect(clippy::indexing_slicing, reason = "every letter has its place")]
    pub(crate) const fn new(words: &'static [&'static str]) -> Self {
        let mut seconds = [0; LETTERS];
        let mut rest = words;
        while let [word, tail @ ..] = rest {
            match word.as_bytes() {
                [first, second, ..] => seconds[letter(*first)] |= 1 << letter(*second),
                [first] => seconds[letter(*first)] = u32::MAX,
                [] => {}
            }
            rest = tail;
        }
        Self { words, seconds }
    }

    /// Whether one of the words stands shortly before or after a span.
    pub(crate) fn near(&self, text: &[u8], span: &Range<usize>) -> bool {
        self.within(text, span.start.saturating_sub(BEFORE)..span.start)
            || self.within(text, span.end..span.end.saturating_add(AFTER).min(text.len()))
    }

    /// Whether one of the words stands shortly before a place.
    pub(crate) fn before(&self, text: &[u8], at: usize, reach: usize) -> bool {
        self.within(text, at.saturating_sub(reach)..at)
    }

    /// Whether one of the words stands in a part of the text.
    pub(crate) fn within(&self, text: &[u8], range: Range<usize>) -> bool {
        let before = range.start.checked_sub(1).and_then(|at| text.get(at));
        let mut letter_before = u64::from(before.is_some_and(u8::is_ascii_alphabetic));
        let mut small_before = u64::from(before.is_some_and(u8::is_ascii_lowercase));
        let mut cases = [Cases::default(); 2];
        for first in range.clone().step_by(cases.len() * WIDTH) {
            let count = (range.end - first).div_ceil(WIDTH).min(cases.len());
            let cases = cases.get_mut(..count).unwrap_or_default();
            lanes::ask(text, first, b' ', &Casing, cases);
            for (at, cases) in (first..).step_by(WIDTH).zip(cases) {
                let Cases {
                    letters, capitals, ..
                } = *cases;
                let window = text.get(at..range.end).unwrap_or_default();
                let small = letters & !capitals;
                // A word starts after anything that is no letter, or at a hump of camelCase.
                let mut starts = !(letters << 1 | letter_before) | capitals & (small << 1 | small_before);
                starts &= before_end(at, range.end) & self.may_begin_with(cases);
                if set_bits(starts).any(|offset| self.starts(window.get(offset..).unwrap_or_default())) {
                    return true;
                }
                letter_before = letters >> (WIDTH - 1);
                small_before = small >> (WIDTH - 1);
            }
        }
        false
    }

    /// The bytes with which one of the words may begin: few begin with a digit or a mark.
    #[inline(always)]
    const fn may_begin_with(&self, cases: &Cases) -> u64 {
        let [.., marks, beyond_ascii] = self.seconds;
        let mut begin = cases.letters;
        if beyond_ascii != 0 {
            begin |= cases.beyond_ascii;
        }
        if marks != 0 {
            begin |= !(cases.letters | cases.beyond_ascii);
        }
        begin
    }

    /// Whether one of the words stands at the start of the bytes.
    #[inline]
    fn starts(&self, rest: &[u8]) -> bool {
        self.may_start(rest) && self.stands(rest)
    }

    /// Most words are told apart by their first two letters.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "every letter has its place")]
    fn may_start(&self, rest: &[u8]) -> bool {
        let (first, second) = match rest {
            [first, second, ..] => (*first, *second),
            [first] => (*first, 0),
            [] => return false,
        };
        self.seconds[letter(first)] >> letter(second) & 1 != 0
    }

    fn stands(&self, rest: &[u8]) -> bool {
        let begins = |word: &&[u8]| match (*word, rest) {
            ([first, second, ..], [a, b, ..]) => (first ^ a) & !0x20 == 0 && (second ^ b) & !0x20 == 0,
            _ => true,
        };
        let mut words = self.words.iter().map(|word| word.as_bytes()).filter(begins);
        words.any(|word| starts_with(rest, word))
    }
}

/// Which bytes of a chunk are letters, which of these are capitals, and which are none of ASCII.
#[derive(Clone, Copy, Default)]
struct Cases {
    letters: u64,
    capitals: u64,
    beyond_ascii: u64,
}

struct Casing;

impl Question for Casing {
    type Answer = Cases;

    #[inline(always)]
    fn of<S: Simd>(&self, chunk: Chunk<'_, S>) -> Cases {
        let bytes = chunk.lanes();
        Cases {
            letters: bytes.letters().bits(),
            capitals: bytes.between(b'A', b'Z').bits(),
            beyond_ascii: bytes.beyond_ascii().bits(),
        }
    }
}

/// The letters of the alphabet, a place for the other bytes of ASCII and one for all others.
const LETTERS: usize = 28;

/// Which letter of the alphabet a byte is, in any case.
#[inline(always)]
const fn letter(byte: u8) -> usize {
    let number = (byte | 0x20).wrapping_sub(b'a') as usize;
    if number < 26 {
        number
    } else {
        26 + (byte >> 7) as usize
    }
}

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plainly(words: &[&str], text: &[u8], range: Range<usize>) -> bool {
        range.clone().any(|at| {
            let before = at.checked_sub(1).map_or(b' ', |before| text[before]);
            let starts =
                !before.is_ascii_alphabetic() || before.is_ascii_lowercase() && text[at].is_ascii_uppercase();
            starts
                && words
                    .iter()
                    .any(|word| starts_with(&text[at..range.end], word.as_bytes()))
        })
    }

    proptest! {
        #[test]
        fn a_chunk_at_a_time_finds_what_each_byte_would(
            text in "([a-cA-C]{1,4}|ca|cab|#a|[ _#]|é|éa){0,60}",
            (from, to) in (0..200usize, 0..200usize),
        ) {
            let (from, to) = (from.min(text.len()), to.min(text.len()));
            let range = from.min(to)..from.max(to);
            for words in [&["cab", "acca"], &["#a", "bb"], &["éa", "b"], &["_#", "éé"]] {
                let fast = ContextWords::new(words).within(text.as_bytes(), range.clone());
                prop_assert_eq!(fast, plainly(words, text.as_bytes(), range.clone()));
            }
        }
    }

    #[test]
    fn words_are_found_at_word_starts() {
        let words = ContextWords::new(&["card", "social security"]);
        for (text, expected) in [
            ("my card ", true),
            ("CREDIT_CARD: ", true),
            ("creditCard=", true),
            ("discard ", false),
            ("Social Security no. ", true),
            ("", false),
        ] {
            assert_eq!(
                words.near(text.as_bytes(), &(text.len()..text.len())),
                expected,
                "{text}"
            );
        }
    }
}
