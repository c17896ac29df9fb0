//! A quick look at the words of a block: which patterns could stand there?
//!
//! Most triggers are ordinary words, and reading a block in full costs thousands of times what finding one did. Here the
//! words of the block are looked up as they are written, one small hash each (see `words`), and every step of a pattern
//! must be met in order, within the distances that the pattern allows as written. That says which patterns may stand in
//! the block, and so how much evidence it can hold at most. The answers may be too high and must not be too low: blocks
//! that do not read as they stand are weighed anyway (see `shape`), and words of other scripts are looked for in the plain
//! reading alone (see [`is_foreign`]).

use std::ops::Range;
use std::sync::LazyLock;

use super::class::{Class, ClassSet};
use super::entity::MAX_SHAPE;
use super::hints;
use super::pattern::{PATTERNS, Pattern, Step};
use super::score::Ledger;
use super::words::{Reading, WORD, Word};
use crate::lanes::{WIDTH, set_bits};

/// What a distance in the plain reading may have been as written: lines are indented, blanks doubled.
const fn as_written(gap: usize) -> usize {
    gap * 2 + 32
}

/// A pattern as seen from its anchor, or from its first step when it has none.
#[derive(Clone, Debug)]
struct Outline {
    centre: Step,
    family: &'static str,
    points: f32,
    /// What must stand around the centre, the nearest first.
    before: Vec<Wanted>,
    after: Vec<Wanted>,
}

#[derive(Clone, Debug)]
struct Wanted {
    classes: ClassSet,
    gap: usize,
    opens: bool,
    opens_value: bool,
}

static OUTLINES: LazyLock<Outlines> =
    LazyLock::new(|| Outlines::new(PATTERNS.iter().filter_map(Outline::of).collect()));

/// All outlines, and which of them each class may be a step of.
struct Outlines {
    outlines: Vec<Outline>,
    /// Which outlines have no first step, no second, and so on: for each step a set of outlines, one bit for each.
    absent: Vec<u64>,
    /// For each class of which outlines it may be the first step, the second, and so on.
    by_class: Vec<Vec<u64>>,
}

impl Outlines {
    fn new(outlines: Vec<Outline>) -> Self {
        let most = outlines.iter().map(|outline| outline.steps().count()).max();
        let sets = |is_such: &dyn Fn(Option<ClassSet>) -> bool| {
            let set = |number: usize| {
                let bits = |outlines: &[Outline]| {
                    let such = outlines
                        .iter()
                        .map(|outline| is_such(outline.steps().nth(number)));
                    such.zip(0..)
                        .fold(0, |bits, (such, bit)| bits | u64::from(such) << bit)
                };
                outlines.chunks(WIDTH).map(bits).collect::<Vec<u64>>()
            };
            (0..most.unwrap_or(0)).flat_map(set).collect()
        };
        let numbered = |class: usize| move |step: Option<ClassSet>| step.is_some_and(|step| step.has(class));
        Self {
            absent: sets(&|step| step.is_none()),
            by_class: (0..Class::COUNT).map(|class| sets(&numbered(class))).collect(),
            outlines,
        }
    }

    /// The outlines of which each step may be one of these classes, in order.
    fn possible(&self, present: ClassSet) -> impl Iterator<Item = &Outline> {
        let mut met = self.absent.clone();
        for sets in present.numbers().filter_map(|class| self.by_class.get(class)) {
            for (met, set) in met.iter_mut().zip(sets) {
                *met |= set;
            }
        }
        let chunks = self.outlines.chunks(WIDTH);
        let places = chunks.len().max(1);
        chunks.enumerate().flat_map(move |(place, outlines)| {
            let steps = met.iter().skip(place).step_by(places);
            let possible = steps.fold(u64::MAX, |all, met| all & met);
            set_bits(possible).filter_map(|number| outlines.get(number))
        })
    }
}

impl Outline {
    fn of(pattern: &Pattern) -> Option<Self> {
        let at = pattern.steps.iter().position(|step| step.anchor).unwrap_or(0);
        let centre = pattern.steps.get(at)?.clone();
        let wanted = |(step, gap): (&Step, usize)| Wanted {
            classes: step.classes,
            gap,
            opens: step.opens,
            opens_value: step.opens_value,
        };
        // A step's gap is its distance from the step before it.
        let gaps = pattern.steps.get(1..=at)?.iter().rev().map(|step| step.gap);
        let before = pattern.steps.get(..at)?.iter().rev().zip(gaps).map(wanted);
        let after = pattern.steps.get(at + 1..)?.iter();
        Some(Self {
            before: before.collect(),
            after: after.map(|step| wanted((step, step.gap))).collect(),
            centre,
            family: pattern.family(),
            points: pattern.points,
        })
    }

