//! The words of a text that mean something to the patterns, as they are written.
//!
//! A word is looked up by its length and its first eight bytes, and most words are known to mean nothing from one bit. A
//! phrase is compared only where the letter after its first word is right. Two readers come to the same words: one goes
//! from word to word and from mark to mark, the quick one takes whole chunks and stops only at what may mean something.

mod quick;
mod vocabulary;

use std::ops::Range;

use super::class::{Class, ClassSet};
use super::gate::{follow, nearest};
use super::lexicon::{GLUED_WORD, LEXICON};
use super::token::actions;
use super::typo;
use vocabulary::{VOCABULARY, Vocabulary, key};

/// How far the search for a word's start goes, and how far past the end of a window its last word is read.
pub(super) const WORD: usize = 64;

/// A word or phrase of the lexicon as it is written somewhere.
#[derive(Debug, PartialEq)]
pub(super) struct Word {
    pub(super) span: Range<usize>,
    /// Where it stands in the plain reading of the window, in which distances can only be longer.
    pub(super) plain: Range<usize>,
    pub(super) classes: ClassSet,
    /// Where the reading began in which it was found: what stands before was said elsewhere. Nothing for an address.
    said_from: Option<usize>,
}

impl Word {
    /// Whether an utterance may begin here, in the block that starts at a place. Few ask, so it is not said before.
    pub(super) fn opens(&self, text: &[u8], block: usize) -> bool {
        let Some(from) = self.said_from else { return true };
        let said = |from: usize| text.get(from..self.span.start).unwrap_or_default();
        // What stands before the block was said elsewhere, too.
        let in_block = said(block);
        may_open(said(from)) || in_block.len() < WORD && may_open(in_block)
    }

    /// Whether a quoted value may begin here.
    pub(super) fn opens_value(&self, text: &[u8]) -> bool {
        self.said_from.is_some() && opens_value(text, &self.span)
    }
}

/// The words of a text as far as it was read. Blocks overlap, and what two of them share is read once.
pub(super) struct Reading {
    words: Vec<Word>,
    /// Up to where the text was read, and where that stands in its plain reading.
    to: usize,
    plain: usize,
}

/// Where the plain reading begins: so far on that nothing can be taken from before it.
const FAR: usize = usize::MAX / 4;

/// By how much the plain reading may be shorter where a reading goes on than when it is read in one go: blanks that it splits
/// become one.
const SPLIT: usize = 2;

impl Reading {
    pub(super) const fn new() -> Self {
        Self {
            words: Vec::new(),
            to: 0,
            plain: FAR,
        }
    }

    /// The words of the lexicon that stand in a block, and the addresses, in order. Blocks must come in order. What stands at
    /// the ends of what was read before may be there twice, or though it begins before the block.
    pub(super) fn words_in(&mut self, text: &[u8], block: Range<usize>) -> &[Word] {
        if block.start >= self.to {
            self.words.clear();
            (self.to, self.plain) = (block.start, FAR);
        }
        self.words.retain(|word| word.span.end > block.start);
        let rest = self.to..block.end;
        let from = word_start(text, rest.start);
        let plain = self.plain - SPLIT - (rest.start - from);
        let mut reader = Reader::new(text, &rest, plain, &mut self.words);
        if !quick::read(&mut reader, &rest) {
            read_plainly(&mut reader, &rest);
        }
        (self.to, self.plain) = (block.end, reader.plain);
        if !self.words.is_sorted_by_key(|word| word.span.start) {
            self.words.sort_by_key(|word| word.span.start);
        }
        &self.words
    }
}

/// Whether an entry of the lexicon may begin with the word of a length at the start of the bytes.
#[inline]
pub(super) fn may_begin_entry(bytes: &[u8], length: usize) -> bool {
    let (start, length) = key(bytes, length);
    VOCABULARY.may_know(start, length)
}

/// Reads every word and every mark, one after the other.
fn read_plainly(reader: &mut Reader<'_>, window: &Range<usize>) {
    let text = reader.text;
    let end = window.end.min(text.len());
    let readable = text.get(..text.len().min(end + WORD)).unwrap_or_default();
    let mut at = word_start(text, window.start);
    let mut article = None;
    let mut blank = false;
    while at < end {
        let rest = readable.get(at..).unwrap_or_default();
        let length = word_length(rest);
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
        let escaped = before == Some(b'\\');
        let is_article = reader.push_known(at..at + length, || noun) && !escaped;
        if escaped && length > 1 {
            reader.push_known(at + 1..at + length, || false);
        }
        // An escaped blank before a word may be one of many that become one.
        reader.plain += length - usize::from(escaped);
        blank = escaped && length == 1;
        at += length;
        let is_article = is_article && before.is_none_or(|byte| byte.is_ascii());
        article = is_article.then_some(at + 1);
    }
    // The last word may go on after the window.
    reader.plain = reader.plain.saturating_sub(at.saturating_sub(end));
}

