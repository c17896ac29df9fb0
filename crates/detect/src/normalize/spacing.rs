//! Words that were pulled apart are put together again; runs of blanks become one.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::map::Draft;

/// The fewest single letters in a row that count as a spaced-out word.
const SPACED_LETTERS: usize = 4;

/// The words whose split forms are recognised. The gate lists the beginnings of the same forms as triggers, so that
/// a text without a trigger has none of them.
const SPLIT_WORDS: [&str; 8] = [
    "ignore",
    "previous",
    "instructions",
    "disregard",
    "override",
    "system",
    "prompt",
    "password",
];

/// What may stand between the parts of a split word, besides one space.
const SPLITTERS: [u8; 6] = *b"-_.*|~";

/// Words of [`SPLIT_WORDS`] that are joined over a single space, because no part of them is a word of its own.
const SPACE_SPLIT_WORDS: usize = 4;

const SPACED_SEPARATORS: &str = " .-_*|/,·•~+";

/// Joins `i g n o r e` and `i-g-n-o-r-e`. Two or more separators in a row end a word.
pub(super) fn join_spaced(text: &str) -> Option<Draft> {
    if !may_be_spaced(text) {
        return None;
    }
    let mut draft: Option<Draft> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(run) = next_spaced(text, at) {
        let draft = draft.get_or_insert_with(|| Draft::with_capacity(text.len()));
        draft.keep(text.get(copied..run.start).unwrap_or_default(), copied);
        for (offset, letter) in text
            .get(run.clone())
            .unwrap_or_default()
            .char_indices()
            .step_by(2)
        {
            let start = run.start + offset;
            draft.replace_char(letter, start..start + letter.len_utf8());
        }
        copied = run.end;
        at = run.end;
    }
    let mut draft = draft?;
    draft.keep(text.get(copied..).unwrap_or_default(), copied);
    Some(draft)
}

/// Joins split forms of [`SPLIT_WORDS`].
pub(super) fn join_split(text: &str) -> Option<Draft> {
    if !may_be_split(text) {
        return None;
    }
    let mut draft: Option<Draft> = None;
    let mut copied = 0;
    let mut words = words_with_splitters(text).peekable();
    while let Some((start, word)) = words.next() {
        let joined = split_word(word)
            .map(|known| (known, start + word.len()))
            .or_else(|| {
                let &(next_start, next) = words.peek()?;
                let whole = text.get(start..next_start + next.len())?;
                let known = space_split_word(whole)?;
                words.next();
                Some((known, next_start + next.len()))
            });
        if let Some((known, end)) = joined {
            let draft = draft.get_or_insert_with(|| Draft::with_capacity(text.len()));
            draft.keep(text.get(copied..start).unwrap_or_default(), copied);
            draft.replace(known, start..end);
            copied = end;
        }
    }
    let mut draft = draft?;
    draft.keep(text.get(copied..).unwrap_or_default(), copied);
    Some(draft)
}

/// Makes each run of blanks one space, or one newline when it holds an empty line.
pub(super) fn collapse_blanks(text: &str) -> Option<Draft> {
    let mut draft: Option<Draft> = None;
    let mut copied = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(start) = next_blank(bytes, at) {
        let run = bytes.get(start..).unwrap_or_default();
        let length = run.iter().take_while(|&&byte| is_blank(byte)).count();
        at = start + length;
        let newlines = run
            .get(..length)
            .unwrap_or_default()
            .iter()
            .filter(|&&b| b == b'\n')
            .count();
        let blank = if newlines > 1 { "\n" } else { " " };
        if length > 1 || bytes.get(start) != Some(&b' ') {
            let draft = draft.get_or_insert_with(|| Draft::with_capacity(text.len()));
            draft.keep(text.get(copied..start).unwrap_or_default(), copied);
            draft.replace(blank, start..at);
            copied = at;
        }
    }
    let mut draft = draft?;
    draft.keep(text.get(copied..).unwrap_or_default(), copied);
    Some(draft)
}

