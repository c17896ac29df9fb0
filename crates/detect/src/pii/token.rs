//! The words with digits in them, and the words that follow them after one separator: what card numbers, IBANs and
//! national ids are made of, in whatever groups people write them.

use std::ops::Range;

/// The most letters and digits a token holds: the longest IBAN and a little.
pub(crate) const MAX_CHARS: usize = 36;
const MAX_GROUPS: usize = 12;

/// Groups of letters and digits, each after the other with one separator between.
pub(crate) struct Token {
    /// Upper-cased letters and digits of all groups, without separators.
    chars: [u8; MAX_CHARS],
    len: usize,
    /// Bit n is set when character n is a letter.
    letters: u64,
    start: usize,
    groups: [Group; MAX_GROUPS],
    group_count: usize,
}

#[derive(Clone, Copy, Default)]
struct Group {
    /// Characters up to and including this group.
    chars_end: u8,
    /// Where the group ends, from the token's start.
    length: u8,
    /// What stands between this group and the one before; 0 for the first.
    separator: u8,
    /// Whether a candidate may end here: not where the number plainly goes on.
    may_end: bool,
}

/// The first groups of a token, taken together.
pub(crate) struct Candidate<'a> {
    pub(crate) chars: &'a [u8],
    pub(crate) letters: u64,
    pub(crate) span: Range<usize>,
    pub(crate) grouping: Grouping,
    groups: &'a [Group],
}

/// The lengths of groups in a row, as the digits of one number: so that they are compared at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grouping(u64);

impl Grouping {
    pub(crate) fn of(lengths: &[usize]) -> Self {
        lengths
            .iter()
            .fold(Self::default(), |all, length| all.followed_by(*length as u64))
    }

    const fn followed_by(self, length: u64) -> Self {
        Self(self.0 * (MAX_CHARS as u64 + 1) + length)
    }
}

const _: () = assert!(
    (MAX_CHARS as u128 + 1).pow(MAX_GROUPS as u32) <= u64::MAX as u128,
    "every grouping of a token has a number of its own"
);

impl Token {
    /// Reads the token that starts at a place.
    pub(crate) fn read(text: &[u8], start: usize) -> Self {
        let groups = [Group::default(); MAX_GROUPS];
        let mut token = Self {
            chars: [0; MAX_CHARS],
            len: 0,
            letters: 0,
            start,
            groups,
            group_count: 0,
        };
        let (mut at, mut separator) = (start, 0);
        while let Some(end) = token.take_group(text, at) {
            let next = text.get(end).copied().filter(|byte| is_separator(*byte));
            let goes_on = next.is_some() && text.get(end + 1).is_some_and(u8::is_ascii_alphanumeric);
            let glued = goes_on
                && matches!(next, Some(b'-' | b'.'))
                && text.get(end + 1).is_some_and(u8::is_ascii_digit)
                && !(next == Some(b'.') && is_whole(text.get(end + 1..).unwrap_or_default()));
            let Some(group) = token.groups.get_mut(token.group_count) else {
                break;
            };
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a token has at most MAX_CHARS characters and a separator for each"
            )]
            let (chars_end, length) = (token.len as u8, (end - start) as u8);
            *group = Group {
                chars_end,
                length,
                separator,
                may_end: !glued,
            };
            token.group_count += 1;
            if !goes_on {
                break;
            }
            separator = next.unwrap_or(0);
            at = end + 1;
        }
        token
    }

    /// Takes the word at a place, whole or not at all.
    fn take_group(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let (mut len, mut letters, mut end) = (self.len, self.letters, at);
        while let Some(byte) = text.get(end).copied().filter(u8::is_ascii_alphanumeric) {
            // Digits lie below the letters, and no digit has the bit that makes a letter small.
            let letter = byte >= b'A';
            *self.chars.get_mut(len)? = if letter { byte & !0x20 } else { byte };
            letters |= u64::from(letter) << len;
            len += 1;
            end += 1;
        }
        if end == at {
            return None;
        }
        (self.len, self.letters) = (len, letters);
        Some(end)
    }

    /// Every run of groups from the first on that may stand by itself.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = Candidate<'_>> {
        let groups = self.groups.get(..self.group_count).unwrap_or_default();
        let (mut grouping, mut chars_before) = (Grouping::default(), 0);
        groups.iter().enumerate().filter_map(move |(last, group)| {
            grouping = grouping.followed_by(u64::from(group.chars_end - chars_before));
            chars_before = group.chars_end;
            if !group.may_end {
                return None;
            }
            Some(Candidate {
                chars: self.chars.get(..usize::from(group.chars_end))?,
                letters: self.letters & ((1 << group.chars_end) - 1),
                span: self.start..self.start + usize::from(group.length),
                grouping,
                groups: groups.get(..=last)?,
            })
        })
    }
}

