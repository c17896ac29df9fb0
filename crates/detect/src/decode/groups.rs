//! Bytes written one by one with blanks between: `69 67 6e`, `0x69, 0x67`, `01101001 01100111`, `.. --. -.`.

use std::ops::Range;

use fearless_simd::Simd;

use super::{Encoding, readable};
use crate::lanes::{self, Chunk, Lanes, Question, WIDTH};

/// The fewest groups in a row that are tried.
const MIN_GROUPS: usize = 8;

/// The most groups that are decoded as one stretch.
const MAX_GROUPS: usize = 64 * 1024;

/// Digits in a binary group.
const BIT_DIGITS: usize = 8;

/// The most bytes from one pair of hexadecimal digits to the next: the pair, a gap, and `0x`.
const PAIR_STEP: u32 = 8;

/// How many chunks are looked at in one go.
const CHUNKS: usize = 64;

/// The parts of a text that may hold enough groups to be worth a search, as ranges that do not touch. Arithmetic on whole
/// chunks, so that ordinary text costs next to nothing; each chunk that [`MIN_GROUPS`] groups in a row touch shows them,
/// save for the first and the last.
fn promising(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut shown = [false; CHUNKS];
    for first in (0..bytes.len()).step_by(CHUNKS * WIDTH) {
        let count = (bytes.len() - first).div_ceil(WIDTH).min(CHUNKS);
        let shown = shown.get_mut(..count).unwrap_or_default();
        lanes::ask(bytes, first, b'a', &ShowsGroups, shown);
        let chunks = (first..).step_by(WIDTH).zip(shown.iter());
        for (at, _) in chunks.filter(|(_, shows)| **shows) {
            let start = at.saturating_sub(WIDTH);
            let end = bytes.len().min(at + 2 * WIDTH);
            match parts.last_mut() {
                Some(last) if last.end >= start => last.end = end,
                _ => parts.push(start..end),
            }
        }
    }
    parts
}

struct ShowsGroups;

impl Question for ShowsGroups {
    type Answer = bool;

    #[inline(always)]
    fn of<S: Simd>(&self, chunk: Chunk<'_, S>) -> bool {
        let chunk = chunk.lanes();
        let digits = chunk.digits();
        let signs = (chunk.are(b'.') | chunk.are(b'-')).bits();
        let hex = (digits | chunk.folded().between(b'a', b'f')).bits();
        let joins = (digits | chunk.letters()).bits();
        // Two digits, no letter or digit around them; the `x` of `0x` may stand before.
        let alone = !(joins & !chunk.are(b'x').bits() | joins >> 3);
        let pairs = hex >> 1 & hex >> 2 & alone & (u64::MAX >> 3);
        let bits = digits.bits() != 0 && shows_bits(chunk.between(b'0', b'1').bits());
        bits || has_three(pairs) && has_row(pairs) || signs != 0 && shows_morse(chunk, signs)
    }
}

/// Whether so many binary digits stand in a chunk that a whole group of them does, and one does.
const fn shows_bits(bits: u64) -> bool {
    let two = bits & bits >> 1;
    let four = two & two >> 2;
    bits.count_ones() >= 24 && four & four >> 4 != 0
}

/// Whether three bits or more are set.
const fn has_three(bits: u64) -> bool {
    let two_fewer = bits & bits.wrapping_sub(1);
    two_fewer & two_fewer.wrapping_sub(1) != 0
}

/// Whether three pairs follow each other, each within a step of the one before.
fn has_row(pairs: u64) -> bool {
    let followed = |by: u64| (3..=PAIR_STEP).fold(0, |near, step| near | by >> step);
    let two = pairs & followed(pairs);
    pairs & followed(two) != 0
}

#[inline(always)]
fn shows_morse<S: Simd>(chunk: Lanes<S>, signs: u64) -> bool {
    let gaps = (chunk.are(b' ') | chunk.are(b'/') | chunk.are(b'\n')).bits();
    let (signs, gaps) = (signs.count_ones(), gaps.count_ones());
    signs >= 6 && gaps >= 3 && signs + gaps >= 12
}

/// Decoded stretches in order of their place.
pub(super) fn stretches(bytes: &[u8]) -> impl Iterator<Item = (Range<usize>, Encoding, String)> {
    promising(bytes).into_iter().flat_map(move |part| {
        let start = part.start;
        all_stretches(bytes.get(part).unwrap_or_default())
            .map(move |(span, encoding, text)| (span.start + start..span.end + start, encoding, text))
    })
}

