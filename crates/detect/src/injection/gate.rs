//! Which blocks are worth weighing.
//!
//! A block can only score if one of the anchored patterns holds in it. Each anchored pattern names its rarest words,
//! and for a phrase its most telling word, which are the triggers that the shared pass looks for. Where one stands, the
//! rest of the phrase must stand around it, over any blanks, and the step next to it in the pattern must stand near; a
//! look at the few bytes there decides. Addresses are found by their `@`. Blocks that do not read as
//! they stand (see `shape`) are always weighed, and so are blocks that name a tool of the session.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use unicode_normalization::UnicodeNormalization as _;

use super::blocks::blocks;
use super::class::{Class, ClassSet};
use super::context::InjectionContext;
use super::entity::MAX_SHAPE;
use super::lexicon::{LEXICON, is_word};
use super::pattern::{PATTERNS, Pattern};
use super::score::TWISTED_KEYS;
use super::shape;
use super::token::tokens;
use crate::candidates::{Hit, Literal, MIN_LITERAL};
use crate::decode::rot13;
use crate::normalize::{normalize, split_beginnings};

/// What a distance in the plain reading may have been as written: lines are indented, blanks doubled.
const fn as_written(gap: usize) -> usize {
    gap * 2 + 32
}

/// How far around a trigger its pattern can reach, as written.
const REACH: usize = 320;

/// How far the search for a word's end goes.
const WORD: usize = 64;

/// The shortest word that tells a phrase.
const TELLING_LENGTH: usize = 4;

/// The shortest tool name that counts: shorter ones are ordinary words.
const MIN_TOOL_NAME: usize = 5;

/// What to look for in the shared pass. Tags are this family's own.
#[must_use]
pub fn triggers() -> Vec<Literal> {
    GATE.triggers
        .iter()
        .zip(0..)
        .map(|(trigger, tag)| Literal::any_case(trigger.bytes.clone(), tag))
        .collect()
}

/// The blocks to weigh, in order.
pub(super) fn select(text: &[u8], hits: &[Hit], context: &InjectionContext<'_>) -> Vec<Range<usize>> {
    let mut marks = Marks::of(text);
    mark_hits(text, hits, &mut marks);
    mark_addresses(text, &mut marks);
    mark_images(text, &mut marks);
    shape::for_each(text, |chunk| marks.mark(chunk));
    mark_tools(text, context, &mut marks);
    marks.selected()
}

static GATE: LazyLock<Gate> = LazyLock::new(Gate::build);

struct Gate {
    triggers: Vec<Trigger>,
    /// For each class what must stand near it; empty when the class never triggers.
    needs: Vec<Vec<Need>>,
}

struct Trigger {
    bytes: Vec<u8>,
    /// The entries that have the literal as their telling word; none means that the literal is enough.
    entries: Vec<Entry>,
}

/// An entry of the lexicon around its telling word.
struct Entry {
    before: String,
    after: String,
    /// The classes among the entry's own that trigger.
    classes: ClassSet,
}

/// What must stand near a trigger.
#[derive(Clone, Debug, PartialEq)]
enum Need {
    Nothing,
    Before { classes: ClassSet, within: usize },
    After { classes: ClassSet, within: usize },
}

impl Gate {
    fn build() -> Self {
        let mut needs = vec![Vec::new(); Class::COUNT];
        let mut anchors = ClassSet::default();
        for (classes, need) in PATTERNS.iter().filter_map(need) {
            anchors |= classes;
            for class in classes.numbers() {
                if let Some(list) = needs.get_mut(class) {
                    list.push(need.clone());
                }
            }
        }
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
        Self { triggers, needs }
    }

    fn needs(&self, class: usize) -> &[Need] {
        self.needs.get(class).map_or(&[], Vec::as_slice)
    }
}

/// The anchor of a pattern, and what its neighbour in the pattern asks for.
fn need(pattern: &Pattern) -> Option<(ClassSet, Need)> {
    let at = pattern.steps.iter().position(|step| step.anchor)?;
    let anchor = pattern.steps.get(at)?;
    let need = if let Some(before) = at.checked_sub(1).and_then(|before| pattern.steps.get(before)) {
        Need::Before {
            classes: before.classes,
            within: as_written(anchor.gap),
        }
    } else if let Some(after) = pattern.steps.get(at + 1) {
        Need::After {
            classes: after.classes,
            within: as_written(after.gap),
        }
    } else {
        Need::Nothing
    };
    Some((anchor.classes, need))
}

