//! Which blocks are worth weighing.
//!
//! A block can only score if one of the anchored patterns holds in it. Each anchored pattern names its rarest words,
//! and for a phrase its most telling word, which are the triggers that the shared pass looks for. Where one stands, the
//! rest of the phrase must stand around it, over any blanks. A block with a trigger, or with an address, has its words
//! looked up once, and they say how many points it may have at most (see `near`). Blocks that do not read as they stand (see
//! `shape`) are always weighed, and so are blocks that name a tool of the session.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;

use super::Reader;
use super::class::{Class, ClassSet};
use super::context::InjectionContext;
use super::entity::MAX_SHAPE;
use super::learned::said;
use super::lexicon::{LEXICON, is_word};
use super::marks::{Mark, Marks};
use super::near;
use super::pattern::PATTERNS;
use super::score::{least_points, twisted_keys};
use super::shape;
use super::words::{Reading, unless_noun};
use crate::candidates::{Beside, Hit, Literal, MIN_LITERAL, Near};
use crate::normalize::{normalize, split_beginnings};

/// The shortest word that tells a phrase.
const TELLING_LENGTH: usize = 4;

/// What to look for in the shared pass. Tags are this family's own.
#[must_use]
pub fn triggers() -> Vec<Literal> {
    GATE.triggers
        .iter()
        .zip(0..)
        .map(|(trigger, tag)| {
            let literal = Literal::any_case(trigger.bytes.clone(), tag);
            match trigger.entries.as_slice() {
                [] => literal.at_word_start(),
                entries => literal.as_word(entries.iter().map(Entry::beside).collect()),
            }
        })
        .collect()
}

/// A block to weigh, and the most points that it may have as it stands.
pub(super) struct Selected {
    pub(super) block: Range<usize>,
    pub(super) most: f32,
}

/// The blocks to weigh: those that may reach the score, and those that do not read as they stand.
pub(super) fn select(text: &[u8], hits: &[Hit], reader: &Reader<'_>, score: f32) -> Vec<Selected> {
    let context = &reader.context;
    let mut marks = Marks::of(text);
    shape::for_each(text, |chunk| marks.mark(chunk, Mark::Weigh));
    mark_images(text, &mut marks);
    mark_tools(text, context, &mut marks);
    mark_hits(text, hits, &mut marks);
    mark_addresses(text, &mut marks);
    let least = least_points(score, context);
    let mut reading = Reading::new();
    let marked = marks.marked().filter_map(|(block, mark)| {
        let foreign = || text.get(block.clone()).is_some_and(near::is_foreign);
        let most = match mark {
            Mark::Weigh => f32::INFINITY,
            Mark::Address | Mark::Estimate if foreign() => f32::INFINITY,
            Mark::Nothing | Mark::Address | Mark::Estimate => {
                let looked_at = mark != Mark::Nothing;
                let patterns = looked_at
                    .then(|| near::most_points(text, block.clone(), &mut reading))
                    .flatten();
                let words = (reader.closely || mark == Mark::Estimate).then(|| said_in(text, &block));
                let words = words.filter(|points| *points > 0.0);
                if patterns.is_none() && words.is_none() {
                    return None;
                }
                patterns.unwrap_or(0.0) + words.unwrap_or(0.0)
            }
        };
        (most >= least).then_some(Selected { block, most })
    });
    marked.collect()
}

/// What the choice of words adds to the patterns' points in a block that reads as it stands, but for dashes and quotes.
fn said_in(text: &[u8], block: &Range<usize>) -> f32 {
    let bytes = text.get(block.clone()).unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(plain) if plain.is_ascii() => said(plain).points,
        _ => said(normalize(bytes).text()).points,
    }
}

/// Whether a word of these classes calls for attention. An address alone does not.
pub(super) fn calls(classes: ClassSet) -> bool {
    GATE.anchors(classes.without(Class::Address.into()))
}

/// The entries of the lexicon that may be part of a pattern.
#[cfg(test)]
pub(crate) fn phrases() -> impl Iterator<Item = &'static str> {
    let telling = LEXICON.entries().filter(|(_, classes)| GATE.anchors(*classes));
    telling.map(|(phrase, _)| phrase)
}

