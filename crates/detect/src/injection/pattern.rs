//! Patterns over tokens: classes of words in an order, each within so many bytes of the one before.
//!
//! The patterns are data (`patterns.txt`). All of them are matched in one walk over the tokens: for each step of each
//! pattern the walk remembers the last two places that a match had reached: the last may overlap the next token, and
//! only the largest distance is bounded. Time is linear in tokens times the steps that a token's classes take part in.

use std::ops::Range;
use std::sync::LazyLock;

use super::class::{Class, ClassSet};
use super::token::Token;
use crate::lanes::WIDTH;

/// The most bytes between two steps when the pattern does not say.
const DEFAULT_GAP: usize = 24;

/// The built-in patterns.
pub(super) static PATTERNS: LazyLock<Patterns> =
    LazyLock::new(|| Patterns::read(include_str!("patterns.txt")));

/// A way of giving orders, recognised by the words it takes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    /// `family.name`.
    pub(super) name: &'static str,
    /// What it adds to the evidence.
    pub(super) points: f32,
    pub(super) steps: Vec<Step>,
    number: usize,
    /// Where its steps begin among the steps of all patterns.
    first_step: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) classes: ClassSet,
    pub(super) gap: usize,
    pub(super) opens: bool,
    pub(super) opens_value: bool,
    pub(super) in_value: bool,
    /// Whether only a misspelling takes the step.
    pub(super) misspelt: bool,
    /// Whether the gate may rely on this step.
    pub(super) anchor: bool,
}

impl Pattern {
    /// A pattern without an anchor cannot call for attention by itself: it only adds to others.
    pub(super) fn is_anchored(&self) -> bool {
        self.steps.iter().any(|step| step.anchor)
    }

    /// The pattern's family.
    pub(super) fn family(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(family, _)| family)
    }
}

/// Where a pattern held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// Number of the pattern.
    pub(super) pattern: usize,
    pub(super) span: Range<usize>,
}

pub(super) struct Patterns {
    patterns: Vec<Pattern>,
    /// Every step of every pattern: the number of the pattern, and which of its steps it is.
    steps: Vec<(usize, usize)>,
    /// For each class the steps it may take, one bit for each.
    by_class: Vec<Vec<u64>>,
}

