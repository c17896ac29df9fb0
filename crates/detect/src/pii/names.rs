//! Names of persons, from a dictionary of given names and surnames and from titles before them.
//!
//! A dictionary cannot know every name, and many names are also words and places. So a given name counts when a
//! surname or another capitalised word follows it, alone only where the words around it speak of a person (see `alone`),
//! and each way has a confidence of its own.

mod alone;

use std::collections::HashMap;
use std::ops::Range;

use rustc_hash::FxBuildHasher;

use super::rule::{PiiRule, Sink};

pub(crate) static PERSON: PiiRule = PiiRule::personal(
    "person-name",
    "the name of a person",
    "a dictionary of given names and surnames, a title before it, or a field that is named for it",
);

/// One name per line, lower case; a `?` after it says that it is also a word or a place.
const GIVEN: &str = include_str!("../../data/given_names.txt");
const SURNAMES: &str = include_str!("../../data/surnames.txt");

const LONGEST_WORD: usize = 24;
const MAX_WORDS: usize = 4;

/// Words that stand between parts of a name without a capital.
const PARTICLES: [&[u8]; 14] = [
    b"de", b"da", b"do", b"dos", b"del", b"della", b"der", b"den", b"van", b"von", b"bin", b"al", b"el",
    b"la",
];

/// Capitalised words that follow a name in headings and forms and are no part of it.
const NEVER_NAMES: [&[u8]; 52] = [
    b"street",
    b"road",
    b"avenue",
    b"lane",
    b"drive",
    b"university",
    b"college",
    b"school",
    b"hospital",
    b"inc",
    b"llc",
    b"ltd",
    b"gmbh",
    b"corp",
    b"corporation",
    b"company",
    b"bank",
    b"group",
    b"foundation",
    b"institute",
    b"airport",
    b"park",
    b"city",
    b"county",
    b"island",
    b"river",
    b"lake",
    b"hotel",
    b"center",
    b"centre",
    b"server",
    b"api",
    b"the",
    b"and",
    b"day",
    b"award",
    b"st",
    b"union",
    b"loop",
    b"flat",
    b"flats",
    b"lodge",
    b"fort",
    b"harbor",
    b"orchestra",
    b"enterprises",
    b"consulting",
    b"industries",
    b"holdings",
    b"partners",
    b"turnpike",
    b"parkway",
];

/// The dictionary.
pub(crate) struct Names {
    words: HashMap<&'static [u8], Evidence, FxBuildHasher>,
    /// Says of most other words, from their length and first bytes, that they are no names.
    sieve: Box<[u64; SIEVE_WORDS]>,
}

/// Bits of the sieve, as a power of two: ten for each name.
const SIEVE_BITS: u32 = 19;
const SIEVE_WORDS: usize = 1 << (SIEVE_BITS - 6);

#[derive(Clone, Copy, Default)]
struct Evidence {
    given: bool,
    surname: bool,
    /// Also a word or a place.
    ambiguous: bool,
}

impl Names {
    pub(crate) fn new() -> Self {
        let mut words: HashMap<&'static [u8], Evidence, FxBuildHasher> = HashMap::default();
        for line in GIVEN.lines() {
            let evidence = words.entry(line.trim_end_matches('?').as_bytes()).or_default();
            evidence.given = true;
            evidence.ambiguous |= line.ends_with('?');
        }
        for line in SURNAMES.lines() {
            let evidence = words.entry(line.trim_end_matches('?').as_bytes()).or_default();
            evidence.surname = true;
            evidence.ambiguous |= line.ends_with('?') && !evidence.given;
        }
        let mut sieve = Box::new([0; SIEVE_WORDS]);
        for (word, bit) in words.keys().map(|name| place_in_sieve(name)) {
            if let Some(word) = sieve.get_mut(word) {
                *word |= 1 << bit;
            }
        }
        Self { words, sieve }
    }