static GATE: LazyLock<Gate> = LazyLock::new(Gate::build);

struct Gate {
    triggers: Vec<Trigger>,
    /// The classes that anchor patterns.
    anchors: ClassSet,
}

struct Trigger {
    bytes: Vec<u8>,
    /// The entries that have the literal as their telling word; none means that the literal is enough.
    entries: Vec<Entry>,
}

impl Trigger {
    /// The entries that may stand between these letters.
    fn entries_between(&self, before: Option<u8>, after: Option<u8>) -> impl Iterator<Item = &Entry> {
        let agrees = |wanted: Option<u8>, there: Option<u8>| wanted.is_none() || wanted == there;
        self.entries
            .iter()
            .filter(move |entry| agrees(entry.nearest.1, after) && agrees(entry.nearest.0, before))
    }
}

/// An entry of the lexicon around its telling word.
struct Entry {
    before: String,
    after: String,
    /// The nearest letters of the two, in any case; nothing when there is none or another mark stands between.
    nearest: (Option<u8>, Option<u8>),
    /// The classes among the entry's own that trigger.
    classes: ClassSet,
}

impl Gate {
    fn build() -> Self {
        let anchors = PATTERNS
            .iter()
            .flat_map(|pattern| &pattern.steps)
            .filter(|step| step.anchor)
            .fold(ClassSet::default(), |all, step| all | step.classes);
        let mut by_word: BTreeMap<Vec<u8>, Vec<Entry>> = BTreeMap::new();
        for (entry, classes) in LEXICON.entries() {
            let classes = classes & anchors;
            if !classes.is_empty() {
                for (literal, entry) in tellings(entry, classes) {
                    by_word.entry(literal).or_default().push(entry);
                }
            }
        }
        let disguised = disguises().map(|bytes| (bytes, Vec::new()));
        let triggers = by_word.into_iter().chain(disguised);
        let triggers = triggers
            .map(|(bytes, entries)| Trigger { bytes, entries })
            .collect();
        Self { triggers, anchors }
    }

    /// Whether a word of these classes anchors some pattern.
    fn anchors(&self, classes: ClassSet) -> bool {
        classes.meets(self.anchors)
    }
}

/// The literals that stand for an entry: a short one between blanks, else its telling word, as composed and as decomposed.
fn tellings(entry: &str, classes: ClassSet) -> Vec<(Vec<u8>, Entry)> {
    let parts = |before: &str, after: &str| Entry {
        nearest: (nearest(before.bytes().rev()), nearest(after.bytes())),
        before: before.to_owned(),
        after: after.to_owned(),
        classes,
    };
    if entry.len() < MIN_LITERAL {
        return [" ", "\n", "\"", "'"]
            .iter()
            .map(|before| (format!("{before}{entry} ").into_bytes(), parts("", "")))
            .collect();
    }
    let word = telling_word(entry);
    let telling = entry.get(word.clone()).unwrap_or_default();
    if telling.len() < TELLING_LENGTH && telling != entry || EVERYWHERE.contains(&telling) {
        return over_line_ends(entry)
            .map(|literal| (literal, parts("", "")))
            .collect();
    }
    let (before, after) = (entry.get(..word.start), entry.get(word.end..));
    let word = entry.get(word).unwrap_or_default();
    let composed: String = word.nfc().collect();
    let composed = (composed != word).then_some(composed);
    std::iter::once(word.to_owned())
        .chain(composed)
        .map(|word| {
            (
                word.into_bytes(),
                parts(before.unwrap_or_default(), after.unwrap_or_default()),
            )
        })
        .collect()
}

/// Words that stand in every line: a phrase of such words is looked for as a whole.
const EVERYWHERE: [&str; 14] = [
    "your", "you're", "this", "that", "with", "from", "have", "been", "will", "into", "here", "when",
    "where", "about",
];