/// Reads words and keeps count of the least that the plain reading has of what was passed.
struct Reader<'a> {
    text: &'a [u8],
    words: &'a mut Vec<Word>,
    vocabulary: &'a Vocabulary,
    /// Where the window starts: what stands before it was said elsewhere.
    start: usize,
    plain: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a [u8], window: &Range<usize>, plain: usize, words: &'a mut Vec<Word>) -> Self {
        Self {
            text,
            words,
            vocabulary: &VOCABULARY,
            start: window.start,
            plain,
        }
    }

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
            said_from: Some(self.start),
            plain: start..start + span.len(),
            span,
            classes,
        });
    }

    /// Pushes what a word and the phrases that begin with it mean; says whether it is an article. Whether an article stands
    /// before it is asked only where it matters.
    fn push_known(&mut self, word: Range<usize>, noun: impl Fn() -> bool) -> bool {
        let bytes = self.text.get(word.start..).unwrap_or_default();
        let written = bytes.get(..word.len()).unwrap_or_default();
        // An entry that is the whole word is looked up below.
        if word.len() >= GLUED_WORD && letters_of(written) >= GLUED_WORD {
            self.push_glued(&word);
        }
        let known = self.vocabulary.look_up(bytes, word.len());
        if let Some(known) = known {
            let after = bytes.get(word.len()..).unwrap_or_default();
            let next = match after {
                [b' ', next, ..] if next.is_ascii_alphanumeric() => Some(next | 0x20),
                _ => nearest(after.iter().copied()),
            };
            for phrase in known.phrases(next) {
                let more = match &*phrase.rest {
                    [] => Some(0),
                    rest if phrase.may_follow(after) => follow(after.iter(), rest.iter().copied()),
                    _ => None,
                };
                let Some(more) = more else { continue };
                let span = word.start..word.end + more;
                let mut classes = unless_noun(self.text, &span, phrase.classes);
                if classes.meets(actions()) && noun() {
                    classes = classes.without(actions());
                }
                if !classes.is_empty() {
                    self.push(span, 0, classes);
                }
            }
        }
        if let Some(class) = typo::meant(written) {
            self.push(word, 0, class.into());
        }
        known.is_some_and(|known| known.is_article)
    }

    /// Looks for every entry at every byte: the slow way, for words that were glued together.
    fn push_glued(&mut self, word: &Range<usize>) {
        let bytes = self.text.get(word.clone()).unwrap_or_default();
        LEXICON.find_in_bytes(bytes, |found, classes| {
            let span = word.start + found.start..word.start + found.end;
            self.push(span, found.start, classes);
        });
    }

    #[inline]
    fn push_marked(&mut self, at: usize, mark: u8) {
        if !self.vocabulary.marks.begin_with(mark) {
            return;
        }
        if mark == b'@' {
            self.push_address(at);
        }
        let next = self.text.get(at + 1).map(u8::to_ascii_lowercase);
        for (entry, classes) in LEXICON.marked(mark) {
            let second = entry.as_bytes().get(1).copied();
            if second.is_some() && second != next {
                continue;
            }
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
            said_from: None,
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

/// The longest entity, which becomes one character or none.
const LONGEST_ENTITY: usize = 12;

/// Whether an utterance may begin after what was said, in its plain reading. Escapes and codes may stand for anything.
fn may_open(said: &[u8]) -> bool {
    let before = said.get(said.len().saturating_sub(WORD)..).unwrap_or_default();
    let skipped = |byte: &&u8| matches!(byte, b' ' | b'*' | b'_' | b'`' | b'(');
    let blanks = before.iter().rev().take_while(skipped).count();
    let said = before.get(..before.len() - blanks).unwrap_or_default();
    let Some(last) = said.last() else { return true };
    let near = said
        .get(said.len().saturating_sub(LONGEST_ENTITY)..)
        .unwrap_or_default();
    !last.is_ascii_alphanumeric() || near.iter().any(|byte| matches!(byte, b'\\' | b'%' | b'=' | b'&'))
}

/// Whether a quote that follows a colon or a bracket stands before these words, whatever blanks and escapes are between,
/// and they are not all that the quotes hold.
fn opens_value(text: &[u8], words: &Range<usize>) -> bool {
    let Some([before @ .., b'"' | b'\'']) = text.get(..words.start) else {
        return false;
    };
    if matches!(text.get(words.end), Some(b'"' | b'\'')) {
        return false;
    }
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

/// How many ASCII letters the bytes have.
fn letters_of(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count()
}

/// The length of the ASCII word at the start of the bytes.
#[inline]
fn word_length(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count()
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
