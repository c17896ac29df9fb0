//! The key words of an override, misspelt by one letter. A model reads `iunstructions` without noticing.

use super::class::Class;
use super::token::Token;

const WORDS: [(&str, Class); 8] = [
    ("ignore", Class::Override),
    ("disregard", Class::Override),
    ("previous", Class::Prior),
    ("preceding", Class::Prior),
    ("instruction", Class::Instr),
    ("instructions", Class::Instr),
    ("directives", Class::Instr),
    ("guidelines", Class::Instr),
];

/// Pushes a token for each word that is one edit away from a key word and is not the word itself.
pub(super) fn find(text: &str, tokens: &mut Vec<Token>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        if let Some(class) = meant(rest.get(..length).unwrap_or_default()) {
            let mut token = Token::of(at..at + length, class);
            token.misspelt = true;
            tokens.push(token);
        }
        at += length.max(1);
    }
}

/// How long a misspelt key word may be.
pub(super) const LENGTHS: std::ops::RangeInclusive<usize> = 5..=13;

/// What a word means that is one edit away from a key word.
pub(super) fn meant(word: &[u8]) -> Option<Class> {
    let likely =
        |beginning: &[u8; 3]| LENGTHS.contains(&word.len()) && Beginnings::of_misspelt().may_be(*beginning);
    if !word.first_chunk().is_some_and(likely) {
        return None;
    }
    let close = WORDS.iter().find(|(key, _)| one_edit_apart(word, key.as_bytes()));
    close.map(|(_, class)| *class)
}

/// The first three letters of words that may be one edit away from a key word.
#[derive(Clone, Copy)]
pub(super) struct Beginnings(&'static [u64; 1 << 9]);

impl Beginnings {
    #[inline]
    pub(super) const fn of_misspelt() -> Self {
        Self(&BEGINNINGS)
    }

    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "fifteen bits have their place")]
    pub(super) fn may_be(self, [first, second, third]: [u8; 3]) -> bool {
        let place = three_letters(first, second, third);
        self.0[place >> 6] >> (place & 63) & 1 != 0
    }
}

/// One bit for each three letters with which a misspelt key word may begin.
static BEGINNINGS: [u64; 1 << 9] = {
    let mut beginnings = [0; 1 << 9];
    let mut words: &[(&str, Class)] = &WORDS;
    while let [(key, _), rest @ ..] = words {
        if let [a, b, c, d, ..] = *key.as_bytes() {
            // A letter left out, or neighbours swapped.
            add(&mut beginnings, a, c, d);
            add(&mut beginnings, a, c, b);
            // Any letter in place of one, or between two.
            let mut any = 0;
            while any < 32 {
                add(&mut beginnings, a, any, b);
                add(&mut beginnings, a, any, c);
                add(&mut beginnings, a, b, any);
                any += 1;
            }
        }
        words = rest;
    }
    beginnings
};

#[expect(clippy::indexing_slicing, reason = "fifteen bits have their place")]
const fn add(beginnings: &mut [u64; 1 << 9], first: u8, second: u8, third: u8) {
    let place = three_letters(first, second, third);
    beginnings[place >> 6] |= 1 << (place & 63);
}

/// Five bits of each.
#[inline(always)]
const fn three_letters(first: u8, second: u8, third: u8) -> usize {
    ((first & 31) as usize) << 10 | ((second & 31) as usize) << 5 | (third & 31) as usize
}

/// Whether one insertion, deletion, replacement or swap of neighbours turns one word into the other. The first letter
/// must agree, which keeps ordinary words apart and makes the test cheap.
fn one_edit_apart(word: &[u8], key: &[u8]) -> bool {
    let (Some(first), Some(key_first)) = (word.first(), key.first()) else {
        return false;
    };
    if !first.eq_ignore_ascii_case(key_first) || word.len().abs_diff(key.len()) > 1 {
        return false;
    }
    let same = |(a, b): &(&u8, &u8)| a.eq_ignore_ascii_case(b);
    let prefix = word.iter().zip(key).take_while(same).count();
    let (word, key) = (
        word.get(prefix..).unwrap_or_default(),
        key.get(prefix..).unwrap_or_default(),
    );
    let suffix = word.iter().rev().zip(key.iter().rev()).take_while(same).count();
    let (left, right) = (word.len() - suffix, key.len() - suffix);
    match (left, right) {
        (0, 0) => false,
        (0 | 1, 0 | 1) => true,
        (2, 2) => {
            word.first()
                .zip(key.get(1))
                .is_some_and(|(a, b)| a.eq_ignore_ascii_case(b))
                && word
                    .get(1)
                    .zip(key.first())
                    .is_some_and(|(a, b)| a.eq_ignore_ascii_case(b))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn three_letters_tell_what_may_be_meant(
            (key, _) in proptest::sample::select(WORDS.to_vec()),
            (at, letter, edit) in (0..13usize, "[a-zA-Z0-9]", 0..4),
        ) {
            let mut word = key.as_bytes().to_vec();
            let at = at % word.len();
            match edit {
                0 => word[at] = letter.as_bytes()[0],
                1 => word.insert(at, letter.as_bytes()[0]),
                2 => drop(word.remove(at)),
                _ => word.swap(at, (at + 1) % key.len()),
            }
            if meant(&word).is_some() {
                prop_assert!(Beginnings::of_misspelt().may_be([word[0], word[1], word[2]]), "{key}");
            }
        }
    }

    #[test]
    fn one_edit_is_a_typo_and_two_are_another_word() {
        for (word, key, apart) in [
            ("iunstructions", "instructions", true),
            ("instrctions", "instructions", true),
            ("ignroe", "ignore", true),
            ("ignare", "ignore", true),
            ("ignore", "ignore", false),
            ("ignored", "ignore", true),
            ("inore", "ignore", true),
            ("ingots", "ignore", false),
            ("tnstructions", "instructions", false),
        ] {
            assert_eq!(
                one_edit_apart(word.as_bytes(), key.as_bytes()),
                apart,
                "{word} and {key}"
            );
        }
    }
}
