//! The quick reader: whole chunks, and a stop only where a word or a mark may mean something.
//!
//! How far into the plain reading a place lies is not counted byte by byte: what each kind of byte takes from it is counted
//! in the bits of the chunk, and only where somebody asks.

use std::ops::Range;

use fearless_simd::Simd;

use super::vocabulary::{Marks, Vocabulary, key};
use super::{LONGEST_ENTITY, Reader, WORD, word_length, word_start};
use crate::injection::lexicon::GLUED_WORD;
use crate::injection::typo;
use crate::lanes::{self, Chunk, Question, WIDTH, before_end, set_bits};

/// The most chunks that are read: a block of the text, and some.
const CHUNKS: usize = 32;

/// Reads the window if it is short enough, and says whether it did.
pub(super) fn read(reader: &mut Reader<'_>, window: &Range<usize>) -> bool {
    lanes::at_its_best(
        #[inline(always)]
        || read_chunks(reader, window),
    )
}

#[inline(always)]
fn read_chunks(reader: &mut Reader<'_>, window: &Range<usize>) -> bool {
    let text = reader.text;
    let end = window.end.min(text.len());
    let from = word_start(text, window.start);
    let readable = text.len().min(end + WORD);
    let count = readable.saturating_sub(from).div_ceil(WIDTH);
    let mut kinds = [Kinds::default(); CHUNKS + 1];
    let Some(kinds) = kinds.get_mut(..=count).filter(|_| count <= CHUNKS) else {
        return false;
    };
    lanes::ask(text, from, 0, &Looking(&reader.vocabulary.marks), kinds);
    for (at, kinds) in (from..).step_by(WIDTH).zip(kinds.iter_mut()) {
        kinds.alnum &= before_end(at, readable);
    }
    // Where codes take so much, nothing may be left to take from.
    let taken =
        |kinds: &Kinds| 2 * kinds.codes.count_ones() as usize + ENTITY * kinds.entities.count_ones() as usize;
    if kinds.iter().map(taken).sum::<usize>() > reader.plain {
        return false;
    }
    let before = from.checked_sub(1).and_then(|before| text.get(before));
    let mut carried = Carried {
        escape: u64::from(before == Some(&b'\\')),
        ..Carried::default()
    };
    let (mut plain, mut reached) = (reader.plain, reader.plain);
    for (at, pair) in (from..end).step_by(WIDTH).zip(kinds.windows(2)) {
        let [here, next] = pair else { continue };
        let escapes = here.backslashes << 1 | carried.escape;
        let (starts, taken) = here.starts_and_taken(next, &mut carried);
        let inside = before_end(at, end);
        let vocabulary = reader.vocabulary;
        let known = worth_reading(
            text,
            at,
            starts & inside & !escapes,
            here.alnum,
            next.alnum,
            vocabulary,
        );
        // Of what is escaped the first letter may not count.
        let words = known | starts & escapes;
        for offset in set_bits((words | here.marks) & inside) {
            reader.plain = taken.plain_at(plain, offset);
            if words >> offset & 1 == 0 {
                let mark = text.get(at + offset).copied().unwrap_or(0);
                reader.push_marked(at + offset, mark);
            } else {
                let length = length_of_run(here.alnum, next.alnum, offset);
                read_word(reader, at + offset, length, from..readable);
            }
        }
        reached = taken.plain_at(plain, WIDTH.min(end - at));
        plain = taken.plain_at(plain, WIDTH);
    }
    reader.plain = reached;
    true
}

/// Reads one word as the plain reader does.
fn read_word(reader: &mut Reader<'_>, at: usize, length: usize, readable: Range<usize>) {
    let (text, vocabulary) = (reader.text, reader.vocabulary);
    // Of a long word only so much was seen.
    let length = if length < WIDTH {
        length
    } else {
        word_length(text.get(at..readable.end).unwrap_or_default())
    };
    let escaped = at.checked_sub(1).and_then(|before| text.get(before)) == Some(&b'\\');
    reader.push_known(at..at + length, || {
        follows_article(
            text.get(readable.start..at).unwrap_or_default(),
            text,
            readable.start,
            vocabulary,
        )
    });
    if escaped && length > 1 {
        reader.push_known(at + 1..at + length, || false);
    }
}