/// What [`stretches`] finds, by a search of every byte.
pub(super) fn all_stretches(bytes: &[u8]) -> impl Iterator<Item = (Range<usize>, Encoding, String)> {
    let mut at = 0;
    let mut values = Vec::new();
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let start = at;
            let Some(kind) = kind_at(bytes, start) else {
                at = next_start(bytes, start);
                continue;
            };
            let end = collect(bytes, start, kind, &mut values);
            at = end.max(next_start(bytes, start));
            if values.len() >= MIN_GROUPS
                && let Some(text) = readable(std::mem::take(&mut values))
            {
                return Some((start..end, kind.encoding(), text));
            }
        }
        None
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Hex,
    Bits,
    Morse,
}

impl Group {
    const fn encoding(self) -> Encoding {
        match self {
            Self::Hex => Encoding::Hex,
            Self::Bits => Encoding::Binary,
            Self::Morse => Encoding::Morse,
        }
    }
}

/// Groups start only after a byte that cannot belong to one, which the search skips to.
fn next_start(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let gap = rest.iter().position(|&b| !is_group_byte(b)).unwrap_or(rest.len());
    let rest = rest.get(gap..).unwrap_or_default();
    let next = rest.iter().position(|&b| is_group_byte(b)).unwrap_or(rest.len());
    from + gap + next
}

const fn is_group_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

fn kind_at(bytes: &[u8], start: usize) -> Option<Group> {
    // Two bytes tell most words apart from any group.
    let kinds: &[Group] = match bytes.get(start..)? {
        [b'.' | b'-', ..] => &[Group::Morse],
        [b'0' | b'1', b'0' | b'1', ..] => &[Group::Bits, Group::Hex],
        [first, b'x', ..] if *first == b'0' => &[Group::Hex],
        [first, second, ..] if first.is_ascii_hexdigit() && second.is_ascii_hexdigit() => &[Group::Hex],
        _ => &[],
    };
    kinds
        .iter()
        .copied()
        .find(|&kind| group(bytes, start, kind).is_some())
}

/// Replaces `values` by those of the groups in a row that start here; returns where they end.
fn collect(bytes: &[u8], start: usize, kind: Group, values: &mut Vec<u8>) -> usize {
    values.clear();
    let mut at = start;
    let mut end = start;
    while let Some((value, length)) = group(bytes, at, kind) {
        values.push(value);
        end = at + length;
        let rest = bytes.get(end..).unwrap_or_default();
        let gap = rest.iter().take(4).take_while(|&&b| is_gap(b, kind)).count();
        if kind == Group::Morse && rest.get(..gap).is_some_and(|gap| gap.contains(&b'/')) {
            values.push(b' ');
        }
        at = end + gap;
        if gap == 0 || values.len() >= MAX_GROUPS {
            break;
        }
    }
    end
}

const fn is_gap(byte: u8, kind: Group) -> bool {
    match kind {
        Group::Hex | Group::Bits => matches!(byte, b' ' | b',' | b':' | b'\n' | b'-'),
        Group::Morse => matches!(byte, b' ' | b'/' | b'\n'),
    }
}

/// The value and length of the group that starts here and ends before a gap.
fn group(bytes: &[u8], start: usize, kind: Group) -> Option<(u8, usize)> {
    let rest = bytes.get(start..)?;
    let length = rest
        .iter()
        .take(10)
        .take_while(|&&b| is_group_byte(b) && !is_gap(b, kind))
        .count();
    let word = std::str::from_utf8(rest.get(..length)?).ok()?;
    let value = match kind {
        Group::Bits if word.len() == BIT_DIGITS => u8::from_str_radix(word, 2).ok()?,
        Group::Hex => {
            let digits = word.strip_prefix("0x").unwrap_or(word);
            (digits.len() == 2).then_some(())?;
            u8::from_str_radix(digits, 16).ok()?
        }
        Group::Morse => morse(word)?,
        Group::Bits => return None,
    };
    Some((value, length))
}

fn morse(signs: &str) -> Option<u8> {
    MORSE
        .iter()
        .zip(b'a'..)
        .find(|(code, _)| **code == signs)
        .map(|(_, letter)| letter)
}

/// The letters from a to z.
const MORSE: [&str; 26] = [
    ".-", "-...", "-.-.", "-..", ".", "..-.", "--.", "....", "..", ".---", "-.-", ".-..", "--", "-.", "---",
    ".--.", "--.-", ".-.", "...", "-", "..-", "...-", ".--", "-..-", "-.--", "--..",
];