/// A phrase of such words, as written and with a line's end in place of one of its blanks.
fn over_line_ends(entry: &str) -> impl Iterator<Item = Vec<u8>> {
    let gaps = ["\n", "\n  ", "\n    "];
    let broken = entry.match_indices(' ').flat_map(move |(at, _)| {
        let (before, after) = (
            entry.get(..at).unwrap_or_default(),
            entry.get(at + 1..).unwrap_or_default(),
        );
        gaps.into_iter()
            .map(move |gap| format!("{before}{gap}{after}").into_bytes())
    });
    std::iter::once(entry.as_bytes().to_vec()).chain(broken)
}

/// The longest word of a phrase, of those that are not in every text.
fn telling_word(entry: &str) -> Range<usize> {
    let mut at = 0;
    entry
        .split(' ')
        .map(|word| {
            let start = at;
            at += word.len() + 1;
            start..start + word.len()
        })
        .max_by_key(|word| {
            let text = entry.get(word.clone()).unwrap_or_default();
            let common = COMMON_WORDS.contains(&text);
            (word.len() >= MIN_LITERAL, !common, word.len())
        })
        .unwrap_or(0..entry.len())
}

/// Words that tell little about the phrase they are part of.
#[rustfmt::skip]
const COMMON_WORDS: [&str; 113] = [
    "the", "and", "not", "you", "your", "you're", "this", "that", "with", "from", "for", "are", "was",
    "have", "has", "been", "will", "without", "should", "must", "any", "all", "system", "user", "text",
    "message", "output", "file", "code", "following", "before", "using", "tool", "model", "language",
    "content", "return", "value", "other", "into", "name", "here", "when", "test", "build", "change",
    "license", "need", "number", "current", "state", "part", "string", "help", "update", "like", "where",
    "note", "key", "url", "end", "let", "can", "use", "now", "over", "response", "first", "command",
    "user's", "users", "word", "about", "pass", "server", "information", "changed", "order", "security",
    "filter", "named", "void", "which", "between", "measure", "history", "people", "because", "these",
    "those", "their", "there", "would", "could", "what", "does", "they", "them", "were", "some", "more",
    "only", "also", "just", "then", "than", "very", "while", "after", "such", "each", "most", "made",
];

/// Beginnings of split words, and the key words in other ways to write them.
fn disguises() -> impl Iterator<Item = Vec<u8>> {
    let twisted = twisted_keys().map(String::into_bytes);
    split_beginnings().into_iter().chain(twisted)
}

/// Whether a hit of [`triggers`] may be part of a pattern: most are words that tell nothing by themselves.
#[must_use]
pub fn tells(text: &[u8], hit: &Hit) -> bool {
    telling_place(text, hit).is_some()
}

fn mark_hits(text: &[u8], hits: &[Hit], marks: &mut Marks) {
    for hit in hits {
        if let Some((place, mark)) = telling_place(text, hit) {
            marks.mark(place, mark);
        }
    }
}

/// What a hit marks, and how; nothing when the phrase that it is the telling word of does not stand there.
fn telling_place(text: &[u8], hit: &Hit) -> Option<(Range<usize>, Mark)> {
    let trigger = GATE.triggers.get(hit.tag as usize)?;
    if trigger.entries.is_empty() {
        return Some((hit.at.clone(), Mark::Weigh));
    }
    let after = match text.get(hit.at.end..)? {
        [b' ', next, ..] if next.is_ascii_alphanumeric() => Some(next | 0x20),
        after => nearest(after.iter().copied()),
    };
    let before = match text.get(..hit.at.start)? {
        [.., next, b' '] if next.is_ascii_alphanumeric() => Some(next | 0x20),
        before => nearest(before.iter().rev().copied()),
    };
    if !is_word(text, &hit.at) {
        return None;
    }
    let standing = trigger.entries_between(before, after).filter_map(|entry| {
        let at = entry.around(text, &hit.at)?;
        GATE.anchors(unless_noun(text, &at, entry.classes)).then_some(at)
    });
    let whole = standing.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))?;
    Some((whole, Mark::Estimate))
}