    /// Decides about a capitalised word that starts at a place.
    pub(crate) fn check(&self, text: &[u8], start: usize, sink: &mut Sink<'_>) {
        let Some(first) = word(text, start) else { return };
        let Some(evidence) = self.known(text, &first) else {
            return;
        };
        if !evidence.given || follows_name(text, start, self) {
            return;
        }
        let Some(next) = next_word(text, first.end) else {
            if alone::is_person(self, text, &first, evidence.ambiguous) {
                sink.push(&PERSON, first, 55);
            }
            return;
        };
        let surname = self.known(text, &next);
        let percent = match surname {
            _ if is_never_name(text, &next) => return,
            Some(next) if next.surname && !next.ambiguous && !evidence.ambiguous => 80,
            Some(next) if next.surname && !evidence.ambiguous => 70,
            Some(next) if next.surname && !next.ambiguous => 62,
            Some(next) if next.given && !evidence.ambiguous => 65,
            Some(_) => 40,
            None if evidence.ambiguous => return,
            None if evidence.surname => 50,
            None => 58,
        };
        let end = self.name_end(text, next.end);
        // A street or a company that is named for somebody.
        if next_word(text, end).is_some_and(|after| is_never_name(text, &after)) {
            return;
        }
        sink.push(&PERSON, start..end, percent);
    }

    /// Decides about the capitalised words after words that often stand before other things too.
    pub(crate) fn check_known(&self, text: &[u8], after: usize, percent: u8, sink: &mut Sink<'_>) {
        let known = |first: &Range<usize>| {
            self.known(text, first)
                .is_some_and(|known| known.given && !known.ambiguous)
        };
        if word(text, after).is_some_and(|first| known(&first)) {
            self.check_titled(text, after, percent, sink);
        }
    }

    /// Decides about the capitalised words after a title that ends at a place.
    pub(crate) fn check_titled(&self, text: &[u8], after: usize, percent: u8, sink: &mut Sink<'_>) {
        let start = if text.get(after) == Some(&b' ') {
            after + 1
        } else {
            after
        };
        let Some(first) = word(text, start).filter(|first| first.len() > 1) else {
            return;
        };
        if !is_never_name(text, &first) {
            // After a title or an introduction the next word of a name need not be known.
            let next = next_word(text, first.end).filter(|next| next.len() > 2 && !is_never_name(text, next));
            let end = next.map_or(first.end, |next| next.end);
            sink.push(&PERSON, start..self.name_end(text, end), percent);
        }
    }

    /// Decides about a whole value that something says is a name.
    pub(crate) fn check_value(&self, text: &[u8], value: Range<usize>, percent: u8, sink: &mut Sink<'_>) {
        if is_name_shaped(text.get(value.clone()).unwrap_or_default()) {
            sink.push(&PERSON, value, percent);
        }
    }

    /// Whether the first word of a value is a given name.
    pub(crate) fn starts_with_given(&self, text: &[u8], value: &Range<usize>) -> bool {
        word(text, value.start).is_some_and(|first| self.known(text, &first).is_some_and(|known| known.given))
    }

    /// Where a name ends whose first words end here: after further capitalised words that can be parts of it.
    fn name_end(&self, text: &[u8], from: usize) -> usize {
        let mut end = from;
        for _ in 2..MAX_WORDS {
            let Some(next) = next_word(text, end).filter(|next| !is_never_name(text, next)) else {
                break;
            };
            if !self
                .known(text, &next)
                .is_some_and(|known| known.surname && !known.ambiguous)
            {
                break;
            }
            end = next.end;
        }
        end
    }

    fn known(&self, text: &[u8], word: &Range<usize>) -> Option<Evidence> {
        let written = text.get(word.clone())?;
        let (place, bit) = place_in_sieve(written);
        if self.sieve.get(place)? >> bit & 1 == 0 {
            return None;
        }
        let mut lower = [0; LONGEST_WORD];
        let lower = lower.get_mut(..written.len())?;
        lower.copy_from_slice(written);
        lower.make_ascii_lowercase();
        self.words.get(&*lower).copied()
    }
}

/// Which word and bit of the sieve stand for a word, in any case.
fn place_in_sieve(word: &[u8]) -> (usize, u64) {
    let start = match word.first_chunk::<8>() {
        Some(start) => u64::from_le_bytes(*start),
        None => word
            .iter()
            .rev()
            .fold(0, |start, byte| start << 8 | u64::from(*byte)),
    };
    let folded = (start | 0x2020_2020_2020_2020).wrapping_add(word.len() as u64);
    let hash = folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SIEVE_BITS);
    ((hash >> 6) as usize, hash & 63)
}

/// Which bytes a name is written with.
#[expect(clippy::indexing_slicing, reason = "the loop ends where the table does")]
const PART_OF_NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        #[expect(clippy::cast_possible_truncation, reason = "the table has 256 entries")]
        let written = byte as u8;
        table[byte] = written.is_ascii_alphabetic() || written >= 0x80 || matches!(written, b'-' | b'\'');
        byte += 1;
    }
    table
};

