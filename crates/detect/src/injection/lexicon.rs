//! Words and phrases by meaning. The words are data (`lexicon.txt`); this reads them and finds them in a text.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use rustc_hash::FxHashMap;

use super::class::{Class, ClassSet};
use super::token::Token;
use super::words::may_begin_entry;
use crate::normalize::normalize;

/// In a word this long, entries are found without word borders: someone glued a sentence together.
pub(super) const GLUED_WORD: usize = 14;

/// The shortest entry that is looked for inside a glued word.
const GLUED_ENTRY: usize = 5;

/// The longest first two words of an entry.
const LONGEST_KEY: usize = 40;

/// Entries shorter than this are words only by themselves: `my-project` is a name.
const SHORT_ENTRY: usize = 6;

/// The built-in words.
pub(super) static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::read(include_str!("lexicon.txt")));

/// All entries, in their plain reading, with the classes each belongs to.
pub(super) struct Lexicon {
    entries: Vec<(String, ClassSet)>,
    /// Finds every entry in any text.
    finder: Option<AhoCorasick>,
    /// The ASCII entries by their first two words, or by their only one, for the fast way.
    by_words: FxHashMap<Vec<u8>, Vec<usize>>,
    /// The ASCII entries that start with a mark, by that mark.
    by_mark: Vec<Vec<usize>>,
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
        let mut by_words: FxHashMap<Vec<u8>, Vec<usize>> = FxHashMap::default();
        let mut by_mark = vec![Vec::new(); 128];
        for (number, (entry, _)) in entries
            .iter()
            .enumerate()
            .filter(|(_, (entry, _))| entry.is_ascii())
        {
            let words = two_words(entry.as_bytes());
            if words > 0 {
                by_words
                    .entry(entry.bytes().take(words).collect())
                    .or_default()
                    .push(number);
            } else if let Some(list) = entry
                .bytes()
                .next()
                .and_then(|mark| by_mark.get_mut(usize::from(mark)))
            {
                list.push(number);
            }
        }
        Self {
            entries,
            finder,
            by_words,
            by_mark,
        }
    }

    /// Every entry with its classes.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, ClassSet)> {
        self.entries
            .iter()
            .map(|(entry, classes)| (entry.as_str(), *classes))
    }

    /// Calls `found` with each entry that may stand in the bytes, as they are written.
    pub(super) fn find_in_bytes(&self, bytes: &[u8], mut found: impl FnMut(Range<usize>, ClassSet)) {
        let Some(finder) = &self.finder else { return };
        for entry in finder.find_overlapping_iter(bytes) {
            if is_word(bytes, &entry.range())
                && let Some((_, classes)) = self.entries.get(entry.pattern().as_usize())
            {
                found(entry.range(), *classes);
            }
        }
    }

    /// The entries that start with a mark.
    pub(super) fn marked(&self, mark: u8) -> impl Iterator<Item = (&str, ClassSet)> {
        let numbers = self.by_mark.get(usize::from(mark)).map_or(&[][..], Vec::as_slice);
        numbers
            .iter()
            .filter_map(|&number| self.entries.get(number))
            .map(|(entry, classes)| (entry.as_str(), *classes))
    }

    /// Every entry that stands in the text, overlapping ones included, in no order.
    pub(super) fn find(&self, text: &str, tokens: &mut Vec<Token>) {
        if text.is_ascii() {
            self.find_ascii(text, tokens);
        } else {
            self.find_plain(text, tokens);
        }
    }

    /// What [`Self::find`] finds, one automaton over all of the text.
    fn find_plain(&self, text: &str, tokens: &mut Vec<Token>) {
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

    /// In ASCII an entry starts where a word or a mark does, so one look-up for each is enough; only glued words need
    /// the automaton.
    fn find_ascii(&self, text: &str, tokens: &mut Vec<Token>) {
        let bytes = text.as_bytes();
        let mut key = [0_u8; LONGEST_KEY];
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let length = word_length(rest);
            if length == 0 {
                let mark = rest.first().and_then(|&mark| self.by_mark.get(usize::from(mark)));
                if let Some(entries) = mark.filter(|entries| !entries.is_empty()) {
                    self.push_alone(text, at, entries, tokens);
                }
            } else if may_begin_entry(rest, length) {
                let both = two_words(rest);
                self.push_known(text, at, length, &mut key, tokens);
                if both > length {
                    self.push_known(text, at, both, &mut key, tokens);
                }
            }
            if length >= GLUED_WORD {
                self.find_glued(text, at..at + length, tokens);
            }
            at += length.max(1);
        }
    }

    fn push_known(&self, text: &str, at: usize, length: usize, key: &mut [u8], tokens: &mut Vec<Token>) {
        let words = text.as_bytes().get(at..at + length);
        if let (Some(key), Some(words)) = (key.get_mut(..length), words) {
            key.copy_from_slice(words);
            key.make_ascii_lowercase();
            let entries = self.by_words.get(&*key);
            self.push_alone(text, at, entries.map_or(&[], Vec::as_slice), tokens);
        }
    }

    /// Pushes those entries that stand at a place of an ASCII text.
    fn push_alone(&self, text: &str, start: usize, numbers: &[usize], tokens: &mut Vec<Token>) {
        for (entry, classes) in numbers.iter().filter_map(|&number| self.entries.get(number)) {
            let end = start + entry.len();
            let same = text
                .as_bytes()
                .get(start..end)
                .is_some_and(|found| found.eq_ignore_ascii_case(entry.as_bytes()));
            if same && stands_alone_in_ascii(text.as_bytes(), &(start..end)) {
                tokens.push(Token::new(start..end, *classes));
            }
        }
    }

    /// Entries inside a word that is many words written as one.
    fn find_glued(&self, text: &str, word: Range<usize>, tokens: &mut Vec<Token>) {
        let letters = text
            .as_bytes()
            .get(word.clone())
            .unwrap_or_default()
            .iter()
            .filter(|b| b.is_ascii_alphabetic());
        if letters.count() < GLUED_WORD {
            return;
        }
        let (Some(finder), Some(glued)) = (&self.finder, text.get(word.clone())) else {
            return;
        };
        for found in finder.find_overlapping_iter(glued) {
            let (start, end) = (word.start + found.start(), word.start + found.end());
            if !stands_alone(text, start, end)
                && inside_glued_word(text.as_bytes(), start, end)
                && let Some((_, classes)) = self.entries.get(found.pattern().as_usize())
            {
                tokens.push(Token::new(start..end, *classes));
            }
        }
    }
}

