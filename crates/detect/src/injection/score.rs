//! From patterns to one number.
//!
//! Each pattern that holds in a block adds its points once. Patterns of one family say much the same thing, so the
//! second counts half, the third a quarter, and so on; families add up. A logistic curve turns points into a score from 0
//! to 1, with 0.5 at [`EVEN_POINTS`]. Patterns without an anchor count only beside one that has one. A text scores as
//! its worst block, so length alone never makes a text suspicious.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::Reader;
use super::class::{Class, ClassSet};
use super::context::{InjectionContext, Surface, ToolNames};
use super::gate;
use super::learned::{Said, said};
use super::lexicon::starts_word;
use super::pattern::{Held, PATTERNS};
use super::sample::{may_ask, samples};
use super::token::{Token, tokens};
use crate::decode::{Encoding, rot13};
use crate::normalize::{Concealment, Normalized, normalize};

/// The evidence at which benign and hostile are equally likely.
pub(super) const EVEN_POINTS: f32 = 3.4;

/// How fast the score rises with evidence.
const STEEPNESS: f32 = 1.2;

/// Points for text that was hidden in characters nobody sees.
const HIDDEN_TEXT: f32 = 3.0;

/// Points for words with look-alike letters, or with invisible characters inside.
const DISGUISED_WORDS: f32 = 1.5;

/// Points for having been encoded.
const ENCODED: f32 = 1.5;

/// Points for prose in binary, hexadecimal or Morse.
const CONCEALED_PROSE: f32 = 2.6;

/// The fewest words that are prose; fewer are samples of an encoding.
const PROSE_WORDS: usize = 4;

/// Points for naming a tool of the session.
const SESSION_TOOL: f32 = 1.5;

/// Points for an address that the session has never met, beside a directive that uses it.
const UNKNOWN_VALUE: f32 = 1.0;

/// What sums in another order may differ by, and more.
const ROUNDING: f32 = 0.01;

/// The fewest hidden characters that are a text.
const HIDDEN_CHARACTERS: usize = 4;

/// The name of what was learned, beside the patterns' own.
pub(super) const LEARNED: &str = "learned.words";

/// The evidence in one block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Evidence {
    pub(super) points: f32,
    pub(super) patterns: Vec<(&'static str, Range<usize>)>,
}

impl Evidence {
    pub(super) fn score(&self) -> f32 {
        if self.patterns.is_empty() {
            return 0.0;
        }
        of_points(self.points)
    }
}

/// The points without which a text cannot reach a score, however much the session adds.
pub(super) fn least_points(score: f32, context: &InjectionContext<'_>) -> f32 {
    if score <= 0.0 {
        return f32::NEG_INFINITY;
    }
    EVEN_POINTS - (1.0 / score - 1.0).ln() / STEEPNESS - most_from_session(context)
}

/// The highest score of a text with so many points at most, however much the session adds.
pub(super) fn highest(most: f32, context: &InjectionContext<'_>) -> f32 {
    of_points(most + most_from_session(context))
}

/// The most points that the session may add to a block that names none of its longer tools, and what rounding may.
fn most_from_session(context: &InjectionContext<'_>) -> f32 {
    let unmarked_tool = context.tools.is_some_and(ToolNames::has_short);
    let tool = if unmarked_tool { SESSION_TOOL } else { 0.0 };
    let unknown = if context.known.is_some() {
        UNKNOWN_VALUE
    } else {
        0.0
    };
    tool + unknown + ROUNDING
}

fn of_points(points: f32) -> f32 {
    1.0 / (1.0 + (-(points - EVEN_POINTS) * STEEPNESS).exp())
}

/// Weighs a block of text. Spans are offsets into the block.
pub(super) fn weigh(block: &[u8], reader: &Reader<'_>) -> Evidence {
    let plain = normalize(block);
    let mut best = weigh_reading(&plain, plain.text(), reader);
    for (twist, reading) in other_readings(plain.text()) {
        let mut evidence = weigh_reading(&plain, &reading, reader);
        evidence.points += ENCODED;
        if twist != Twist::Leet && has_small_words(&reading) {
            evidence.points += CONCEALED_PROSE;
            evidence
                .patterns
                .push(("hidden.encoded-prose", plain.source(0..plain.text().len())));
        }
        if evidence.score() > best.score() {
            best = evidence;
        }
    }
    best
}

/// Weighs a text that stood encoded at `span`. Prose in an encoding that nobody writes prose in speaks for itself.
pub(super) fn weigh_decoded(
    text: &str,
    encoding: Encoding,
    span: &Range<usize>,
    reader: &Reader<'_>,
) -> Evidence {
    let mut evidence = weigh(text.as_bytes(), reader);
    evidence.points += ENCODED;
    let concealing = matches!(encoding, Encoding::Binary | Encoding::Hex | Encoding::Morse);
    if concealing && is_prose(text) {
        evidence.points += CONCEALED_PROSE;
        evidence.patterns.push(("hidden.encoded-prose", 0..0));
    }
    for (_, place) in &mut evidence.patterns {
        *place = span.clone();
    }
    evidence
}

