//! A quick look at the words around a trigger: could the rest of its pattern stand there?
//!
//! Most triggers are ordinary words, and reading the text around one in full costs thousands of times what finding it
//! did. Here the words around it are looked up as they are written, one small hash each, and every step of every
//! pattern that the trigger anchors must be met in order, within the distances that the pattern allows as written.
//! Where that holds, the words of the whole block say which patterns may stand in it, and so how much evidence it can
//! hold at most. The answers may be too high and must not be too low: blocks that do not read as they stand are weighed
//! anyway (see `shape`), and words of other scripts are looked for in the plain reading alone (see [`is_foreign`]).

use std::ops::Range;
use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::class::{Class, ClassSet};
use super::lexicon::{GLUED_WORD, LEXICON};
use super::pattern::{PATTERNS, Pattern, Step};
use super::score::Ledger;
use super::token::{ARTICLES, actions};
use super::typo;

/// How far the search for a word's start goes.
const WORD: usize = 64;

/// What a distance in the plain reading may have been as written: lines are indented, blanks doubled.
const fn as_written(gap: usize) -> usize {
    gap * 2 + 32
}

/// A pattern as seen from its anchor, or from its first step when it has none.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub(super) centre: Step,
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
}

static OUTLINES: LazyLock<Vec<Outline>> = LazyLock::new(|| PATTERNS.iter().filter_map(Outline::of).collect());