impl Patterns {
    fn read(text: &'static str) -> Self {
        let mut patterns: Vec<_> = text.lines().filter_map(read_line).collect();
        let mut steps = Vec::new();
        for (number, pattern) in patterns.iter_mut().enumerate() {
            pattern.number = number;
            pattern.first_step = steps.len();
            steps.extend((0..pattern.steps.len()).map(|place| (number, place)));
        }
        let mut by_class = vec![vec![0; steps.len().div_ceil(WIDTH)]; Class::COUNT];
        let all = patterns.iter().flat_map(|pattern| &pattern.steps);
        for (number, step) in all.enumerate() {
            for class in step.classes.numbers() {
                let bits = by_class
                    .get_mut(class)
                    .and_then(|bits| bits.get_mut(number / WIDTH));
                if let Some(bits) = bits {
                    *bits |= 1 << (number % WIDTH);
                }
            }
        }
        Self {
            patterns,
            steps,
            by_class,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Pattern> {
        self.patterns.iter()
    }

    pub(super) fn get(&self, number: usize) -> Option<&Pattern> {
        self.patterns.get(number)
    }

    /// Every place where a pattern holds; one for each last token that completes it.
    pub(super) fn held(&self, text: &str, tokens: &[Token]) -> Vec<Held> {
        let mut walk = Walk {
            reached: vec![Reached::default(); self.steps.len()],
            allowed: vec![0; self.steps.len().div_ceil(WIDTH)],
            breaks: hard_breaks(text),
            held: Vec::new(),
        };
        for token in tokens {
            self.take_each(token, &mut walk);
        }
        walk.held
    }

    /// Takes every step that the token's classes allow, the last first, so that no token takes two of one pattern.
    fn take_each(&self, token: &Token, walk: &mut Walk) {
        walk.allowed.fill(0);
        for set in token
            .classes
            .numbers()
            .filter_map(|class| self.by_class.get(class))
        {
            for (allowed, bits) in walk.allowed.iter_mut().zip(set) {
                *allowed |= bits;
            }
        }
        for part in (0..walk.allowed.len()).rev() {
            let mut bits = walk.allowed.get(part).copied().unwrap_or(0);
            while let Some(bit) = bits.checked_ilog2() {
                bits ^= 1 << bit;
                let step = self.steps.get(part * WIDTH + bit as usize);
                if let Some((pattern, place)) =
                    step.and_then(|&(pattern, place)| Some((self.patterns.get(pattern)?, place)))
                {
                    walk.take(token, pattern, place);
                }
            }
        }
    }
}

/// The last two matches that came as far as some step: where each began, where the step ended.
#[derive(Clone, Copy, Default)]
struct Reached([Option<(usize, usize)>; 2]);

struct Walk {
    /// The steps of all patterns, one after the other.
    reached: Vec<Reached>,
    /// The steps that the token at hand may take, one bit for each.
    allowed: Vec<u64>,
    breaks: Vec<usize>,
    held: Vec<Held>,
}

impl Walk {
    fn take(&mut self, token: &Token, pattern: &Pattern, place: usize) -> Option<()> {
        let step = pattern.steps.get(place)?;
        if (step.opens && !token.opens)
            || (step.opens_value && !token.opens_value)
            || (step.in_value && !token.in_value)
            || (step.misspelt && !token.misspelt)
            || (step.anchor && token.misspelt)
        {
            return None;
        }
        let begin = match place.checked_sub(1) {
            None => token.span.start,
            Some(before) => {
                let Reached(matches) = self.reached.get(pattern.first_step + before)?;
                let near = |&(_, end): &(usize, usize)| {
                    let gap = token.span.start.checked_sub(end);
                    gap.is_some_and(|gap| gap <= step.gap && !self.broken(end, token.span.start))
                };
                matches.iter().flatten().find(|&reached| near(reached))?.0
            }
        };
        if place + 1 == pattern.steps.len() {
            self.held.push(Held {
                pattern: pattern.number,
                span: begin..token.span.end,
            });
        }
        let Reached([last, before_last]) = self.reached.get_mut(pattern.first_step + place)?;
        *before_last = last.replace((begin, token.span.end));
        Some(())
    }

    fn broken(&self, from: usize, to: usize) -> bool {
        let next = self.breaks.partition_point(|&at| at < from);
        self.breaks.get(next).is_some_and(|&at| at < to)
    }
}

/// Empty lines, which no pattern crosses.
fn hard_breaks(text: &str) -> Vec<usize> {
    memchr::memchr_iter(b'\n', text.as_bytes()).collect()
}

fn read_line(line: &'static str) -> Option<Pattern> {
    let mut words = line.split_whitespace();
    let name = words.next().filter(|name| !name.starts_with('#'))?;
    let points = words.next()?.parse().ok()?;
    let mut steps = Vec::new();
    let mut gap = DEFAULT_GAP;
    for word in words {
        if let Some(bytes) = word.strip_prefix('<') {
            gap = bytes.parse().ok()?;
        } else {
            steps.push(read_step(word, gap)?);
            gap = DEFAULT_GAP;
        }
    }
    (!steps.is_empty()).then_some(Pattern {
        name,
        points,
        steps,
        number: 0,
        first_step: 0,
    })
}

fn read_step(word: &str, gap: usize) -> Option<Step> {
    let (opens, word) = word.strip_prefix('^').map_or((false, word), |rest| (true, rest));
    let (opens_value, word) = word.strip_prefix('~').map_or((false, word), |rest| (true, rest));
    let (in_value, word) = word.strip_prefix('%').map_or((false, word), |rest| (true, rest));
    let (misspelt, word) = word.strip_prefix('!').map_or((false, word), |rest| (true, rest));
    let (anchor, word) = word.strip_suffix('*').map_or((false, word), |rest| (true, rest));
    let mut classes = ClassSet::default();
    for name in word.split('|') {
        classes |= Class::named(name)?.into();
    }
    Some(Step {
        classes,
        gap,
        opens,
        opens_value,
        in_value,
        misspelt,
        anchor,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_pattern() {
        for line in include_str!("patterns.txt").lines() {
            assert!(
                line.is_empty() || line.starts_with('#') || read_line(line).is_some(),
                "not a pattern: {line}"
            );
        }
    }

    #[test]
    fn each_class_takes_the_steps_that_name_it() {
        for (class, bits) in PATTERNS.by_class.iter().enumerate() {
            for (number, &(pattern, place)) in PATTERNS.steps.iter().enumerate() {
                let step = &PATTERNS.patterns[pattern].steps[place];
                let taken = bits[number / WIDTH] >> (number % WIDTH) & 1 == 1;
                assert_eq!(
                    taken,
                    step.classes.has(class),
                    "{}",
                    PATTERNS.patterns[pattern].name
                );
                assert_eq!(PATTERNS.patterns[pattern].first_step + place, number);
            }
        }
    }
}
