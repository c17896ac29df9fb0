//! Words near a candidate that make it more likely to be what it looks like.

use std::ops::Range;

const BEFORE: usize = 72;
const AFTER: usize = 24;

/// Words of one rule, asked for in any ASCII case at the start of a word (so `card` also finds `cards` and, because
/// field names are words too, `credit_card` and `creditCard`).
pub(crate) struct ContextWords {
    words: &'static [&'static str],
    /// Bit n is set when a word starts with letter n of the alphabet; the last bit stands for all other bytes.
    initials: u32,
}

impl ContextWords {
    pub(crate) const fn new(words: &'static [&'static str]) -> Self {
        let mut initials = 0;
        let mut rest = words;
        while let [word, tail @ ..] = rest {
            if let [first, ..] = word.as_bytes() {
                initials |= initial(*first);
            }
            rest = tail;
        }
        Self { words, initials }
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
        let Some(window) = text.get(range.clone()) else {
            return false;
        };
        let mut previous = range
            .start
            .checked_sub(1)
            .and_then(|at| text.get(at))
            .copied()
            .unwrap_or(b' ');
        let mut rest = window;
        while let Some((&byte, tail)) = rest.split_first() {
            if self.initials & initial(byte) != 0
                && starts_word(previous, byte)
                && self.words.iter().any(|word| starts_with(rest, word.as_bytes()))
            {
                return true;
            }
            previous = byte;
            rest = tail;
        }
        false
    }
}

const fn initial(byte: u8) -> u32 {
    match byte | 0x20 {
        letter @ b'a'..=b'z' => 1 << (letter - b'a'),
        _ => 1 << 31,
    }
}

/// Whether a word starts here: after anything that is no letter, or at a hump of camelCase.
fn starts_word(previous: u8, byte: u8) -> bool {
    !previous.is_ascii_alphabetic() || (previous.is_ascii_lowercase() && byte.is_ascii_uppercase())
}

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

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