impl Outline {
    pub(super) fn of(pattern: &Pattern) -> Option<Self> {
        let at = pattern.steps.iter().position(|step| step.anchor).unwrap_or(0);
        let centre = pattern.steps.get(at)?.clone();
        let wanted = |(step, gap): (&Step, usize)| Wanted {
            classes: step.classes,
            gap,
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

    /// How far before and after the centre the pattern may reach.
    pub(super) fn reach(&self) -> (usize, usize) {
        let sum = |list: &[Wanted]| list.iter().map(|wanted| as_written(wanted.gap) + WORD).sum();
        (sum(&self.before), sum(&self.after))
    }

    /// Whether every step may stand around a centre, given the words there in order.
    fn may_stand(&self, text: &[u8], centre: &Word, words: &[Word]) -> bool {
        self.may_stand_before(text, centre, words) && self.may_stand_after(text, centre, words)
    }

    fn may_stand_before(&self, text: &[u8], centre: &Word, words: &[Word]) -> bool {
        let (mut from, mut plain) = (centre.span.start, centre.plain.start);
        self.before.iter().all(|wanted| {
            let floor = from.saturating_sub(as_written(wanted.gap) + WORD);
            if wanted.may_be_shape(text, floor..from) {
                (from, plain) = (0, 0);
                return true;
            }
            let near = starting_in(words, floor..centre.span.start).iter().find(|word| {
                word.classes.meets(wanted.classes)
                    && word.span.end <= centre.span.start
                    && plain.saturating_sub(word.plain.end) <= wanted.gap
            });
            near.is_some_and(|word| {
                (from, plain) = (word.span.start.min(from), word.plain.start.min(plain));
                true
            })
        })
    }

    fn may_stand_after(&self, text: &[u8], centre: &Word, words: &[Word]) -> bool {
        let (mut to, mut plain) = (centre.span.end, centre.plain.end);
        self.after.iter().all(|wanted| {
            let ceiling = to.saturating_add(as_written(wanted.gap) + WORD);
            if wanted.may_be_shape(text, to..ceiling) {
                (to, plain) = (text.len(), usize::MAX);
                return true;
            }
            let near = starting_in(words, centre.span.end..ceiling)
                .iter()
                .filter(|word| word.classes.meets(wanted.classes))
                .filter(|word| word.plain.start.saturating_sub(plain) <= wanted.gap);
            let ends = near.map(|word| (word.span.end, word.plain.end));
            ends.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
                .is_some_and(|ends| {
                    (to, plain) = (ends.0.max(to), ends.1.max(plain));
                    true
                })
        })
    }

    /// Whether the pattern may stand around some word that touches the place.
    pub(super) fn may_stand_at(&self, text: &[u8], place: &Range<usize>, words: &[Word]) -> bool {
        let touching = |word: &&Word| word.span.start < place.end && place.start < word.span.end;
        words
            .iter()
            .filter(touching)
            .any(|word| word.classes.meets(self.centre.classes) && self.may_stand(text, word, words))
    }

    fn may_stand_somewhere(&self, text: &[u8], words: &[Word]) -> bool {
        words.iter().any(|word| {
            word.classes.meets(self.centre.classes)
                && (word.opens_value || !self.centre.opens_value)
                && self.may_stand(text, word, words)
        })
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
pub(super) fn most_points(text: &[u8], block: Range<usize>, words: &mut Vec<Word>) -> Option<f32> {
    read_words(text, block.clone(), words);
    let bytes = text.get(block).unwrap_or_default();
    let shapes = shapes_in(bytes);
    let present = words.iter().fold(shapes, |all, word| all | word.classes);
    let mut ledger = Ledger::default();
    let mut anchored = false;
    for outline in OUTLINES.iter() {
        let wanted = outline
            .before
            .iter()
            .chain(&outline.after)
            .map(|wanted| wanted.classes);
        let possible = wanted
            .chain([outline.centre.classes])
            .all(|classes| classes.meets(present));
        let shaped = outline
            .centre
            .classes
            .meets(shapes.without(Class::Address.into()));
        if possible && (shaped || outline.may_stand_somewhere(text, words)) {
            anchored |= outline.centre.anchor;
            ledger.add(outline.family, outline.points);
        }
    }
    anchored.then(|| ledger.total())
}

/// The classes of shapes that may stand in a block.
fn shapes_in(block: &[u8]) -> ClassSet {
    let mut shapes = ClassSet::from(Class::Ident) | Class::Link.into() | Class::Toolname.into();
    if block.contains(&b'@') {
        shapes |= Class::Address.into();
    }
    if block.iter().any(u8::is_ascii_digit) {
        shapes |= ClassSet::from(Class::Account) | Class::Money.into();
    }
    let called = |open: usize| {
        let before = open.checked_sub(1).and_then(|before| block.get(before));
        before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    if memchr::memchr_iter(b'(', block).any(called) {
        shapes |= Class::Toolinvoke.into();
    }
    if memchr::memmem::find(block, b"![").is_some() {
        shapes |= Class::Filled.into();
    }
    shapes
}

impl Wanted {
    /// Whether what is wanted may be no word but an address, a number, a name.
    fn may_be_shape(&self, text: &[u8], place: Range<usize>) -> bool {
        let numbers = ClassSet::from(Class::Account) | Class::Money.into();
        let names = ClassSet::from(Class::Ident)
            | Class::Link.into()
            | Class::Toolname.into()
            | Class::Toolinvoke.into()
            | Class::Filled.into()
            | Class::Sessiontool.into();
        let bytes = text
            .get(place.start..place.end.min(text.len()))
            .unwrap_or_default();
        self.classes.meets(names)
            || self.classes.meets(Class::Address.into()) && bytes.contains(&b'@')
            || self.classes.meets(numbers) && bytes.iter().any(u8::is_ascii_digit)
    }
}

/// A word or phrase of the lexicon as it is written somewhere.
#[derive(Debug)]
pub(super) struct Word {
    span: Range<usize>,
    /// Where it stands in the plain reading of the window, in which distances can only be longer.
    plain: Range<usize>,
    classes: ClassSet,
    opens_value: bool,
}

/// Replaces `words` by the words of the lexicon that stand in the window, and the addresses, in order.
pub(super) fn read_words(text: &[u8], window: Range<usize>, words: &mut Vec<Word>) {
    words.clear();
    let end = window.end.min(text.len());
    let mut at = word_start(text, window.start);
    let mut article = None;
    let mut reader = Reader {
        text,
        words,
        plain: 2 * window.len(),
    };
    let mut blank = false;
    while at < end {
        let rest = text.get(at..).unwrap_or_default();
        let length = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        let before = at.checked_sub(1).and_then(|before| text.get(before)).copied();
        if length == 0 {
            let mark = rest.first().copied().unwrap_or(0);
            reader.push_marked(at, mark);
            reader.pass_mark(mark, blank);
            blank = mark.is_ascii_whitespace() || blank && mark == b'\\';
            at += 1;
            continue;
        }
        let noun = article == Some(at) && before == Some(b' ');
        reader.push_known(at..at + length, noun);
        if before == Some(b'\\') && length > 1 {
            reader.push_known(at + 1..at + length, false);
        }
        let word = rest.get(..length).unwrap_or_default();
        let is_article = length <= LONGEST_ARTICLE
            && before.is_none_or(|byte| byte.is_ascii() && byte != b'\\')
            && ARTICLES
                .iter()
                .any(|article| word.eq_ignore_ascii_case(article.as_bytes()));
        // An escaped blank before a word may be one of many that become one.
        let escaped = usize::from(before == Some(b'\\'));
        reader.plain += length - escaped;
        blank = escaped == 1 && length == 1;
        at += length;
        article = is_article.then_some(at + 1);
    }
    words.sort_by_key(|word| word.span.start);
}

/// Reads words and keeps count of the least that the plain reading has of what was passed.
struct Reader<'a> {
    text: &'a [u8],
    words: &'a mut Vec<Word>,
    plain: usize,
}

impl Reader<'_> {
    /// Counts a mark: blanks in a row become one, what escapes something disappears, codes become one character.
    fn pass_mark(&mut self, mark: u8, after_blank: bool) {
        match mark {
            b'\\' | 0x80..=0xbf => {}
            b'%' | b'=' => self.plain = self.plain.saturating_sub(1),
            b'&' => self.plain = self.plain.saturating_sub(LONGEST_ENTITY),
            blank if blank.is_ascii_whitespace() && after_blank => {}
            _ => self.plain += 1,
        }
    }

    /// Pushes a word that starts `ahead` bytes after those that were counted.
    fn push(&mut self, span: Range<usize>, ahead: usize, classes: ClassSet) {
        let start = self.plain + ahead;
        self.words.push(Word {
            opens_value: opens_value(self.text, span.start),
            plain: start..start + span.len(),
            span,
            classes,
        });
    }

    fn push_known(&mut self, word: Range<usize>, noun: bool) {
        let bytes = self.text.get(word.start..).unwrap_or_default();
        if word.len() >= GLUED_WORD {
            self.push_glued(&word);
        }
        let phrases = BY_START.get(&key(bytes, word.len()));
        for phrase in phrases.map_or(&[][..], Vec::as_slice) {
            let after = bytes.iter().skip(word.len());
            let Some(more) = super::gate::follow(after, phrase.rest.iter().copied()) else {
                continue;
            };
            let span = word.start..word.end + more;
            let mut classes = unless_noun(self.text, &span, phrase.classes);
            if noun {
                classes = classes.without(actions());
            }
            if !classes.is_empty() {
                self.push(span, 0, classes);
            }
        }
        if let Some(class) = typo::meant(bytes.get(..word.len()).unwrap_or_default()) {
            self.push(word, 0, class.into());
        }
    }

    /// Looks for every entry at every byte: the slow way, for words that were glued together.
    fn push_glued(&mut self, word: &Range<usize>) {
        let bytes = self.text.get(word.clone()).unwrap_or_default();
        LEXICON.find_in_bytes(bytes, |found, classes| {
            let span = word.start + found.start..word.start + found.end;
            self.push(span, found.start, classes);
        });
    }

    fn push_marked(&mut self, at: usize, mark: u8) {
        if mark == b'@' {
            self.push_address(at);
        }
        for (entry, classes) in LEXICON.marked(mark) {
            let span = at..at + entry.len();
            let same = self
                .text
                .get(span.clone())
                .is_some_and(|found| found.eq_ignore_ascii_case(entry.as_bytes()));
            if same {
                self.push(span, 0, classes);
            }
        }
    }

    /// Pushes the address around an `@`: words that are part of it do not stand before or after it.
    fn push_address(&mut self, at: usize) {
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'@');
        let before = self.text.get(at.saturating_sub(WORD)..at).unwrap_or_default();
        let before = before.iter().rev().take_while(is_part).count();
        let after = self.text.get(at..).unwrap_or_default();
        let after = after.iter().take(WORD).take_while(is_part).count();
        let start = self.plain.saturating_sub(before);
        self.words.push(Word {
            span: at - before..at + after,
            plain: start..start + before + after,
            classes: Class::Address.into(),
            opens_value: false,
        });
    }
}

/// What is left of the classes of a word that stands after an article or names a field: it asks for nothing.
pub(super) fn unless_noun(text: &[u8], span: &Range<usize>, classes: ClassSet) -> ClassSet {
    if classes.meets(actions()) && names_field(text, span.end) {
        classes.without(actions())
    } else {
        classes
    }
}

const LONGEST_ARTICLE: usize = 9;

/// The longest entity, which becomes one character or none.
const LONGEST_ENTITY: usize = 12;

/// The words of the lexicon by their beginning.
static BY_START: LazyLock<FxHashMap<(u64, usize), Vec<Phrase>>> = LazyLock::new(|| {
    let mut by_start: FxHashMap<(u64, usize), Vec<Phrase>> = FxHashMap::default();
    for (entry, classes) in LEXICON.entries() {
        let bytes = entry.as_bytes();
        let length = bytes
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        if length == 0 {
            continue;
        }
        let rest = bytes.get(length..).unwrap_or_default().into();
        let list = by_start.entry(key(bytes, length)).or_default();
        list.push(Phrase { rest, classes });
    }
    by_start
});

/// A phrase of the lexicon after its first word.
struct Phrase {
    rest: Box<[u8]>,
    classes: ClassSet,
}

/// The first eight bytes of a word in lower case, and its length.
fn key(bytes: &[u8], length: usize) -> (u64, usize) {
    let mut start = [0; 8];
    for (slot, byte) in start.iter_mut().zip(bytes.iter().take(length)) {
        *slot = byte | 0x20;
    }
    (u64::from_le_bytes(start), length)
}

/// Whether a quote that follows a colon or a bracket stands before this place, whatever blanks and escapes are between.
fn opens_value(text: &[u8], at: usize) -> bool {
    let Some([before @ .., b'"' | b'\'']) = text.get(..at) else {
        return false;
    };
    let last = before
        .iter()
        .rev()
        .take(WORD)
        .find(|byte| !byte.is_ascii_whitespace() && **byte != b'\\');
    matches!(last, Some(b':' | b'[') | None)
}

fn names_field(text: &[u8], end: usize) -> bool {
    matches!(text.get(end..), Some([b':', ..] | [b'"' | b'\'', b':', ..]))
}

/// The start of the word that a place lies in.
fn word_start(text: &[u8], at: usize) -> usize {
    let before = text.get(at.saturating_sub(WORD)..at).unwrap_or_default();
    at - before
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::injection::InjectionContext;
    use crate::injection::score::weigh;
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
        let gap = proptest::sample::select(vec![" ", " ", " ", " the ", ", ", ". ", ": ", "\": \"", " \""]);
        proptest::collection::vec((word, gap), 1..40)
            .prop_map(|parts| parts.into_iter().map(|(word, gap)| word + gap).collect())
    }

    proptest! {
        #[test]
        fn a_block_never_holds_more_than_estimated(text in texts()) {
            let evidence = weigh(text.as_bytes(), &InjectionContext::NONE);
            if normalize(text.as_bytes()).is_borrowed() && !evidence.patterns.is_empty() {
                let most = most_points(text.as_bytes(), 0..text.len(), &mut Vec::new());
                prop_assert!(most.is_some_and(|most| most + 0.01 >= evidence.points), "{:?} {:?}", most, evidence);
            }
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
