//! Cheap tests on the bytes for text that does not read as it stands: disguised letters, escapes, letters pulled apart.
//!
//! The text is looked at a chunk at a time; only bytes that show something are looked at one by one. Scripts that have no
//! ASCII look-alikes are left to the triggers, which know words in them.

use std::ops::Range;

use fearless_simd::Simd;

use crate::lanes::{self, Chunk, Question, WIDTH, set_bits};

/// How far beyond a chunk its tests look.
const AHEAD: usize = 12;

/// How near each other encoded blanks stand in encoded prose; one alone is part of a link.
const BLANK_CODES: usize = 32;

/// What stands past the ends of the text: a mark that means nothing.
const PAST: u8 = b'.';

/// How many chunks are looked at in one go.
const CHUNKS: usize = 64;

/// Calls `found` with each chunk that needs its plain reading.
pub(super) fn for_each(text: &[u8], mut found: impl FnMut(Range<usize>)) {
    let mut looks = [Looks::default(); CHUNKS + 1];
    let mut before = 0;
    for first in (0..text.len()).step_by(CHUNKS * WIDTH) {
        let count = (text.len() - first).div_ceil(WIDTH).min(CHUNKS);
        // The chunk after the last tells what follows.
        let looks = looks.get_mut(..=count).unwrap_or_default();
        lanes::ask(text, first, PAST, &Looking, looks);
        for (at, pair) in (first..).step_by(WIDTH).zip(looks.windows(2)) {
            let [here, next] = pair else { continue };
            if here.hides(text, at) || pulled_apart(before, here.letters, next.letters) {
                found(at..text.len().min(at + WIDTH));
            }
            before = here.letters >> (WIDTH - 1);
        }
    }
}

/// What the bytes of a chunk look like, one bit for each.
#[derive(Clone, Copy, Default)]
struct Looks {
    letters: u64,
    beyond_ascii: u64,
    /// Marks with which escapes begin.
    marks: u64,
    /// What nobody sees, but for blanks.
    controls: u64,
    /// Blanks and controls.
    low: u64,
}

struct Looking;

impl Question for Looking {
    type Answer = Looks;

    #[inline(always)]
    fn of<S: Simd>(&self, chunk: Chunk<'_, S>) -> Looks {
        let bytes = chunk.lanes();
        let marks = bytes.are(b'%') | bytes.are(b'&') | bytes.are(b'\\') | bytes.are(b'=');
        // Below the blank only controls and other blanks stand.
        let low = (bytes.between(0, b' ') | bytes.are(0x7f)).bits();
        let blanks = bytes.are(b' ') | bytes.are(b'\n') | bytes.are(b'\t') | bytes.are(b'\r');
        Looks {
            letters: bytes.letters().bits(),
            beyond_ascii: bytes.beyond_ascii().bits(),
            marks: marks.bits(),
            controls: low & !blanks.bits(),
            low,
        }
    }
}

impl Looks {
    /// Whether the chunk at a place holds something other than what it shows: disguised letters, controls, escapes, nothing
    /// but blanks.
    #[inline(always)]
    fn hides(&self, text: &[u8], at: usize) -> bool {
        let disguised = |from: usize| disguised(text.get(at + from..).unwrap_or_default());
        self.controls != 0
            // So many blanks may separate two words without hiding that they belong together.
            || self.low == u64::MAX
            || set_bits(self.beyond_ascii).any(disguised)
            || set_bits(self.marks).any(|from| escaped(text, at + from))
    }
}

