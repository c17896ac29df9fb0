//! Which blocks are worth weighing.
//!
//! A block can only score if one of the anchored patterns holds in it. A pattern with one anchor needs a word of that
//! class; a pattern with two needs a word of each near the other. Those words are the triggers that the shared pass
//! looks for. Blocks that do not read as they stand (see `shape`) are always weighed, and so are blocks that name a
//! tool of the session.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::blocks::blocks;
use super::class::{Class, ClassSet};
use super::context::InjectionContext;
use super::lexicon::LEXICON;
use super::pattern::{PATTERNS, Pattern};
use super::score::TWISTED_KEYS;
use super::shape;
use crate::candidates::{Hit, Literal, MIN_LITERAL};
use crate::decode::rot13;
use crate::normalize::{SPACE_SPLIT_WORDS, SPLIT_WORDS, SPLITTERS};

/// How near each other the two anchors of a pattern must stand, in bytes as written.
const NEAR: usize = 512;

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
    shape::for_each(text, |chunk| marks.mark(chunk));
    mark_tools(text, context, &mut marks);
    marks.selected()
}

static GATE: LazyLock<Gate> = LazyLock::new(Gate::build);

struct Gate {
    triggers: Vec<Trigger>,
    pairs: Vec<(ClassSet, ClassSet)>,
    /// Classes that can be one side of a pair.
    paired: ClassSet,
}

struct Trigger {
    bytes: Vec<u8>,
    /// Enough by itself.
    alone: bool,
    classes: ClassSet,
}

impl Gate {
    fn build() -> Self {
        let mut single = ClassSet::default();
        let mut pairs = Vec::new();
        for anchors in PATTERNS.iter().map(anchors) {
            match anchors.as_slice() {
                [] => {}
                [one] => single |= *one,
                [first, second, ..] => pairs.push((*first, *second)),
            }
        }
        let paired = pairs
            .iter()
            .fold(ClassSet::default(), |all, (a, b)| all | *a | *b);
        let mut triggers = Vec::new();
        for (entry, classes) in LEXICON.entries() {
            let alone = classes.meets(single);
            if alone || classes.meets(paired) {
                for bytes in spellings(entry, alone) {
                    triggers.push(Trigger {
                        bytes,
                        alone,
                        classes,
                    });
                }
            }
        }
        triggers.extend(disguises().map(|bytes| Trigger {
            bytes,
            alone: true,
            classes: ClassSet::default(),
        }));
        Self {
            triggers,
            pairs,
            paired,
        }
    }
}

fn anchors(pattern: &Pattern) -> Vec<ClassSet> {
    pattern
        .steps
        .iter()
        .filter(|step| step.anchor)
        .map(|step| step.classes)
        .collect()
}

/// How an entry may be written so that it still counts: short words between blanks, phrases over a line's end.
fn spellings(entry: &str, alone: bool) -> Vec<Vec<u8>> {
    if entry.len() < MIN_LITERAL {
        return [" ", "\n", "\"", "'"]
            .iter()
            .map(|before| format!("{before}{entry} ").into_bytes())
            .collect();
    }
    let mut spellings = vec![entry.as_bytes().to_vec()];
    if alone {
        for (at, _) in entry.match_indices(' ') {
            for gap in ["\n", "\r\n", "\n  ", "\n    ", "\\n"] {
                let (before, after) = (entry.get(..at), entry.get(at + 1..));
                spellings.push(
                    format!("{}{gap}{}", before.unwrap_or_default(), after.unwrap_or_default()).into_bytes(),
                );
            }
        }
    }
    spellings
}

/// Beginnings of split words, and the key words rotated and reversed.
fn disguises() -> impl Iterator<Item = Vec<u8>> {
    let split = SPLIT_WORDS.iter().flat_map(|word| {
        (2..word.len()).flat_map(move |at| {
            SPLITTERS.iter().map(move |&splitter| {
                let (head, tail) = word.split_at(at);
                [
                    head.as_bytes(),
                    &[splitter],
                    tail.get(..1).unwrap_or_default().as_bytes(),
                ]
                .concat()
            })
        })
    });
    let spaced = SPLIT_WORDS.iter().take(SPACE_SPLIT_WORDS).flat_map(|word| {
        (2..word.len() - 1).map(move |at| {
            let (head, tail) = word.split_at(at);
            format!("{head} {tail}").into_bytes()
        })
    });
    let twisted = TWISTED_KEYS
        .iter()
        .flat_map(|key| [rot13(key).into_bytes(), key.bytes().rev().collect()]);
    split.chain(spaced).chain(twisted)
}

fn mark_hits(text: &[u8], hits: &[Hit], marks: &mut Marks) {
    let mut last = [None::<usize>; Class::COUNT];
    for hit in hits {
        let Some(trigger) = GATE.triggers.get(hit.tag as usize) else {
            continue;
        };
        if trigger.alone {
            marks.mark(hit.at.clone());
        }
        if !trigger.classes.meets(GATE.paired) {
            continue;
        }
        for (first, second) in &GATE.pairs {
            if trigger.classes.meets(*second)
                && let Some(start) =
                    nearest(&last, *first).filter(|start| hit.at.start.saturating_sub(*start) <= NEAR)
            {
                marks.mark(start..hit.at.end);
            }
            if trigger.classes.meets(*first)
                && let Some(end) = shape_after(text, hit.at.end, *second)
            {
                marks.mark(hit.at.start..end);
            }
        }
        for class in trigger.classes.numbers() {
            if let Some(slot) = last.get_mut(class) {
                *slot = Some(hit.at.start);
            }
        }
    }
}

fn nearest(last: &[Option<usize>; Class::COUNT], classes: ClassSet) -> Option<usize> {
    classes.numbers().filter_map(|class| *last.get(class)?).max()
}

/// Where something that looks like one of the given shapes stands after a word, if it does.
fn shape_after(text: &[u8], from: usize, classes: ClassSet) -> Option<usize> {
    let window = text.get(from..text.len().min(from + NEAR))?;
    let addresses = ClassSet::from(Class::Address) | Class::Link.into();
    let numbers = ClassSet::from(Class::Account) | Class::Money.into();
    let names = ClassSet::from(Class::Toolname);
    let address = || memchr::memchr2(b'@', b'.', window).is_some();
    let number = || window.iter().any(u8::is_ascii_digit);
    let name = || {
        window
            .iter()
            .any(|&byte| byte == b'_' || byte.is_ascii_uppercase())
    };
    let found = classes.meets(addresses) && address()
        || classes.meets(numbers) && number()
        || classes.meets(names) && name();
    found.then_some(from + window.len().min(160))
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

    fn selected(self) -> Vec<Range<usize>> {
        self.blocks
            .into_iter()
            .filter_map(|(block, marked)| marked.then_some(block))
            .collect()
    }
}