impl Candidate<'_> {
    /// Whether it is written without separators.
    pub(crate) fn is_solid(&self) -> bool {
        self.groups.len() == 1
    }

    /// Whether the groups have these lengths.
    pub(crate) fn is_grouped(&self, lengths: &[usize]) -> bool {
        self.grouping == Grouping::of(lengths)
    }

    /// The length of the first group.
    pub(crate) fn first_length(&self) -> usize {
        self.groups
            .first()
            .map_or(0, |group| usize::from(group.chars_end))
    }

    /// Whether the same separator stands between all groups.
    pub(crate) fn is_uniform(&self) -> bool {
        let mut separators = self.groups.iter().skip(1).map(|group| group.separator);
        let first = separators.next();
        separators.all(|separator| Some(separator) == first)
    }
}

/// Whether a number with this fraction is a whole one. Programs write `.0` behind every number of a column that lacks one;
/// two zeros are cents.
fn is_whole(fraction: &[u8]) -> bool {
    fraction.starts_with(b"0")
        && !fraction
            .get(1)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'-' | b'.')
}

/// The start of the word around a digit, if that digit is the word's first and nothing says that a longer number
/// started before it.
pub(crate) fn word_start(text: &[u8], digit: usize) -> Option<usize> {
    const LONGEST_HEAD: usize = 64;
    let mut start = digit;
    while let Some(byte) = start.checked_sub(1).and_then(|at| text.get(at)) {
        if byte.is_ascii_digit() {
            return None;
        }
        if !byte.is_ascii_alphabetic() {
            break;
        }
        start -= 1;
        if digit - start > LONGEST_HEAD {
            return None;
        }
    }
    Some(start)
}

/// Whether the bytes before a place are a digit and a separator that binds.
pub(crate) fn continues_number(text: &[u8], start: usize) -> bool {
    let Some(before) = start.checked_sub(2) else {
        return false;
    };
    match text.get(before..start) {
        Some([digit, b'-' | b'.']) => digit.is_ascii_digit(),
        _ => false,
    }
}

/// A short word of letters before a word that starts with a digit: `DE 136 695 976`, `AA 12 34 56 B`.
pub(crate) fn short_word_before(text: &[u8], start: usize) -> Option<usize> {
    let separator = start.checked_sub(1)?;
    if !text.get(separator).is_some_and(|byte| is_separator(*byte)) {
        return None;
    }
    let mut at = separator;
    while let Some(before) = at.checked_sub(1) {
        match text.get(before) {
            Some(byte) if byte.is_ascii_alphabetic() => at = before,
            Some(byte) if byte.is_ascii_digit() || *byte >= 0x80 => return None,
            _ => break,
        }
        if separator - at > 3 {
            return None;
        }
    }
    (at < separator).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_grouping_is_the_lengths_of_its_groups(text in "[0-9A-Z]{1,9}([ .-][0-9a-z]{1,6}){0,10}") {
            let token = Token::read(text.as_bytes(), 0);
            for candidate in token.candidates() {
                let written = &text[candidate.span.clone()];
                let lengths: Vec<_> = written.split([' ', '.', '-']).map(str::len).collect();
                prop_assert!(candidate.is_grouped(&lengths), "{}", written);
                prop_assert_eq!(candidate.first_length(), lengths[0]);
                let (more, fewer) = ([&lengths[..], &[1]].concat(), &lengths[1..]);
                prop_assert!(!candidate.is_grouped(&more) && !candidate.is_grouped(fewer));
            }
        }
    }

    fn check(text: &str, expected: &[&str]) {
        let token = Token::read(text.as_bytes(), 0);
        let spans: Vec<_> = token
            .candidates()
            .map(|candidate| &text[candidate.span])
            .collect();
        assert_eq!(spans, expected, "{text}");
    }

    #[test]
    fn groups_are_read_one_after_the_other() {
        check("4012 8888 x", &["4012", "4012 8888", "4012 8888 x"]);
        check("401-023-2137", &["401-023-2137"]);
        check("GB56HXDO88167774656119, to", &["GB56HXDO88167774656119"]);
        check("12  34", &["12"]);
        check("536221234.0", &["536221234", "536221234.0"]);
        check("536221234.0,", &["536221234", "536221234.0"]);
        check("1234.00 1.0.1", &["1234.00", "1234.00 1.0.1"]);
        check("1234567890123456789012345678901234567", &[]);
    }

    #[test]
    fn a_number_starts_at_its_first_digit() {
        assert_eq!(word_start(b"id AB12", 5), Some(3));
        assert_eq!(word_start(b"AB12C3", 5), None);
        assert!(continues_number(b"12-34", 3));
        assert!(!continues_number(b"12 34", 3));
        assert_eq!(short_word_before(b"in DE 136", 6), Some(3));
        assert_eq!(short_word_before(b"into 136", 5), None);
    }
}