#[expect(clippy::indexing_slicing, reason = "the table has an entry for every byte")]
const fn is_part_of_name(byte: u8) -> bool {
    PART_OF_NAME[byte as usize]
}

/// The word at a place, if it is written like a name: a capital and small letters, perhaps with a hyphen.
fn word(text: &[u8], start: usize) -> Option<Range<usize>> {
    let rest = text.get(start..)?;
    if !rest.first()?.is_ascii_uppercase() && *rest.first()? < 0xc3 {
        return None;
    }
    let length = rest
        .iter()
        .take(LONGEST_WORD + 1)
        .take_while(|byte| is_part_of_name(**byte))
        .count();
    let mut written = rest.get(..length)?;
    while let [head @ .., b'-' | b'\''] = written {
        written = head;
    }
    if let [head @ .., b'\'', b's'] = written {
        written = head;
    }
    let mut others = written.iter().skip(1);
    let initial = written.len() == 1;
    let is_small = |byte: &u8| byte.is_ascii_lowercase() || *byte >= 0x80;
    (written.len() <= LONGEST_WORD && (initial || others.any(is_small)) && !is_glued(rest.get(length)))
        .then_some(start..start + written.len())
}

/// Whether a word goes on into an identifier, a host name or an address.
fn is_glued(after: Option<&u8>) -> bool {
    after.is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'@' | b'(' | b'='))
}

/// The next word of a name: after one space, perhaps after an initial with its dot or a particle.
fn next_word(text: &[u8], end: usize) -> Option<Range<usize>> {
    if text.get(end) != Some(&b' ') {
        return None;
    }
    let mut start = end + 1;
    if let Some([initial, b'.', b' ']) = text.get(start..start + 3)
        && initial.is_ascii_uppercase()
    {
        start += 3;
    } else if let Some([initial, b' ']) = text.get(start..start + 2)
        && initial.is_ascii_uppercase()
    {
        start += 2;
    }
    for _ in 0..2 {
        let rest = text.get(start..).unwrap_or_default();
        let particle = PARTICLES
            .iter()
            .find(|particle| rest.starts_with(particle) && rest.get(particle.len()) == Some(&b' '));
        start += particle.map_or(0, |particle| particle.len() + 1);
    }
    word(text, start).filter(|next| next.len() > 1)
}

/// Whether the word before, after one space, is itself a given name: then the name was read from there.
fn follows_name(text: &[u8], start: usize, names: &Names) -> bool {
    let Some(end) = start.checked_sub(1).filter(|at| text.get(*at) == Some(&b' ')) else {
        return false;
    };
    let floor = end.saturating_sub(LONGEST_WORD);
    let before = text.get(floor..end).unwrap_or_default();
    let length = before
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_alphabetic() || **byte >= 0x80)
        .count();
    let previous = end - length..end;
    text.get(previous.start).is_some_and(u8::is_ascii_uppercase)
        && names
            .known(text, &previous)
            .is_some_and(|known| known.given && !known.ambiguous)
}

fn is_never_name(text: &[u8], word: &Range<usize>) -> bool {
    let written = text.get(word.clone()).unwrap_or_default();
    NEVER_NAMES
        .iter()
        .any(|never| written.eq_ignore_ascii_case(never))
}

fn is_name_shaped(value: &[u8]) -> bool {
    let words = value.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let mut count = 0;
    for word in words {
        count += 1;
        let capital = word
            .first()
            .is_some_and(|byte| byte.is_ascii_uppercase() || *byte >= 0xc3);
        let letters = word
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80 || b"-'.,".contains(byte));
        if !letters || !(capital || PARTICLES.contains(&word)) {
            return false;
        }
    }
    (1..=5).contains(&count) && (2..=60).contains(&value.len())
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn names_in_text() {
        check(
            "[08:05] Kristina Lindberg logged in",
            &[("person-name", "Kristina Lindberg")],
        );
        check("ask Mary Anne Smith today", &[("person-name", "Mary Anne Smith")]);
        check("by Vincent van Gogh.", &[("person-name", "Vincent van Gogh")]);
        check("John F. Kennedy's speech", &[("person-name", "John F. Kennedy")]);
    }

    #[test]
    fn words_that_are_also_names() {
        check("Will Smart Contracts Grant Access In May", &[]);
        check("Mary here. James Street. Thomas() James_Bond", &[]);
        check("The Quick Brown Fox", &[]);
    }
}
