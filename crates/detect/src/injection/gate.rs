//! Which blocks are worth weighing.
//!
//! A block can only score if one of the anchored patterns holds in it. Each anchored pattern names its rarest words,
//! which are the triggers that the shared pass looks for; where one stands, the step next to it in the pattern must
//! stand near, and a look at the few bytes there decides. Addresses are found by their `@`. Blocks that do not read as
//! they stand (see `shape`) are always weighed, and so are blocks that name a tool of the session.

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
use crate::candidates::{Hit, Literal, MIN_LITERAL};
use crate::decode::rot13;
use crate::normalize::split_beginnings;

/// What a distance in the plain reading may have been as written: lines are indented, blanks doubled.
const fn as_written(gap: usize) -> usize {
    gap * 2 + 32
}

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
    /// The classes among the entry's own that trigger; none means that the literal is enough.
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
        let mut triggers = Vec::new();
        for (entry, classes) in LEXICON.entries() {
            let classes = classes & anchors;
            if !classes.is_empty() {
                triggers.extend(spellings(entry).into_iter().map(|bytes| Trigger { bytes, classes }));
            }
        }
        triggers.extend(disguises().map(|bytes| Trigger {
            bytes,
            classes: ClassSet::default(),
        }));
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

/// How an entry may be written so that it still counts: short words between blanks, phrases over a line's end.
fn spellings(entry: &str) -> Vec<Vec<u8>> {
    if entry.len() < MIN_LITERAL {
        return [" ", "\n", "\"", "'"]
            .iter()
            .map(|before| format!("{before}{entry} ").into_bytes())
            .collect();
    }
    let composed: String = entry.nfc().collect();
    let composed = (composed != entry).then(|| composed.into_bytes());
    let broken = entry.match_indices(' ').map(|(at, _)| {
        let (before, after) = (entry.get(..at), entry.get(at + 1..));
        format!("{}\n{}", before.unwrap_or_default(), after.unwrap_or_default()).into_bytes()
    });
    std::iter::once(entry.as_bytes().to_vec()).chain(composed).chain(broken).collect()
}

/// Beginnings of split words, and the key words rotated and reversed.
fn disguises() -> impl Iterator<Item = Vec<u8>> {
    let twisted = TWISTED_KEYS.iter().flat_map(|key| {
        [rot13(key).into_bytes(), key.bytes().rev().collect()]
    });
    split_beginnings().into_iter().chain(twisted)
}

fn mark_hits(text: &[u8], hits: &[Hit], marks: &mut Marks) {
    for hit in hits {
        let Some(trigger) = GATE.triggers.get(hit.tag as usize) else { continue };
        if trigger.classes.is_empty() {
            marks.mark(hit.at.clone());
        } else if is_word(text, &hit.at) {
            for class in trigger.classes.numbers() {
                mark_if_met(text, &hit.at, class, marks);
            }
        }
    }
}

fn mark_addresses(text: &[u8], marks: &mut Marks) {
    for at in memchr::memchr_iter(b'@', text) {
        mark_if_met(text, &(at..at + 1), Class::Address as usize, marks);
    }
}

fn mark_images(text: &[u8], marks: &mut Marks) {
    for at in memchr::memmem::find_iter(text, b"![") {
        let window = text.get(at..text.len().min(at + 2 * MAX_SHAPE)).unwrap_or_default();
        if window.iter().any(|byte| matches!(byte, b'{' | b'<' | b'_')) || memchr::memmem::find(window, b"=[").is_some() {
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
        marks.mark(before..after);
    }
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
    let wanted = needs.iter().map(wants).fold(ClassSet::default(), |all, classes| all | classes);
    let Some(window) = window.filter(|window| !window.is_empty() && !wanted.is_empty()) else {
        return false;
    };
    let shapes = ClassSet::from(Class::Account) | Class::Money.into() | Class::Ident.into() | Class::Toolinvoke.into();
    let shaped = wanted.meets(shapes) && window.iter().any(|&b| b.is_ascii_digit() || b == b'(');
    let addressed = wanted.meets(Class::Address.into()) && window.contains(&b'@');
    shaped || addressed || LEXICON.mentions(window, wanted)
}

fn mark_tools(text: &[u8], context: &InjectionContext<'_>, marks: &mut Marks) {
    let names = context.tool_names.iter().filter(|name| name.len() >= MIN_TOOL_NAME);
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