/// The length of the two ASCII words at the start of the bytes, or of the one when no second follows a blank.
fn two_words(bytes: &[u8]) -> usize {
    let first = word_length(bytes);
    let second = match bytes.get(first..) {
        Some([b' ', rest @ ..]) if first > 0 => word_length(rest),
        _ => 0,
    };
    if second > 0 { first + 1 + second } else { first }
}

/// The length of the ASCII word at the start of the bytes.
fn word_length(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count()
}

/// Whether the bytes at a place are a word of their own, or part of words that were glued together.
pub(super) fn is_word(bytes: &[u8], at: &Range<usize>) -> bool {
    let alone = |inside: Option<&u8>, outside: Option<&u8>| {
        !inside.is_some_and(u8::is_ascii_alphanumeric) || !outside.is_some_and(u8::is_ascii_alphanumeric)
    };
    let entry = bytes.get(at.clone()).unwrap_or_default();
    let before = at.start.checked_sub(1).and_then(|before| bytes.get(before));
    let bordered = alone(entry.first(), before) && alone(entry.last(), bytes.get(at.end));
    bordered || follows_escape(bytes, at.start) || inside_glued_word(bytes, at.start, at.end)
}

/// Whether an escape for a blank stands before a place: the word after it is a word of its own.
fn follows_escape(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(at.saturating_sub(2)..at).unwrap_or_default();
    matches!(before, [b'\\', b'n' | b'r' | b't'])
}