    /// The classes of each step, the centre first.
    fn steps(&self) -> impl Iterator<Item = ClassSet> {
        let around = self.before.iter().chain(&self.after).map(|wanted| wanted.classes);
        std::iter::once(self.centre.classes).chain(around)
    }

    /// Whether every step may stand around a centre, given the words there in order.
    fn may_stand(&self, block: &Block<'_>, centre: &Word) -> bool {
        self.may_stand_before(block, centre) && self.may_stand_after(block, centre)
    }

    fn may_stand_before(&self, block: &Block<'_>, centre: &Word) -> bool {
        let Block { text, words, .. } = *block;
        let (mut from, mut plain) = (centre.span.start, centre.plain.start);
        self.before.iter().all(|wanted| {
            let floor = from.saturating_sub(as_written(wanted.gap) + WORD);
            if wanted.may_be_shape(text, floor..from) {
                (from, plain) = (0, 0);
                return true;
            }
            let near = starting_in(words, floor..centre.span.start).iter().find(|word| {
                wanted.may_be(word, block)
                    && word.span.end <= centre.span.start
                    && plain.saturating_sub(word.plain.end) <= wanted.gap
            });
            near.is_some_and(|word| {
                (from, plain) = (word.span.start.min(from), word.plain.start.min(plain));
                true
            })
        })
    }

    fn may_stand_after(&self, block: &Block<'_>, centre: &Word) -> bool {
        let Block { text, words, .. } = *block;
        let (mut to, mut plain) = (centre.span.end, centre.plain.end);
        self.after.iter().all(|wanted| {
            let ceiling = to.saturating_add(as_written(wanted.gap) + WORD);
            if wanted.may_be_shape(text, to..ceiling) {
                (to, plain) = (text.len(), usize::MAX);
                return true;
            }
            let near = starting_in(words, centre.span.end..ceiling)
                .iter()
                .filter(|word| wanted.may_be(word, block))
                .filter(|word| word.plain.start.saturating_sub(plain) <= wanted.gap);
            let ends = near.map(|word| (word.span.end, word.plain.end));
            ends.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
                .is_some_and(|ends| {
                    (to, plain) = (ends.0.max(to), ends.1.max(plain));
                    true
                })
        })
    }

    fn may_stand_somewhere(&self, block: &Block<'_>) -> bool {
        let Step {
            classes,
            opens,
            opens_value,
            ..
        } = self.centre;
        block.words.iter().any(|word| {
            word.classes.meets(classes)
                && block.opens_as(word, opens, opens_value)
                && self.may_stand(block, word)
        })
    }
}

/// A block of a text, by its words in order.
struct Block<'a> {
    text: &'a [u8],
    start: usize,
    words: &'a [Word],
}

impl Block<'_> {
    /// Whether a word may open what it has to.
    fn opens_as(&self, word: &Word, utterance: bool, value: bool) -> bool {
        (!utterance || word.opens(self.text, self.start)) && (!value || word.opens_value(self.text))
    }
}

/// The words that start in a place, of words in order.
fn starting_in(words: &[Word], place: Range<usize>) -> &[Word] {
    let from = words.partition_point(|word| word.span.start < place.start);
    let to = words.partition_point(|word| word.span.start < place.end);
    words.get(from..to).unwrap_or_default()
}

/// Whether letters stand in the bytes that are not written in ASCII. Dashes, quotes, signs and pictures are no letters.
pub(super) fn is_foreign(bytes: &[u8]) -> bool {
    let foreign = |pair: &[u8]| match pair {
        [0xc3..=0xe1 | 0xe3..=0xee, _] => true,
        [0xef, second] => *second != 0xb8,
        [0xf0, second] => *second != 0x9f,
        _ => false,
    };
    !bytes.is_ascii() && bytes.windows(2).any(foreign)
}

/// The most evidence that a block may hold as it stands; nothing when no pattern with an anchor may stand in it.
pub(super) fn most_points(text: &[u8], block: Range<usize>, reading: &mut Reading) -> Option<f32> {
    let shapes = hints::shapes_in(text.get(block.clone()).unwrap_or_default(), hints::all());
    let block = Block {
        text,
        start: block.start,
        words: reading.words_in(text, block),
    };
    let present = block.words.iter().fold(shapes, |all, word| all | word.classes);
    let mut ledger = Ledger::default();
    let mut anchored = false;
    for outline in OUTLINES.possible(present) {
        let shaped = outline
            .centre
            .classes
            .meets(shapes.without(Class::Address.into()));
        if shaped || outline.may_stand_somewhere(&block) {
            anchored |= outline.centre.anchor;
            ledger.add(outline.family, outline.points);
        }
    }
    anchored.then(|| ledger.total())
}

impl Wanted {
    fn may_be(&self, word: &Word, block: &Block<'_>) -> bool {
        word.classes.meets(self.classes) && block.opens_as(word, self.opens, self.opens_value)
    }