fn is_prose(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let words = text.split_whitespace().filter(|word| word.len() > 1).count();
    words >= PROSE_WORDS && letters * 10 >= text.chars().count() * 7
}

/// Small words of every English sentence that are none when rotated or read backwards.
const SMALL_WORDS: [&str; 12] = [
    "the", "is", "of", "to", "what", "how", "you", "your", "where", "and", "does", "that",
];

/// The fewest small words that make a sentence.
const SENTENCE_SMALL_WORDS: usize = 3;

/// Whether a reading has the small words of a sentence.
fn has_small_words(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let small = words.filter(|word| SMALL_WORDS.iter().any(|small| word.eq_ignore_ascii_case(small)));
    small.take(SENTENCE_SMALL_WORDS).count() == SENTENCE_SMALL_WORDS
}

/// Words that tell a text which is written in another way.
const TWISTED_KEYS: [&str; 14] = [
    "ignore",
    "previous",
    "instructions",
    "disregard",
    "password",
    "secret",
    "forget",
    "passphrase",
    "prompt",
    "reveal",
    "where",
    "email",
    "please",
    "write",
];

/// Another way to write a text that a model still reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Twist {
    Rotated,
    Reversed,
    /// Digits and signs for the letters they look like.
    Leet,
}

impl Twist {
    fn undone(self, text: &str) -> String {
        match self {
            Self::Rotated => rot13(text),
            Self::Reversed => text.chars().rev().collect(),
            Self::Leet => text.chars().map(meant).collect(),
        }
    }
}

/// The letter that a digit or sign stands for.
const fn meant(character: char) -> char {
    match character {
        '4' | '@' => 'a',
        '3' => 'e',
        '1' => 'i',
        '0' => 'o',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    }
}

/// The key words as they look in each way, for the gate to look for.
pub(super) fn twisted_keys() -> impl Iterator<Item = String> {
    TWISTS.iter().map(|(key, _)| key.clone())
}

static TWISTS: LazyLock<Vec<(String, Twist)>> = LazyLock::new(|| {
    let plain = TWISTED_KEYS.iter().flat_map(|key| {
        [
            (rot13(key), Twist::Rotated),
            (key.chars().rev().collect(), Twist::Reversed),
        ]
    });
    let leet = TWISTED_KEYS.iter().flat_map(|key| leet_spellings(key));
    plain.chain(leet.map(|key| (key, Twist::Leet))).collect()
});

/// A word with every vowel replaced, with every other letter that has a look-alike too, and with `@` and `$` for both.
fn leet_spellings(word: &str) -> Vec<String> {
    let replaced = |pairs: &[(char, char)]| -> String {
        let other = |letter| pairs.iter().find(|(from, _)| *from == letter);
        word.chars()
            .map(|letter| other(letter).map_or(letter, |(_, to)| *to))
            .collect()
    };
    const VOWELS: [(char, char); 4] = [('a', '4'), ('e', '3'), ('i', '1'), ('o', '0')];
    const LETTERS: [(char, char); 6] = [
        ('a', '4'),
        ('e', '3'),
        ('i', '1'),
        ('o', '0'),
        ('s', '5'),
        ('t', '7'),
    ];
    const SIGNS: [(char, char); 5] = [('a', '@'), ('e', '3'), ('i', '1'), ('o', '0'), ('s', '$')];
    const SIGNED_VOWELS: [(char, char); 4] = [('a', '@'), ('e', '3'), ('i', '1'), ('o', '0')];
    let mut spellings: Vec<String> = [&VOWELS[..], &LETTERS, &SIGNS, &SIGNED_VOWELS]
        .map(replaced)
        .into();
    spellings.sort_unstable();
    spellings.dedup();
    spellings
}

static TWISTED: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(twisted_keys())
        .ok()
});

/// The other ways to read a text that some of its words call for. The gate always has such a text weighed.
pub(super) fn other_readings(text: &str) -> Vec<(Twist, String)> {
    let mut twists: Vec<Twist> = Vec::new();
    let found = TWISTED.iter().flat_map(|finder| finder.find_iter(text));
    for found in found.filter(|found| starts_word(text.as_bytes(), found.start())) {
        if let Some((_, twist)) = TWISTS.get(found.pattern().as_usize())
            && !twists.contains(twist)
        {
            twists.push(*twist);
        }
    }
    twists
        .into_iter()
        .map(|twist| (twist, twist.undone(text)))
        .collect()
}

