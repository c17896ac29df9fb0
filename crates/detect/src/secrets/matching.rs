//! Runs a written rule at one place: a pattern at its literal, a value after its name.

use std::ops::Range;

use regex_automata::{Anchored, Input, Span};

use super::bounds::{ahead, may_begin, may_end, name_may_begin, name_may_end};
use super::exclude::{contains_any_case, never_a_secret};
use super::rule::{Form, Rule};
use super::shape::{Alphabet, entropy, is_word_like};

/// The longest token that a pattern may match.
const LONGEST_TOKEN: usize = 4096;

/// The furthest that a value may begin after its name.
const REACH: usize = 72;

/// The shortest value that a name may point at.
const SHORTEST_VALUE: usize = 8;

/// Where the rule's secret stands, given that one of its literals or names stands at `at`.
pub(super) fn secret_at(rule: &Rule, text: &[u8], at: &Range<usize>) -> Option<Range<usize>> {
    match rule.form {
        Form::Pattern { before } => {
            (at.start.saturating_sub(before)..=at.start).find_map(|start| pattern_at(rule, text, start))
        }
        Form::Named { ordinary_word } => named_after(rule, text, at, ordinary_word),
    }
}

/// Tries the rule's pattern at exactly `start`.
pub(super) fn pattern_at(rule: &Rule, text: &[u8], start: usize) -> Option<Range<usize>> {
    if !may_begin(text, start) {
        return None;
    }
    let (whole, secret) = anchored(rule, text, start)?;
    (may_end(text, whole.end) && convinces(rule, text, &secret)).then_some(secret)
}

/// Looks for the rule's value in the bytes after its name.
fn named_after(rule: &Rule, text: &[u8], name: &Range<usize>, ordinary_word: bool) -> Option<Range<usize>> {
    if !name_may_begin(text, name.start) || !name_may_end(text, name.end) {
        return None;
    }
    let window = ahead(text, name.end, REACH);
    for (offset, &byte) in window.iter().enumerate() {
        if !joins(byte) {
            return None;
        }
        let start = name.end + offset + 1;
        let begins = !byte.is_ascii_alphanumeric() && could_begin_value(ahead(text, start, SHORTEST_VALUE));
        if begins && points(window.get(..=offset).unwrap_or_default(), ordinary_word) {
            let found = anchored(rule, text, start)
                .filter(|(whole, secret)| ends_value(text, whole.end) && convinces(rule, text, secret))
                .filter(|(_, secret)| text.get(secret.clone()).is_some_and(is_drawn));
            if let Some((_, secret)) = found {
                return Some(secret);
            }
        }
    }
    None
}

fn anchored(rule: &Rule, text: &[u8], start: usize) -> Option<(Range<usize>, Range<usize>)> {
    let regex = rule.regex()?;
    let end = text.len().min(start.saturating_add(LONGEST_TOKEN));
    let input = Input::new(text).span(Span { start, end }).anchored(Anchored::Yes);
    let whole = regex.search(&input)?.range();
    if regex.captures_len() == 1 {
        return (!whole.is_empty()).then(|| (whole.clone(), whole));
    }
    let mut groups = regex.create_captures();
    regex.search_captures(&input, &mut groups);
    let secret = (1..groups.group_len())
        .find_map(|group| groups.get_group(group))
        .map_or_else(|| whole.clone(), |span| span.range());
    (!secret.is_empty()).then_some((whole, secret))
}

fn convinces(rule: &Rule, text: &[u8], secret: &Range<usize>) -> bool {
    text.get(secret.clone()).is_some_and(|value| {
        entropy(value) >= rule.entropy && (!rule.finds.is_drawn() || never_a_secret(value).is_none())
    })
}

/// Whether a value without a mark of its own looks drawn at random: no words, no date, no telephone number.
fn is_drawn(value: &[u8]) -> bool {
    let alphabet = Alphabet::of(value);
    !is_word_like(value) && (alphabet.letters() > 0 || (alphabet.other == 0 && value.len() >= 16))
}

/// Bytes that may stand between a name and its value: the rest of an identifier, blanks, separators, quotes.
fn joins(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b' ' | b'\t'
                | b'_'
                | b'-'
                | b'.'
                | b':'
                | b'='
                | b'"'
                | b'\''
                | b'`'
                | b'>'
                | b','
                | b'|'
                | b'('
                | b')'
                | b'['
                | b']'
                | b'\\'
                | b'?'
                | b'$'
        )
}

/// Whether a value might begin here, judged before any automaton is asked: no blank, quote or separator for a while.
fn could_begin_value(head: &[u8]) -> bool {
    head.len() == SHORTEST_VALUE
        && head.iter().all(|byte| {
            byte.is_ascii_graphic()
                && !matches!(
                    byte,
                    b'"' | b'\'' | b'`' | b',' | b';' | b'(' | b')' | b'<' | b'>'
                )
        })
}

/// Whether what stands between name and value ties the two: a separator, a quote, or a word such as "key".
fn points(between: &[u8], ordinary_word: bool) -> bool {
    let separates = |byte: &u8| matches!(byte, b'=' | b':' | b'>' | b'|' | b',');
    if !ordinary_word && (between.iter().any(separates) || between.len() <= 2) {
        return true;
    }
    [
        "key", "token", "secret", "access", "private", "pass", "auth", "api", "pat", "id",
    ]
    .iter()
    .any(|word| contains_any_case(between, word.as_bytes()))
}

fn ends_value(text: &[u8], end: usize) -> bool {
    may_end(text, end) && !matches!(text.get(end), Some(b'-' | b'+' | b'/' | b'%'))
}
