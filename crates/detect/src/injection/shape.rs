//! Cheap tests on the bytes for text that does not read as it stands: disguised letters, escapes, letters pulled apart.
//!
//! The text is looked at in chunks of 64 bytes with arithmetic that the compiler turns into vector instructions; only
//! chunks that show something are looked at byte by byte. Scripts that have no ASCII look-alikes are left to the
//! triggers, which know words in them.

use std::ops::Range;

const CHUNK: usize = 64;

/// How far beyond a chunk its tests look.
const AHEAD: usize = 12;

/// The most blanks that may separate two words without hiding that they belong together.
const BLANKS: usize = CHUNK;

/// How near each other encoded blanks stand in encoded prose; one alone is part of a link.
const BLANK_CODES: usize = 32;

/// Calls `found` with each chunk that needs its plain reading.
pub(super) fn for_each(text: &[u8], mut found: impl FnMut(Range<usize>)) {
    let mut at = 0;
    while at < text.len() {
        let end = (at + CHUNK).min(text.len());
        let window = text.get(at..(end + AHEAD).min(text.len())).unwrap_or_default();
        let chunk = text.get(at..end).unwrap_or_default();
        let signs = Signs::of(chunk);
        if signs.beyond_ascii
            && (0..chunk.len()).any(|from| disguised(window.get(from..).unwrap_or_default()))
            || signs.control
            || signs.marks && (0..chunk.len()).any(|from| escaped(text, at + from))
            || signs.blanks >= BLANKS
            || pulled_apart(at.checked_sub(1).and_then(|before| text.get(before)), window)
        {
            found(at..end);
        }
        at += CHUNK;
    }
}

struct Signs {
    beyond_ascii: bool,
    control: bool,
    marks: bool,
    blanks: usize,
}

impl Signs {
    fn of(chunk: &[u8]) -> Self {
        let (mut high, mut control, mut marks, mut blanks) = (0_u8, 0_u8, 0_u8, 0_u8);
        for &byte in chunk {
            let blank = (byte == b' ') | (byte == b'\n') | (byte == b'\t') | (byte == b'\r');
            high |= byte & 0x80;
            control |= u8::from((byte < 0x20) & !blank) | u8::from(byte == 0x7f);
            marks |= u8::from((byte == b'%') | (byte == b'&') | (byte == b'\\') | (byte == b'='));
            blanks += u8::from(blank);
        }
        Self {
            beyond_ascii: high != 0,
            control: control != 0,
            marks: marks != 0,
            blanks: usize::from(blanks),
        }
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

/// Whether four letters in a row stand alone, as in `i g n o`. `before` is the byte before the window.
fn pulled_apart(before: Option<&u8>, window: &[u8]) -> bool {
    let mut letters = [0_u8; CHUNK + AHEAD + 1];
    for (flag, &byte) in letters
        .iter_mut()
        .zip(before.or(Some(&b' ')).into_iter().chain(window))
    {
        *flag = u8::from(byte.is_ascii_alphabetic());
    }
    let mut any = 0;
    for w in letters.windows(9) {
        if let [o, a, p, b, q, c, r, d, s] = w {
            any |= a & b & c & d & (1 - (o | p | q | r | s));
        }
    }
    any != 0
}