/// The literals that stand for an entry: a short one between blanks, else its telling word, as composed and as decomposed.
fn tellings(entry: &str, classes: ClassSet) -> Vec<(Vec<u8>, Entry)> {
    let parts = |before: &str, after: &str| Entry {
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
    if telling.len() < TELLING_LENGTH && telling != entry || COMMON_WORDS.contains(&telling) {
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

/// A phrase of common words, as written and with a line's end in place of one of its blanks.
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
const COMMON_WORDS: [&str; 82] = [
    "the",
    "and",
    "not",
    "you",
    "your",
    "you're",
    "this",
    "that",
    "with",
    "from",
    "for",
    "are",
    "was",
    "have",
    "has",
    "been",
    "will",
    "without",
    "should",
    "must",
    "any",
    "all",
    "system",
    "user",
    "text",
    "message",
    "output",
    "file",
    "code",
    "following",
    "before",
    "using",
    "tool",
    "model",
    "language",
    "content",
    "return",
    "value",
    "other",
    "into",
    "name",
    "here",
    "when",
    "test",
    "build",
    "change",
    "license",
    "need",
    "number",
    "current",
    "state",
    "part",
    "string",
    "help",
    "update",
    "like",
    "where",
    "note",
    "key",
    "url",
    "end",
    "let",
    "can",
    "use",
    "now",
    "over",
    "response",
    "first",
    "command",
    "user's",
    "users",
    "word",
    "about",
    "pass",
    "server",
    "information",
    "changed",
    "order",
    "security",
    "filter",
    "named",
    "void",
];

/// Beginnings of split words, and the key words rotated and reversed.
fn disguises() -> impl Iterator<Item = Vec<u8>> {
    let twisted = TWISTED_KEYS
        .iter()
        .flat_map(|key| [rot13(key).into_bytes(), key.bytes().rev().collect()]);
    split_beginnings().into_iter().chain(twisted)
}

fn mark_hits(text: &[u8], hits: &[Hit], marks: &mut Marks) {
    for hit in hits {
        let Some(trigger) = GATE.triggers.get(hit.tag as usize) else {
            continue;
        };
        if trigger.entries.is_empty() {
            marks.mark(hit.at.clone());
        } else if is_word(text, &hit.at) {
            for entry in &trigger.entries {
                if let Some(at) = entry.around(text, &hit.at) {
                    for class in entry.classes.numbers() {
                        mark_if_met(text, &at, class, marks);
                    }
                }
            }
        }
    }
}

impl Entry {
    /// Where the whole entry stands if it does, given where its telling word stands.
    fn around(&self, text: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
        let before = text.get(..word.start)?.iter().rev();
        let start = word.start - follow(before, self.before.bytes().rev())?;
        let after = text.get(word.end..)?.iter();
        Some(start..word.end + follow(after, self.after.bytes())?)
    }
}

/// How many bytes of a text agree with a phrase whose blanks may be any blanks.
fn follow<'a>(text: impl Iterator<Item = &'a u8>, phrase: impl Iterator<Item = u8>) -> Option<usize> {
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
            mark_if_met(text, &(at..at + 1), Class::Address as usize, marks);
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
            marks.mark(at..at + window.len());
        }
    }
}

fn mark_if_met(text: &[u8], at: &Range<usize>, class: usize, marks: &mut Marks) {
    let needs = GATE.needs(class);
    let reach = |pick: fn(&Need) -> usize| needs.iter().map(pick).max().unwrap_or(0);
    let before = at.start.saturating_sub(reach(Need::reach_before));
    let after = at.end.saturating_add(reach(Need::reach_after)).min(text.len());
    if needs.contains(&Need::Nothing)
        || meets(text.get(before..at.start), needs, Need::wants_before)
        || meets(text.get(at.end..after), needs, Need::wants_after)
    {
        let window = around(text, at, REACH);
        if !marks.all_marked(&window) && anything_holds(text.get(window.clone()).unwrap_or_default()) {
            marks.mark(window);
        }
    }
}