/// Whether an article and one space stand before a place, given what was read before it and where that starts.
fn follows_article(read: &[u8], text: &[u8], start: usize, vocabulary: &Vocabulary) -> bool {
    let [before @ .., b' '] = read else {
        return false;
    };
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric();
    let length = before.iter().rev().take(WORD).take_while(is_part).count();
    let at = start + before.len() - length;
    let stands_alone = match at.checked_sub(1).and_then(|before| text.get(before)) {
        Some(byte) => byte.is_ascii() && *byte != b'\\',
        None => true,
    };
    let known = vocabulary.look_up(text.get(at..).unwrap_or_default(), length);
    length > 0 && stands_alone && known.is_some_and(|known| known.is_article)
}

/// Which of the words that start in a chunk may mean something. No jump depends on a word.
#[inline(always)]
fn worth_reading(text: &[u8], at: usize, starts: u64, alnum: u64, next: u64, vocabulary: &Vocabulary) -> u64 {
    let rest = text.get(at..).unwrap_or_default();
    let last;
    let bytes = match rest.first_chunk() {
        Some(bytes) => bytes,
        None => {
            last = padded(rest);
            &last
        }
    };
    let beginnings = typo::Beginnings::of_misspelt();
    let mut worth = 0;
    for offset in set_bits(starts) {
        let word = Beginning::of(bytes, offset, alnum, next);
        let [first, second, third, ..] = word.start.to_le_bytes();
        let read = vocabulary.may_stand(word.start, word.length, word.after)
            | (word.length >= GLUED_WORD)
            | typo::LENGTHS.contains(&word.length) & beginnings.may_be([first, second, third]);
        worth |= u64::from(read) << offset;
    }
    worth
}

/// A chunk, and as many bytes after it as a word that is not glued together has, and three more.
const SEEN: usize = WIDTH + GLUED_WORD + 3;

/// The beginning of a word: its first eight bytes in lower case, its length and the three bytes after it, unless it is long.
struct Beginning {
    start: u64,
    length: usize,
    after: [u8; 3],
}

impl Beginning {
    #[inline(always)]
    fn of(bytes: &[u8; SEEN], offset: usize, alnum: u64, next: u64) -> Self {
        let offset = offset % WIDTH;
        let length = length_of_run(alnum, next, offset);
        let end = offset + length.min(GLUED_WORD);
        let (start, length) = key(bytes.get(offset..offset + 8).unwrap_or_default(), length);
        let after = bytes.get(end..).and_then(<[u8]>::first_chunk);
        Self {
            start,
            length,
            after: after.copied().unwrap_or_default(),
        }
    }
}

/// How many bits are set from a place on, of those of a chunk and of the next one; at most [`WIDTH`].
#[inline(always)]
const fn length_of_run(bits: u64, next: u64, from: usize) -> usize {
    let from = from % WIDTH;
    (bits >> from | (next << 1) << (WIDTH - 1 - from)).trailing_ones() as usize
}

/// Blanks past the end of the text: whatever is known there is read.
#[cold]
#[inline(never)]
fn padded(rest: &[u8]) -> [u8; SEEN] {
    let mut bytes = [b' '; SEEN];
    for (slot, byte) in bytes.iter_mut().zip(rest) {
        *slot = *byte;
    }
    bytes
}

/// What an entity takes from the plain reading, besides itself.
const ENTITY: usize = LONGEST_ENTITY + 1;

/// Which bytes of a chunk are of a kind, one bit for each.
#[derive(Clone, Copy, Default)]
struct Kinds {
    alnum: u64,
    blanks: u64,
    backslashes: u64,
    /// The later bytes of characters beyond ASCII.
    inner: u64,
    /// `%` and `=`.
    codes: u64,
    /// `&`.
    entities: u64,
    /// Marks with which something may begin.
    marks: u64,
}

struct Looking<'a>(&'a Marks);

impl Question for Looking<'_> {
    type Answer = Kinds;

    #[inline(always)]
    fn of<S: Simd>(&self, chunk: Chunk<'_, S>) -> Kinds {
        let bytes = chunk.lanes();
        let next = chunk.lanes_after::<1>().folded().looked_up(&self.0.second);
        let alnum = (bytes.letters() | bytes.digits()).bits();
        let blanks = bytes.are(b' ') | bytes.between(b'\t', b'\n') | bytes.between(0x0c, b'\r');
        Kinds {
            alnum,
            blanks: blanks.bits(),
            backslashes: bytes.are(b'\\').bits(),
            inner: bytes.between(0x80, 0xbf).bits(),
            codes: (bytes.are(b'%') | bytes.are(b'=')).bits(),
            entities: bytes.are(b'&').bits(),
            marks: bytes.looked_up(&self.0.first).and(next).not_empty() & !alnum & !blanks.bits(),
        }
    }
}