/// Whether a character starts here that is invisible, or that is read as an ASCII letter.
const fn disguised(bytes: &[u8]) -> bool {
    match bytes {
        // Soft hyphen; other Latin-1 signs are what they are.
        [0xc2, second, ..] => *second == 0xad,
        // Accented Latin, phonetic letters, combining accents, Greek, Cyrillic, Armenian.
        [0xc3..=0xd6, ..] => true,
        [0xd8, 0x9c, ..] => true,
        // Georgian, Cherokee, invisible Mongolian and Khmer signs, phonetic extensions, more Latin and Greek.
        [
            0xe1,
            0x82..=0x83 | 0x85 | 0x8e..=0x8f | 0x9e | 0xa0 | 0xaa | 0xb4..=0xbf,
            ..,
        ] => true,
        // Spaces and marks of width zero, direction changes; not dashes, quotes, bullets, ellipsis.
        [0xe2, 0x80, 0x80..=0x92 | 0xa7..=0xaf, ..] => true,
        [
            0xe2,
            0x81 | 0x83 | 0x84 | 0x85 | 0x92 | 0x93 | 0xa0 | 0xb1..=0xb7,
            ..,
        ] => true,
        [0xe3, 0x85, 0xa4, ..] => true,
        // Latin of other blocks, Cherokee small letters, half- and full-width forms, byte order mark.
        [0xea, 0x9c..=0x9f | 0xac..=0xae, ..] => true,
        [0xef, 0xac | 0xbb..=0xbe, ..] => true,
        // Runs of variation selectors; one alone styles a symbol.
        [0xef, 0xb8, 0x80..=0x8f, 0xef, 0xb8, ..] => true,
        [0xf0, 0x90 | 0x91 | 0x96 | 0x9d, ..] => true,
        [0xf0, 0x9f, 0x84..=0x87, ..] => true,
        [0xf3, ..] => true,
        _ => false,
    }
}

/// Whether an escape that could hide a letter starts here.
fn escaped(text: &[u8], at: usize) -> bool {
    let before = at
        .checked_sub(1)
        .and_then(|before| text.get(before))
        .is_some_and(u8::is_ascii_alphanumeric);
    let Some(bytes) = text.get(at..) else { return false };
    match bytes {
        [b'%', b'2', b'0', rest @ ..] => {
            let near = rest.get(..rest.len().min(BLANK_CODES)).unwrap_or_default();
            memchr::memmem::find(near, b"%20").is_some()
        }
        [b'%', b'2', b'5', ..] => true,
        [b'%', high, low, ..] => is_letter(*high, *low),
        [b'=', high, low, next, ..] => {
            is_letter(*high, *low) && !low.is_ascii_lowercase() && before && next.is_ascii_alphabetic()
                || matches!((high, low, next), (b'2', b'0', b'='))
                || is_letter(*high, *low) && *next == b'='
                || before && matches!(high, b'\r' | b'\n')
        }
        [b'&', b'#', ..] | [b'\\', b'x' | b'u', ..] => true,
        [b'\\', b'\n', ..] => before,
        _ => false,
    }
}

/// Two hexadecimal digits that stand for an ASCII letter.
const fn is_letter(high: u8, low: u8) -> bool {
    matches!(high, b'4'..=b'7') && low.is_ascii_hexdigit()
}

/// Whether four letters in a row stand alone, as in `i g n o`, given which bytes are letters: the one before the chunk,
/// those of the chunk and those after it.
#[inline(always)]
fn pulled_apart(before: u64, chunk: u64, after: u64) -> bool {
    let letters = u128::from(before) | u128::from(chunk) << 1 | u128::from(after) << (WIDTH + 1);
    // The neighbours of the outermost are not known.
    let known = (1 << (WIDTH + AHEAD)) - 2;
    let alone = letters & !(letters << 1) & !(letters >> 1) & known;
    let pairs = alone & alone >> 2;
    pairs & pairs >> 4 != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Four letters, no letter before, between or after them, the first of them after the byte before the chunk.
    fn pulled_apart_plainly(text: &[u8], at: usize) -> bool {
        let letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphabetic);
        let end = at + WIDTH + AHEAD;
        (at..end).any(|first| {
            first + 7 < end
                && (0..4).all(|n| letter(first + 2 * n) && !letter(first + 2 * n + 1))
                && !first.checked_sub(1).is_some_and(letter)
        })
    }

    proptest! {
        #[test]
        fn whole_chunks_equal_one_byte_at_a_time(text in "([a-c][ .]|[ab][ab] ){0,60}", odd in 0..3usize) {
            let text = text.get(odd..).unwrap_or_default().as_bytes();
            for at in (0..text.len()).step_by(WIDTH) {
                let letters = |at: usize| {
                    let mut looks = [Looks::default()];
                    lanes::ask(text, at, PAST, &Looking, &mut looks);
                    looks[0].letters
                };
                let before = at.checked_sub(1).is_some_and(|before| text[before].is_ascii_alphabetic());
                let fast = pulled_apart(before.into(), letters(at), letters(at + WIDTH));
                prop_assert_eq!(fast, pulled_apart_plainly(text, at));
            }
        }
    }
}