/// Whether no letter or digit stands before a place, or only that of an escape.
pub(super) fn starts_word(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    !before.is_some_and(u8::is_ascii_alphanumeric) || follows_escape(bytes, at)
}

fn lines(text: &str) -> impl Iterator<Item = (Class, String)> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
        .filter_map(|(class, entries)| Some((Class::named(class)?, entries)))
        .flat_map(|(class, entries)| {
            entries
                .split(", ")
                .flat_map(alternatives)
                .map(move |entry| (class, normalize(entry.trim().as_bytes()).text().to_lowercase()))
        })
        .filter(|(_, entry)| !entry.is_empty())
}

/// An entry with `{a|b}` in it stands for one with each of the two; braces without a bar are as written.
fn alternatives(entry: &str) -> Vec<String> {
    let choice = entry.match_indices('{').find_map(|(open, _)| {
        let (words, after) = entry.get(open + 1..)?.split_once('}')?;
        let before = entry.get(..open).filter(|_| words.contains('|'))?;
        Some((before, words, after))
    });
    let Some((before, words, after)) = choice else {
        return vec![entry.to_owned()];
    };
    words
        .split('|')
        .flat_map(|word| alternatives(&format!("{before}{word}{after}")))
        .collect()
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

/// What [`stands_alone`] says of a text that is all ASCII.
fn stands_alone_in_ascii(text: &[u8], at: &Range<usize>) -> bool {
    let part_of_name = |byte: u8| at.len() < SHORT_ENTRY && matches!(byte, b'-' | b'_');
    let border = |inside: Option<&u8>, outside: Option<&u8>| {
        !inside.is_some_and(u8::is_ascii_alphanumeric)
            || !outside.is_some_and(|byte| byte.is_ascii_alphanumeric() || part_of_name(*byte))
    };
    let entry = text.get(at.clone()).unwrap_or_default();
    let before = at.start.checked_sub(1).and_then(|before| text.get(before));
    border(entry.first(), before) && border(entry.last(), text.get(at.end))
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
    use proptest::prelude::*;

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
    fn an_entry_stands_for_each_of_its_alternatives() {
        for (entry, wanted) in [
            ("plain", vec!["plain"]),
            ("={user data}", vec!["={user data}"]),
            ("the {first|last} word", vec!["the first word", "the last word"]),
            ("{a|b}{|c}", vec!["a", "ac", "b", "bc"]),
        ] {
            assert_eq!(alternatives(entry), wanted, "{entry}");
        }
    }

    fn sorted(find: impl Fn(&mut Vec<Token>)) -> Vec<(usize, usize)> {
        let mut tokens = Vec::new();
        find(&mut tokens);
        let mut spans: Vec<_> = tokens
            .iter()
            .map(|token| (token.span.start, token.span.end))
            .collect();
        spans.sort_unstable();
        spans
    }

    fn words() -> impl Strategy<Value = String> {
        let entries: Vec<String> = LEXICON.entries().map(|(entry, _)| entry.to_owned()).collect();
        let word = prop_oneof![3 => proptest::sample::select(entries), 1 => "[ -~]{1,12}"];
        let gap = proptest::sample::select(vec![" ", " ", "", "-", "_", "\n", ", "]);
        proptest::collection::vec((word, gap), 1..30)
            .prop_map(|parts| parts.into_iter().map(|(word, gap)| word + gap).collect())
    }

    proptest! {
        #[test]
        fn the_fast_way_finds_what_the_plain_way_finds(text in words()) {
            let fast = sorted(|tokens| LEXICON.find(&text, tokens));
            prop_assert_eq!(fast, sorted(|tokens| LEXICON.find_plain(&text, tokens)));
        }
    }

    #[test]
    fn no_entry_is_too_long_for_its_key() {
        assert!(LEXICON.by_words.keys().all(|key| key.len() <= LONGEST_KEY));
    }

    #[test]
    fn the_finder_builds() {
        assert!(LEXICON.finder.is_some());
    }
}