/// The letter or digit after at least one blank, folded, if that is what comes next.
pub(super) fn nearest(bytes: impl Iterator<Item = u8>) -> Option<u8> {
    let mut bytes = bytes.peekable();
    bytes.next_if(u8::is_ascii_whitespace)?;
    let next = bytes.find(|byte| !byte.is_ascii_whitespace())?;
    next.is_ascii_alphanumeric().then_some(next | 0x20)
}

/// The first bytes of the word after a blank, if that is what comes next.
fn near(mut bytes: impl Iterator<Item = u8>) -> Option<Near> {
    bytes.next().filter(u8::is_ascii_whitespace)?;
    let first = bytes.next().filter(u8::is_ascii_alphanumeric)?;
    let second = bytes.next();
    Some(Near { first, second })
}

impl Entry {
    /// What must stand beside the telling word, on one of its sides.
    fn beside(&self) -> Beside {
        let after = near(self.after.bytes()).map(Beside::After);
        let before = || near(self.before.bytes().rev()).map(Beside::Before);
        after.or_else(before).unwrap_or(Beside::Anything)
    }

    /// Where the whole entry stands if it does, given where its telling word stands.
    fn around(&self, text: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
        let before = text.get(..word.start)?.iter().rev();
        let start = word.start - follow(before, self.before.bytes().rev())?;
        let after = text.get(word.end..)?.iter();
        Some(start..word.end + follow(after, self.after.bytes())?)
    }
}

/// How many bytes of a text agree with a phrase whose blanks may be any blanks and whose apostrophes may be printed ones.
/// Both may run backwards.
pub(super) fn follow<'a>(
    text: impl Iterator<Item = &'a u8>,
    phrase: impl Iterator<Item = u8>,
) -> Option<usize> {
    let mut text = text.copied().peekable();
    let mut used = 0;
    for wanted in phrase {
        if wanted == b' ' {
            let mut blanks = 0;
            while text.next_if(u8::is_ascii_whitespace).is_some() {
                blanks += 1;
            }
            if blanks == 0 {
                return None;
            }
            used += blanks;
        } else if wanted == b'\'' && text.peek().is_some_and(|byte| !byte.is_ascii()) {
            let printed = [text.next(), text.next(), text.next()];
            let ((0xe2, 0x98 | 0x99) | (0x98 | 0x99, 0xe2)) = (printed[0]?, printed[2]?) else {
                return None;
            };
            used += printed.len();
        } else {
            text.next_if(|byte| byte.eq_ignore_ascii_case(&wanted))?;
            used += 1;
        }
    }
    Some(used)
}

fn mark_addresses(text: &[u8], marks: &mut Marks) {
    for at in memchr::memchr_iter(b'@', text) {
        let around = (
            at.checked_sub(1).and_then(|before| text.get(before)),
            text.get(at + 1),
        );
        if matches!(around, (Some(before), Some(after)) if !before.is_ascii_whitespace() && after.is_ascii_alphanumeric())
        {
            marks.mark(at..at + 1, Mark::Address);
        }
    }
}

fn mark_images(text: &[u8], marks: &mut Marks) {
    for at in memchr::memmem::find_iter(text, b"![") {
        let window = text
            .get(at..text.len().min(at + 2 * MAX_SHAPE))
            .unwrap_or_default();
        let link = memchr::memmem::find(window, b"](").and_then(|open| window.get(open + 2..));
        let link = link
            .unwrap_or_default()
            .split(|&byte| matches!(byte, b')' | b'\n'))
            .next();
        let link = link.unwrap_or_default();
        let placeholder = link.windows(2).any(|pair| matches!(pair, [b'A'..=b'Z', b'_']));
        if placeholder || link.iter().any(|byte| matches!(byte, b'{' | b'<' | b'[')) {
            marks.mark(at..at + window.len(), Mark::Weigh);
        }
    }
}

fn mark_tools(text: &[u8], context: &InjectionContext<'_>, marks: &mut Marks) {
    let named = context.tools.into_iter().flat_map(|tools| tools.telling(text));
    named.for_each(|at| marks.mark(at, Mark::Weigh));
}
