//! Cheap tests on the bytes for text that does not read as it stands: other scripts, escapes, letters pulled apart.
//!
//! The text is looked at in chunks of 64 bytes with arithmetic that the compiler turns into vector instructions; only
//! chunks that show something are looked at byte by byte.

use std::ops::Range;

const CHUNK: usize = 64;

/// How far beyond a chunk its tests look.
const AHEAD: usize = 8;

/// Calls `found` with each chunk that needs its plain reading.
pub(super) fn for_each(text: &[u8], mut found: impl FnMut(Range<usize>)) {
    let mut at = 0;
    while at < text.len() {
        let chunk = text.get(at..(at + CHUNK).min(text.len())).unwrap_or_default();
        let ahead = text
            .get(at..(at + CHUNK + AHEAD).min(text.len()))
            .unwrap_or_default();
        if foreign(chunk) || escaped(chunk, ahead) || pulled_apart(ahead) {
            found(at..at + chunk.len());
        }
        at += CHUNK;
    }
}

/// Whether the chunk has a byte beyond ASCII, or a control character, other than in the punctuation of typeset English.
fn foreign(chunk: &[u8]) -> bool {
    let odd = chunk.iter().fold(0_u8, |odd, &byte| {
        odd | (byte & 0x80)
            | u8::from(byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r'))
            | u8::from(byte == 0x7f)
    });
    odd != 0 && !only_typeset(chunk)
}

/// Curly quotes, dashes, bullets and the ellipsis: `E2 80 93` to `E2 80 A6`, without the invisible ones among them.
fn only_typeset(chunk: &[u8]) -> bool {
    let mut rest = chunk;
    loop {
        let Some(start) = rest
            .iter()
            .position(|&byte| byte >= 0x80 || (byte < 0x20 && !byte.is_ascii_whitespace()) || byte == 0x7f)
        else {
            return true;
        };
        match rest.get(start..start + 3) {
            Some([0xe2, 0x80, 0x93..=0xa6]) => rest = rest.get(start + 3..).unwrap_or_default(),
            _ => return false,
        }
    }
}

/// Whether an escape that could hide a letter starts in the chunk.
fn escaped(chunk: &[u8], ahead: &[u8]) -> bool {
    let marks = chunk.iter().fold(false, |any, &byte| {
        any | matches!(byte, b'%' | b'&' | b'\\' | b'=')
    });
    marks
        && (0..chunk.len()).any(|at| match ahead.get(at..) {
            Some([b'%' | b'=', high, low, ..]) => is_letter_code(*high, *low),
            Some([b'&', b'#', ..]) | Some([b'\\', b'x' | b'u', ..]) => true,
            Some([b'=', b'\r' | b'\n', ..]) => true,
            _ => false,
        })
}

/// Two hexadecimal digits that stand for an ASCII letter, for another escape's mark, or for a byte beyond ASCII.
const fn is_letter_code(high: u8, low: u8) -> bool {
    low.is_ascii_hexdigit() && matches!(high, b'2' | b'3' | b'4'..=b'9' | b'a'..=b'f' | b'A'..=b'F')
}

/// Whether three letters in a row stand alone, as in `i g n`.
fn pulled_apart(ahead: &[u8]) -> bool {
    let mut letters = [0_u8; CHUNK + AHEAD];
    for (flag, byte) in letters.iter_mut().zip(ahead) {
        *flag = u8::from(byte.is_ascii_alphanumeric());
    }
    letters.windows(6).fold(0, |any, w| match w {
        [a, b, c, d, e, f] => any | (a & (1 - b) & c & (1 - d) & e & (1 - f)),
        _ => any,
    }) != 0
}
