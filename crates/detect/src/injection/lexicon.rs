//! Words and phrases by meaning. The words are data (`lexicon.txt`); this reads them and finds them in a text.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::class::{Class, ClassSet};
use super::token::Token;
use crate::normalize::normalize;

/// In a word this long, entries are found without word borders: someone glued a sentence together.
const GLUED_WORD: usize = 14;

/// The shortest entry that is looked for inside a glued word.
const GLUED_ENTRY: usize = 5;

/// Entries shorter than this are words only by themselves: `my-project` is a name.
const SHORT_ENTRY: usize = 6;

/// The built-in words.
pub(super) static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::read(include_str!("lexicon.txt")));

/// All entries, in their plain reading, with the classes each belongs to.
pub(super) struct Lexicon {
    entries: Vec<(String, ClassSet)>,
    finder: Option<AhoCorasick>,
}

impl Lexicon {
    fn read(text: &str) -> Self {
        let mut entries: BTreeMap<String, ClassSet> = BTreeMap::new();
        for (class, entry) in lines(text) {
            *entries.entry(entry).or_default() |= class.into();
        }
        let entries: Vec<_> = entries.into_iter().collect();
        let finder = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(entries.iter().map(|(entry, _)| entry))
            .ok();
        Self { entries, finder }
    }

    /// Every entry with its classes.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, ClassSet)> {
        self.entries
            .iter()
            .map(|(entry, classes)| (entry.as_str(), *classes))
    }

    /// Whether an entry of one of the classes stands somewhere in the bytes.
    pub(super) fn mentions(&self, bytes: &[u8], classes: ClassSet) -> bool {
        self.finder.as_ref().is_some_and(|finder| {
            finder.find_overlapping_iter(bytes).any(|found| {
                let known = self.entries.get(found.pattern().as_usize());
                known.is_some_and(|(_, known)| known.meets(classes)) && is_word(bytes, &found.range())
            })
        })
    }

    /// Every entry that stands in the text, overlapping ones included.
    pub(super) fn find(&self, text: &str, tokens: &mut Vec<Token>) {
        let Some(finder) = &self.finder else { return };
        for found in finder.find_overlapping_iter(text) {
            let Some((_, classes)) = self.entries.get(found.pattern().as_usize()) else {
                continue;
            };
            let (start, end) = (found.start(), found.end());
            if stands_alone(text, start, end) || inside_glued_word(text.as_bytes(), start, end) {
                tokens.push(Token::new(start..end, *classes));
            }
        }
    }
}

/// Whether the bytes at a place are a word of their own, or part of words that were glued together.
pub(super) fn is_word(bytes: &[u8], at: &Range<usize>) -> bool {
    let alone = |inside: Option<&u8>, outside: Option<&u8>| {
        !inside.is_some_and(u8::is_ascii_alphanumeric) || !outside.is_some_and(u8::is_ascii_alphanumeric)
    };
    let entry = bytes.get(at.clone()).unwrap_or_default();
    let before = at.start.checked_sub(1).and_then(|before| bytes.get(before));
    let bordered = alone(entry.first(), before) && alone(entry.last(), bytes.get(at.end));
    bordered || before == Some(&b'n') || inside_glued_word(bytes, at.start, at.end)
}

fn lines(text: &str) -> impl Iterator<Item = (Class, String)> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
        .filter_map(|(class, entries)| Some((Class::named(class)?, entries)))
        .flat_map(|(class, entries)| {
            entries
                .split(", ")
                .map(move |entry| (class, normalize(entry.trim().as_bytes()).text().to_lowercase()))
        })
        .filter(|(_, entry)| !entry.is_empty())
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let entry = text.get(start..end).unwrap_or_default();
    let part_of_name = |c: char| entry.len() < SHORT_ENTRY && matches!(c, '-' | '_');
    let border = |inside: Option<char>, outside: Option<char>| {
        !inside.is_some_and(needs_border) || !outside.is_some_and(|c| c.is_alphanumeric() || part_of_name(c))
    };
    border(
        entry.chars().next(),
        text.get(..start).and_then(|before| before.chars().next_back()),
    ) && border(
        entry.chars().next_back(),
        text.get(end..).and_then(|after| after.chars().next()),
    )
}

/// Scripts from Hebrew on write without blanks or glue particles to words.
fn needs_border(character: char) -> bool {
    character.is_alphanumeric() && (character as u32) < 0x590
}

fn inside_glued_word(bytes: &[u8], start: usize, end: usize) -> bool {
    if end - start < GLUED_ENTRY {
        return false;
    }
    let is_word = |byte: &&u8| byte.is_ascii_alphabetic();
    let before = bytes
        .get(..start)
        .unwrap_or_default()
        .iter()
        .rev()
        .take(64)
        .take_while(is_word)
        .count();
    let after = bytes
        .get(end..)
        .unwrap_or_default()
        .iter()
        .take(64)
        .take_while(is_word)
        .count();
    let whole = before + (end - start) + after;
    whole >= GLUED_WORD
        && bytes
            .get(start..end)
            .is_some_and(|entry| entry.iter().all(u8::is_ascii_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_a_known_class() {
        for line in include_str!("lexicon.txt").lines() {
            let known = line.is_empty()
                || line.starts_with('#')
                || line
                    .split_once(": ")
                    .is_some_and(|(class, _)| Class::named(class).is_some());
            assert!(known, "unknown class in lexicon line: {line}");
        }
    }

    #[test]
    fn the_finder_builds() {
        assert!(LEXICON.finder.is_some());
    }
}