    /// Whether what is wanted may be no word but an address, a number, a name that stands in a place or goes on from there.
    fn may_be_shape(&self, text: &[u8], place: Range<usize>) -> bool {
        if self.classes.meets(Class::Sessiontool.into()) {
            return true;
        }
        if !self.classes.meets(hints::all()) {
            return false;
        }
        !hints::shapes_in(whole_pieces(text, place), self.classes).is_empty()
    }
}

/// The bytes of a place, and the rest of what it begins and ends with.
fn whole_pieces(text: &[u8], place: Range<usize>) -> &[u8] {
    let goes_on = |byte: &&u8| !byte.is_ascii_whitespace();
    let place = place.start.min(text.len())..place.end.min(text.len());
    let before = text
        .get(place.start.saturating_sub(MAX_SHAPE)..place.start)
        .unwrap_or_default();
    let after = text
        .get(place.end..text.len().min(place.end + MAX_SHAPE))
        .unwrap_or_default();
    let start = place.start - before.iter().rev().take_while(goes_on).count();
    let end = place.end + after.iter().take_while(goes_on).count();
    text.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::injection::blocks::blocks;
    use crate::injection::learned::said;
    use crate::injection::lexicon::LEXICON;
    use crate::injection::score::{LEARNED, other_readings, weigh};
    use crate::injection::{InjectionContext, Reader};
    use crate::normalize::normalize;

    /// Texts of words that patterns are made of, which read as they stand.
    fn texts() -> impl Strategy<Value = String> {
        let entries: Vec<String> = LEXICON
            .entries()
            .filter(|(entry, _)| entry.is_ascii())
            .map(|(entry, _)| entry.to_owned())
            .collect();
        let word = prop_oneof![
            6 => proptest::sample::select(entries),
            1 => "[a-z]{1,9}",
            1 => "[a-z]{1,9}@[a-z]{1,9}\\.com|\\$?[0-9]{1,9}|[a-z]{1,5}_[a-z]{1,5}\\(",
        ];
        let gap = proptest::sample::select(vec![
            " ", " ", " ", " the ", ", ", ". ", ": ", "\": \"", " \"", " (", " *",
        ]);
        proptest::collection::vec((word, gap), 1..40)
            .prop_map(|parts| parts.into_iter().map(|(word, gap)| word + gap).collect())
    }

    /// What a block that reads as it stands holds more than was estimated of it.
    fn underestimated(text: &[u8], block: Range<usize>, reading: &mut Reading) -> Option<String> {
        let bytes = &text[block.clone()];
        let plain = normalize(bytes);
        if !plain.is_borrowed() || !other_readings(plain.text()).is_empty() {
            return None;
        }
        let evidence = weigh(bytes, &Reader::of(text, &InjectionContext::NONE));
        let patterns = evidence.patterns.iter().any(|(name, _)| *name != LEARNED);
        let most = most_points(text, block, reading);
        let enough = most.unwrap_or(0.0) + said(plain.text()).points + 0.01 >= evidence.points;
        (patterns && most.is_none() || !enough).then(|| format!("{most:?} {evidence:?}"))
    }

    proptest! {
        #[test]
        fn a_block_never_holds_more_than_estimated(text in texts()) {
            prop_assert_eq!(underestimated(text.as_bytes(), 0..text.len(), &mut Reading::new()), None);
        }
    }

    proptest! {
        #[test]
        fn each_of_many_blocks_never_holds_more_than_estimated(texts in proptest::collection::vec(texts(), 4..12)) {
            let text = texts.concat();
            let mut reading = Reading::new();
            for block in blocks(text.as_bytes()) {
                prop_assert_eq!(underestimated(text.as_bytes(), block, &mut reading), None);
            }
        }

        #[test]
        fn sets_tell_which_outlines_are_possible(classes in proptest::collection::vec(0..Class::COUNT, 0..12)) {
            let lexicon = LEXICON.entries().map(|(_, classes)| classes).chain([hints::all()]);
            let all: Vec<ClassSet> = lexicon.collect();
            let present = classes
                .iter()
                .fold(ClassSet::default(), |present, number| present | all[number * 37 % all.len()]);
            let plainly = |outline: &&Outline| outline.steps().all(|step| step.meets(present));
            let points = |outline: &Outline| (outline.family, outline.points.to_bits());
            let possible: Vec<_> = OUTLINES.possible(present).map(points).collect();
            let expected: Vec<_> = OUTLINES.outlines.iter().filter(plainly).map(points).collect();
            prop_assert_eq!(possible, expected);
        }
    }

    #[test]
    fn letters_of_other_scripts_are_foreign() {
        for (text, foreign) in [
            ("plain", false),
            ("don’t – “quote” … ✓ 🎉", false),
            ("指示", true),
            ("указания", true),
            ("تجاهل", true),
        ] {
            assert_eq!(is_foreign(text.as_bytes()), foreign, "{text}");
        }
    }
}