/// The bytes around a place, cut where characters and words end.
fn around(text: &[u8], at: &Range<usize>, reach: usize) -> Range<usize> {
    let is_cut = |&at: &usize| text.get(at).is_none_or(u8::is_ascii_whitespace);
    let start = at.start.saturating_sub(reach);
    let start = (start.saturating_sub(WORD)..=start)
        .rev()
        .find(is_cut)
        .unwrap_or(start);
    let end = (at.end + reach).min(text.len());
    let end = (end..(end + WORD).min(text.len())).find(is_cut).unwrap_or(end);
    start..end
}

/// Whether some anchored pattern holds in the window. The block it is part of can only score if one does.
fn anything_holds(window: &[u8]) -> bool {
    let plain = normalize(window);
    let tokens = tokens(plain.text());
    let held = PATTERNS.held(plain.text(), &tokens);
    held.iter()
        .any(|held| PATTERNS.get(held.pattern).is_some_and(Pattern::is_anchored))
}

impl Need {
    const fn reach_before(&self) -> usize {
        match self {
            Self::Before { within, .. } => *within,
            Self::After { .. } | Self::Nothing => 0,
        }
    }

    const fn reach_after(&self) -> usize {
        match self {
            Self::After { within, .. } => *within,
            Self::Before { .. } | Self::Nothing => 0,
        }
    }

    fn wants_before(&self) -> ClassSet {
        match self {
            Self::Before { classes, .. } => *classes,
            Self::After { .. } | Self::Nothing => ClassSet::default(),
        }
    }

    fn wants_after(&self) -> ClassSet {
        match self {
            Self::After { classes, .. } => *classes,
            Self::Before { .. } | Self::Nothing => ClassSet::default(),
        }
    }
}

/// Whether something of the classes that are wanted may stand in the window. Says yes too often rather than not.
fn meets(window: Option<&[u8]>, needs: &[Need], wants: fn(&Need) -> ClassSet) -> bool {
    let wanted = needs
        .iter()
        .map(wants)
        .fold(ClassSet::default(), |all, classes| all | classes);
    let Some(window) = window.filter(|window| !window.is_empty() && !wanted.is_empty()) else {
        return false;
    };
    let shapes =
        ClassSet::from(Class::Account) | Class::Money.into() | Class::Ident.into() | Class::Toolinvoke.into();
    let shaped = wanted.meets(shapes) && window.iter().any(|&b| b.is_ascii_digit() || b == b'(');
    let addressed = wanted.meets(Class::Address.into()) && window.contains(&b'@');
    shaped || addressed || LEXICON.mentions(window, wanted)
}

fn mark_tools(text: &[u8], context: &InjectionContext<'_>, marks: &mut Marks) {
    let names = context
        .tool_names
        .iter()
        .filter(|name| name.len() >= MIN_TOOL_NAME);
    if let Ok(finder) = AhoCorasick::new(names) {
        for found in finder.find_iter(text) {
            marks.mark(found.range());
        }
    }
}

/// Blocks and which of them were pointed at.
struct Marks {
    blocks: Vec<(Range<usize>, bool)>,
}

impl Marks {
    fn of(text: &[u8]) -> Self {
        Self {
            blocks: blocks(text).map(|block| (block, false)).collect(),
        }
    }

    /// Marks every block that holds some part of the place.
    fn mark(&mut self, place: Range<usize>) {
        let first = self.blocks.partition_point(|(block, _)| block.end <= place.start);
        for (block, marked) in self.blocks.iter_mut().skip(first) {
            if block.start >= place.end {
                break;
            }
            *marked = true;
        }
    }

    /// Whether every block that holds some part of the place is marked already.
    fn all_marked(&self, place: &Range<usize>) -> bool {
        let first = self.blocks.partition_point(|(block, _)| block.end <= place.start);
        let touched = self
            .blocks
            .iter()
            .skip(first)
            .take_while(|(block, _)| block.start < place.end);
        touched.into_iter().all(|(_, marked)| *marked)
    }

    fn selected(self) -> Vec<Range<usize>> {
        self.blocks
            .into_iter()
            .filter_map(|(block, marked)| marked.then_some(block))
            .collect()
    }
}