/// What the last byte before a chunk was, as the lowest bit.
#[derive(Default)]
struct Carried {
    alnum: u64,
    blank: u64,
    escape: u64,
}

/// What bytes take from the plain reading: one, two, or an entity.
struct Taken {
    one: u64,
    codes: u64,
    entities: u64,
}

impl Taken {
    /// Where in the plain reading a byte of the chunk stands, given where the chunk does.
    #[inline(always)]
    fn plain_at(&self, plain: usize, offset: usize) -> usize {
        let before = before_end(0, offset);
        let count = |bits: u64| (bits & before).count_ones() as usize;
        (plain + offset)
            .saturating_sub(count(self.one) + 2 * count(self.codes) + ENTITY * count(self.entities))
    }
}

impl Kinds {
    /// Where words start, and what the bytes take from the plain reading: blanks in a row are one, what escapes something
    /// disappears, and so does the rest of a character.
    #[inline(always)]
    fn starts_and_taken(&self, next: &Self, carried: &mut Carried) -> (u64, Taken) {
        let starts = self.alnum & !(self.alnum << 1 | carried.alnum);
        let escaped = starts & (self.backslashes << 1 | carried.escape);
        let goes_on = self.alnum >> 1 | next.alnum << (WIDTH - 1);
        // An escaped letter alone may be a blank; what escapes after a blank leaves it one.
        let mut blank = self.blanks | escaped & !goes_on;
        loop {
            let more = blank | (blank << 1 | carried.blank) & self.backslashes;
            if more == blank {
                break;
            }
            blank = more;
        }
        let again = self.blanks & (blank << 1 | carried.blank);
        *carried = Carried {
            alnum: self.alnum >> (WIDTH - 1),
            blank: blank >> (WIDTH - 1),
            escape: self.backslashes >> (WIDTH - 1),
        };
        let taken = Taken {
            one: self.backslashes | self.inner | again | escaped,
            codes: self.codes,
            entities: self.entities,
        };
        (starts, taken)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Word, read_plainly};
    use super::*;
    use crate::injection::lexicon::LEXICON;
    use proptest::prelude::*;

    fn texts() -> impl Strategy<Value = Vec<u8>> {
        let entries: Vec<String> = LEXICON.entries().map(|(entry, _)| entry.to_owned()).collect();
        let word = prop_oneof![
            4 => proptest::sample::select(entries),
            1 => "[a-zA-Z0-9]{1,20}|[a-z]{60,140}",
            1 => proptest::sample::select(vec!["ignroe", "prevoius", "the", "your", "é", "\\n", "\\\\", "%20", "&amp;", "=3D"])
                .prop_map(str::to_owned),
            1 => "[a-z]{1,9}@[a-z]{1,9}\\.com|[ -~]{1,9}|&{1,40}|[\\\\ nt]{1,9}",
        ];
        let gap = proptest::sample::select(vec![
            " ", " ", "", "  \n", "\\", "\\n", "\": \"", "\t", "\u{a0}", "\u{b}",
        ]);
        proptest::collection::vec((word, gap), 1..120).prop_map(|parts| {
            parts
                .into_iter()
                .map(|(word, gap)| word + gap)
                .collect::<String>()
                .into_bytes()
        })
    }

    proptest! {
        #[test]
        fn the_quick_reader_reads_what_the_plain_one_does(
            text in texts(),
            (from, to) in (0..2000usize, 0..2000usize),
        ) {
            let (from, to) = (from.min(text.len()), to.min(text.len()));
            let window = from.min(to)..from.max(to);
            let (mut quickly, mut plainly): (Vec<Word>, Vec<Word>) = Default::default();
            let plain = 2 * window.len();
            let mut quick = Reader::new(&text, &window, plain, &mut quickly);
            if read(&mut quick, &window) {
                let reached = quick.plain;
                let mut plain = Reader::new(&text, &window, plain, &mut plainly);
                read_plainly(&mut plain, &window);
                prop_assert!(reached.abs_diff(plain.plain) <= 1);
                prop_assert_eq!(quickly, plainly);
            } else {
                prop_assert!(quickly.is_empty());
            }
        }
    }
}