fn weigh_reading(plain: &Normalized<'_>, text: &str, reader: &Reader<'_>) -> Evidence {
    let context = &reader.context;
    let mut tokens = tokens(text);
    add_session_tools(text, context, &mut tokens);
    let mut held = PATTERNS.held(text, &tokens);
    drop_samples(text, &mut held);
    let anchored = held
        .iter()
        .any(|held| PATTERNS.get(held.pattern).is_some_and(|p| p.is_anchored()));
    let mut ledger = Ledger::default();
    let mut patterns = Vec::new();
    for Held { pattern, span } in first_of_each(held) {
        let Some(pattern) = PATTERNS.get(pattern) else {
            continue;
        };
        if !counts(pattern.family(), context.surface) {
            continue;
        }
        ledger.add(pattern.family(), pattern.points);
        let span = if text.len() == plain.text().len() {
            span
        } else {
            0..plain.text().len()
        };
        patterns.push((pattern.name, plain.source(span)));
    }
    let concealed = concealment_points(plain.concealment());
    if concealed > 0.0 && (anchored || concealed >= HIDDEN_TEXT) {
        ledger.add("hidden", concealed);
        patterns.push(("hidden.characters", plain.source(0..plain.text().len())));
    }
    let mut evidence = Evidence::default();
    if anchored || concealed >= HIDDEN_TEXT {
        evidence.points = ledger.total() + session_points(text, context, &tokens);
        evidence.patterns = patterns;
    }
    let said = said_in(text, &tokens, reader);
    if said.points > 0.0 {
        let span = if text.len() == plain.text().len() {
            said.span
        } else {
            0..plain.text().len()
        };
        evidence.points += said.points;
        evidence.patterns.push((LEARNED, plain.source(span)));
    }
    evidence
}

/// What the choice of words says. Whoever types for himself may choose his words.
fn said_in(text: &str, tokens: &[Token], reader: &Reader<'_>) -> Said {
    let calls = |token: &Token| !token.misspelt && gate::calls(token.classes);
    if reader.context.surface == Surface::TaskData && (reader.closely || tokens.iter().any(calls)) {
        said(text)
    } else {
        Said::default()
    }
}

/// Drops the requests that are made only as an example of one (see `sample`).
fn drop_samples(text: &str, held: &mut Vec<Held>) {
    let asks = |held: &Held| PATTERNS.get(held.pattern).is_some_and(may_ask);
    if !held.iter().any(asks) {
        return;
    }
    let samples = samples(text);
    held.retain(|held| {
        let next = samples.partition_point(|sample| sample.end <= held.span.start);
        let begins_in = samples
            .get(next)
            .is_some_and(|sample| sample.start <= held.span.start);
        !(begins_in && asks(held))
    });
}

/// Requests are what an operator is there to make, and showing by examples how to answer is one way to make them.
fn counts(family: &str, surface: Surface) -> bool {
    match surface {
        Surface::TaskData => true,
        Surface::OperatorInput => !matches!(
            family,
            "plain" | "exfil" | "tool" | "order" | "urgent" | "transcript"
        ),
    }
}

fn first_of_each(held: Vec<Held>) -> Vec<Held> {
    let mut first: Vec<Held> = Vec::new();
    for held in held {
        if !first.iter().any(|known| known.pattern == held.pattern) {
            first.push(held);
        }
    }
    first
}

fn concealment_points(concealment: Concealment) -> f32 {
    let hidden = if concealment.tags >= HIDDEN_CHARACTERS {
        HIDDEN_TEXT
    } else {
        0.0
    };
    let disguised = if concealment.look_alikes > 0 || concealment.invisible > 1 {
        DISGUISED_WORDS
    } else {
        0.0
    };
    hidden + disguised
}

fn add_session_tools(text: &str, context: &InjectionContext<'_>, tokens: &mut Vec<Token>) {
    let Some(tools) = context.tools else { return };
    tokens.extend(tools.find(text).map(|at| Token::of(at, Class::Sessiontool)));
    tokens.sort_by_key(|token| (token.span.start, token.span.end));
}

fn session_points(text: &str, context: &InjectionContext<'_>, tokens: &[Token]) -> f32 {
    let has = |classes: ClassSet| tokens.iter().any(|token| token.classes.meets(classes));
    let mut points = 0.0;
    if has(Class::Sessiontool.into()) {
        points += SESSION_TOOL;
    }
    if let Some(known) = context.known {
        let values = ClassSet::from(Class::Address) | Class::Link.into() | Class::Account.into();
        let unknown = tokens
            .iter()
            .filter(|token| token.classes.meets(values))
            .filter_map(|token| text.get(token.span.clone()))
            .any(|value| !known.knows(value));
        if unknown {
            points += UNKNOWN_VALUE;
        }
    }
    points
}

/// Points by family, the largest first.
#[derive(Default)]
pub(super) struct Ledger {
    families: Vec<(&'static str, Vec<f32>)>,
}

impl Ledger {
    pub(super) fn add(&mut self, family: &'static str, points: f32) {
        match self.families.iter_mut().find(|(known, _)| *known == family) {
            Some((_, list)) => list.push(points),
            None => self.families.push((family, vec![points])),
        }
    }

    pub(super) fn total(mut self) -> f32 {
        self.families
            .iter_mut()
            .map(|(_, list)| {
                list.sort_by(|a, b| b.total_cmp(a));
                list.iter().rev().fold(0.0, |sum, points| points + sum / 2.0)
            })
            .sum()
    }
}