/// The next blank that is not a single space between words.
fn next_blank(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let mut previous = false;
    for (offset, &byte) in rest.iter().enumerate() {
        if byte == b' ' {
            if previous {
                return Some(from + offset - 1);
            }
            previous = true;
        } else if is_blank(byte) {
            return Some(from + offset - usize::from(previous));
        } else {
            previous = false;
        }
    }
    None
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether any letter stands alone between others that do: the cheap test before [`join_spaced`].
fn may_be_spaced(text: &str) -> bool {
    let bytes = text.as_bytes();
    !text.is_ascii()
        || bytes.windows(7).fold(false, |any, w| match w {
            [a, b, c, d, e, f, g] => {
                let letters = a.is_ascii_alphabetic() & c.is_ascii_alphabetic() & e.is_ascii_alphabetic();
                let gaps =
                    !b.is_ascii_alphanumeric() & !d.is_ascii_alphanumeric() & !f.is_ascii_alphanumeric();
                any | (letters & gaps & g.is_ascii_alphabetic())
            }
            _ => any,
        })
}

fn next_spaced(text: &str, from: usize) -> Option<std::ops::Range<usize>> {
    let mut previous_is_word = from > 0;
    let mut skip_until = from;
    for (offset, character) in text.get(from..)?.char_indices() {
        let start = from + offset;
        if start < skip_until {
            continue;
        }
        if character.is_alphabetic() && !previous_is_word {
            let (letters, end) = spaced_run(text.get(start..)?);
            if letters >= SPACED_LETTERS {
                return Some(start..start + end);
            }
            skip_until = start + end;
            previous_is_word = true;
            continue;
        }
        previous_is_word = character.is_alphanumeric();
    }
    None
}

/// How many single letters with one and the same separator stand at the start, and where they end.
fn spaced_run(text: &str) -> (usize, usize) {
    let mut characters = text.char_indices().peekable();
    let mut separator = None;
    let mut letters = 0;
    let mut end = 0;
    while let Some((start, letter)) = characters.next() {
        let single = letter.is_alphabetic() && characters.peek().is_none_or(|(_, c)| !c.is_alphanumeric());
        if !single {
            break;
        }
        letters += 1;
        end = start + letter.len_utf8();
        match characters.next() {
            Some((_, c)) if SPACED_SEPARATORS.contains(c) && *separator.get_or_insert(c) == c => {}
            _ => break,
        }
    }
    if letters == 0 {
        end = text.chars().next().map_or(0, char::len_utf8);
    }
    (letters, end)
}

/// Whether the beginning of a split word stands somewhere: the cheap test before [`join_split`].
fn may_be_split(text: &str) -> bool {
    SPLIT_BEGINNINGS
        .as_ref()
        .is_none_or(|finder| finder.is_match(text))
}

static SPLIT_BEGINNINGS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    // Few and short: the automaton that takes one step for each byte stays small.
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(split_beginnings())
        .ok()
});

/// How every split form of [`SPLIT_WORDS`] begins: some letters, what splits, and the next letter; for a space the
/// whole rest, since a space alone says little.
pub(crate) fn split_beginnings() -> Vec<Vec<u8>> {
    let splits = |word: &'static str| (2..word.len()).map(move |at| word.split_at(at));
    let marked = SPLIT_WORDS.into_iter().flat_map(splits).flat_map(|(head, tail)| {
        let next = tail.get(..1).unwrap_or_default();
        SPLITTERS
            .into_iter()
            .map(move |splitter| [head.as_bytes(), &[splitter], next.as_bytes()].concat())
    });
    let spaced = SPLIT_WORDS.into_iter().take(SPACE_SPLIT_WORDS).flat_map(splits);
    let spaced = spaced
        .filter(|(_, tail)| tail.len() > 1)
        .map(|(head, tail)| format!("{head} {tail}").into_bytes());
    marked.chain(spaced).collect()
}

fn words_with_splitters(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive(|c: char| !is_word_part(c))
        .filter_map(move |piece| {
            let start = at;
            at += piece.len();
            let word = piece.trim_end_matches(|c: char| !is_word_part(c) || is_splitter(c));
            let lead = word.len() - word.trim_start_matches(is_splitter).len();
            let word = word.get(lead..)?;
            (!word.is_empty()).then_some((start + lead, word))
        })
}

fn is_word_part(character: char) -> bool {
    character.is_alphanumeric() || is_splitter(character)
}

fn is_splitter(character: char) -> bool {
    u8::try_from(character).is_ok_and(|byte| SPLITTERS.contains(&byte))
}

fn split_word(word: &str) -> Option<&'static str> {
    if word.len() > 32 || word.find(is_splitter)? < 2 {
        return None;
    }
    SPLIT_WORDS
        .into_iter()
        .find(|known| same_letters(word.chars().filter(|&c| !is_splitter(c)), known))
}

fn space_split_word(pair: &str) -> Option<&'static str> {
    let (first, second) = pair.split_once(' ')?;
    if first.len() < 2 || second.len() < 2 || pair.len() > 16 {
        return None;
    }
    SPLIT_WORDS
        .into_iter()
        .take(SPACE_SPLIT_WORDS)
        .find(|known| same_letters(pair.chars().filter(|&c| c != ' '), known))
}

fn same_letters(letters: impl Iterator<Item = char>, known: &str) -> bool {
    letters.map(|c| c.to_ascii_lowercase()).eq(known.chars())
}
