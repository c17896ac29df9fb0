//! Letters that look or count the same become one letter; what cannot be seen disappears.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization as _;
use unicode_security::confusable_detection::skeleton;

use super::Concealment;
use super::map::Draft;

/// The fewest variation selectors in a row that are read as hidden bytes rather than as styling of a symbol.
const HIDDEN_BYTES: usize = 4;

/// Folds compatibility forms, drops accents and invisible characters, reads tag characters as the ASCII they mirror.
/// Bytes that are not UTF-8 become a space.
pub(super) fn fold(bytes: &[u8], concealed: &mut Concealment) -> Draft {
    let mut draft = Draft::with_capacity(bytes.len());
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        fold_text(chunk.valid(), at, &mut draft, concealed);
        at += chunk.valid().len();
        let broken = chunk.invalid().len();
        if broken > 0 {
            draft.replace(" ", at..at + broken);
            at += broken;
        }
    }
    draft
}

/// Rewrites words whose letters all have an ASCII look-alike. A word that keeps a foreign letter is foreign, not
/// disguised, and stays.
pub(super) fn unmask(text: &str, concealed: &mut Concealment) -> Draft {
    let mut draft = Draft::with_capacity(text.len());
    let mut at = 0;
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
        match ascii_look_alike(word) {
            Some(plain) => {
                concealed.look_alikes += usize::from(word.bytes().any(|b| b.is_ascii_alphabetic()));
                draft.replace(&plain, at..at + word.len());
            }
            None => draft.keep(word, at),
        }
        draft.keep(piece.get(word.len()..).unwrap_or_default(), at + word.len());
        at += piece.len();
    }
    draft
}

fn fold_text(text: &str, offset: usize, draft: &mut Draft, concealed: &mut Concealment) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at = offset + text.len() - rest.len();
        let plain = plain_prefix(rest);
        if plain > 0 {
            draft.keep(rest.get(..plain).unwrap_or_default(), at);
            rest = rest.get(plain..).unwrap_or_default();
            continue;
        }
        let used = if variation_byte(first).is_some() {
            reveal_selectors(rest, at, draft, concealed)
        } else {
            fold_char(first, at..at + first.len_utf8(), draft, concealed);
            first.len_utf8()
        };
        rest = rest.get(used..).unwrap_or_default();
    }
}

fn plain_prefix(text: &str) -> usize {
    text.bytes()
        .position(|byte| !is_plain(byte))
        .unwrap_or(text.len())
}

/// ASCII that folding leaves alone.
pub(super) const fn is_plain(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e)
}

fn fold_char(character: char, source: Range<usize>, draft: &mut Draft, concealed: &mut Concealment) {
    if let Some(tagged) = tag_character(character) {
        concealed.tags += 1;
        draft.replace_char(tagged, source);
        return;
    }
    if is_invisible(character) {
        concealed.invisible += 1;
        return;
    }
    if is_hangul(character) {
        draft.replace_char(character, source);
        return;
    }
    for part in std::iter::once(character).nfkd().flat_map(char::to_lowercase) {
        if !is_accent(part) {
            draft.replace_char(simple_quote(part), source.clone());
        }
    }
}

/// Reads a run of variation selectors; returns how many bytes it took.
fn reveal_selectors(text: &str, at: usize, draft: &mut Draft, concealed: &mut Concealment) -> usize {
    let run = || {
        text.chars()
            .map_while(|c| variation_byte(c).map(|byte| (c, byte)))
    };
    let used = run().map(|(c, _)| c.len_utf8()).sum();
    if run().take(HIDDEN_BYTES).count() < HIDDEN_BYTES {
        return used;
    }
    let mut offset = at;
    for (character, byte) in run() {
        let source = offset..offset + character.len_utf8();
        offset = source.end;
        concealed.tags += 1;
        if is_plain(byte) {
            draft.replace_char(char::from(byte), source);
        }
    }
    used
}

fn ascii_look_alike(word: &str) -> Option<String> {
    if word.is_ascii() {
        return None;
    }
    let mut plain = String::with_capacity(word.len());
    let mut buffer = [0; 4];
    for character in word.chars() {
        if character.is_ascii() {
            plain.push(character);
            continue;
        }
        for part in skeleton(character.encode_utf8(&mut buffer)) {
            if !part.is_ascii() {
                return None;
            }
            plain.push(part);
        }
    }
    Some(plain)
}

const fn tag_character(character: char) -> Option<char> {
    match character as u32 {
        code @ 0xe_0020..=0xe_007e => char::from_u32(code - 0xe_0000),
        _ => None,
    }
}

const fn variation_byte(character: char) -> Option<u8> {
    match character as u32 {
        code @ 0xfe00..=0xfe0f => Some((code - 0xfe00) as u8),
        code @ 0xe_0100..=0xe_01ef => Some((code - 0xe_0100 + 16) as u8),
        _ => None,
    }
}

const fn is_invisible(character: char) -> bool {
    matches!(character as u32,
        0..=0x8 | 0xb | 0xc | 0xe..=0x1f | 0x7f..=0x9f | 0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5
        | 0x180b..=0x180f | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0x2800 | 0x3164 | 0xfeff
        | 0xffa0 | 0xfff9..=0xfffb | 0x1_d173..=0x1_d17a | 0xe_0000..=0xe_0fff)
}

const fn is_accent(character: char) -> bool {
    matches!(character as u32,
        0x300..=0x36f | 0x483..=0x489 | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe20..=0xfe2f)
}

const fn is_hangul(character: char) -> bool {
    matches!(character as u32, 0xac00..=0xd7a3)
}

const fn simple_quote(character: char) -> char {
    match character {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2bc}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' => '"',
        '\u{2010}'..='\u{2015}' => '-',
        other => other,
    }
}
