//! Reads the digits, groups and brackets of what may be a telephone number.

use std::ops::Range;

const MAX_DIGITS: usize = 16;
const MAX_GROUPS: usize = 8;

/// A number as it is written.
pub(super) struct Written {
    digits: [u8; MAX_DIGITS],
    len: usize,
    lengths: [u8; MAX_GROUPS],
    group_count: usize,
    pub(super) plus: bool,
    pub(super) parenthesised: bool,
    /// Whether only spaces stand between the groups.
    pub(super) spaced_only: bool,
    pub(super) span: Range<usize>,
}

impl Written {
    pub(super) fn digits(&self) -> &[u8] {
        self.digits.get(..self.len).unwrap_or_default()
    }

    pub(super) fn groups(&self) -> usize {
        self.group_count
    }

    pub(super) fn lengths(&self) -> &[u8] {
        self.lengths.get(..self.group_count).unwrap_or_default()
    }

    fn take(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let count = text
            .get(at..)?
            .iter()
            .take(MAX_DIGITS + 1)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        for byte in text.get(at..at + count)? {
            *self.digits.get_mut(self.len)? = *byte;
            self.len += 1;
        }
        *self.lengths.get_mut(self.group_count)? = u8::try_from(count).ok()?;
        self.group_count += 1;
        Some(at + count)
    }
}

/// Reads the number whose first digit stands at a place, unless a number before it goes on here.
pub(super) fn number(text: &[u8], digit: usize) -> Option<Written> {
    let (start, plus, mut open) = lead(text, digit)?;
    let mut written = Written {
        digits: [0; MAX_DIGITS],
        len: 0,
        lengths: [0; MAX_GROUPS],
        group_count: 0,
        plus,
        parenthesised: open,
        spaced_only: !open,
        span: start..start,
    };
    let mut end = written.take(text, digit)?;
    while let Some(gap) = gap(text, end, &mut open) {
        written.parenthesised |= open;
        written.spaced_only &= gap == end + 1 && text.get(end) == Some(&b' ');
        if text.get(gap..gap + 2) == Some(b"0)") && written.plus {
            // The trunk zero of "+41 (0)96" is not dialled from abroad.
            open = false;
            end = gap + 2;
            let next = if text.get(end) == Some(&b' ') {
                end + 1
            } else {
                end
            };
            if !text.get(next).is_some_and(u8::is_ascii_digit) {
                return None;
            }
            end = written.take(text, next)?;
            continue;
        }
        end = written.take(text, gap)?;
    }
    written.span.end = extension_end(text, end);
    (ends_well(text, written.span.end) && !is_other(&written, text)).then_some(written)
}

/// Where a number starts whose first digit is here: at its plus or bracket, if it has one.
fn lead(text: &[u8], digit: usize) -> Option<(usize, bool, bool)> {
    let before = |at: usize| {
        at.checked_sub(1)
            .and_then(|at| text.get(at))
            .copied()
            .unwrap_or(b'\n')
    };
    let (mut start, mut plus, mut open) = (digit, false, false);
    for _ in 0..2 {
        match before(start) {
            b'+' if !plus => plus = true,
            b'(' if !open => open = true,
            _ => break,
        }
        start -= 1;
    }
    let previous = before(start);
    if previous.is_ascii_alphanumeric() || matches!(previous, b'_' | b'$' | b'+' | b'@' | b'%') {
        return None;
    }
    // Digits before a single separator are the head of this number, and it was read from there.
    let goes_on = matches!(previous, b' ' | b'-' | b'.' | b'/' | b',' | b':')
        && !plus
        && before(start - 1).is_ascii_digit();
    let in_path = matches!(previous, b'/' | b'.' | b'=' | b'-')
        && before(start - 1).is_ascii_alphanumeric()
        && !plus
        && !open;
    (!goes_on && !in_path).then_some((start, plus, open))
}

/// The start of the next group of digits, after one separator or a bracket with its space.
fn gap(text: &[u8], end: usize, open: &mut bool) -> Option<usize> {
    let mut at = end;
    let mut separators = 0;
    for _ in 0..3 {
        match text.get(at)? {
            b')' if *open => *open = false,
            b'(' if !*open => *open = true,
            b' ' | b'-' | b'.' | b'/' if separators == 0 => separators += 1,
            byte if byte.is_ascii_digit() => return (at > end).then_some(at),
            _ => return None,
        }
        at += 1;
    }
    text.get(at).is_some_and(u8::is_ascii_digit).then_some(at)
}

fn extension_end(text: &[u8], end: usize) -> usize {
    let rest = text.get(end..).unwrap_or_default();
    for mark in [&b"x"[..], b" x", b" ext. ", b" ext ", b" ext.", b" extension "] {
        if rest
            .get(..mark.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(mark))
        {
            let digits = rest
                .iter()
                .skip(mark.len())
                .take(7)
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            if (1..=6).contains(&digits) {
                return end + mark.len() + digits;
            }
        }
    }
    end
}

fn ends_well(text: &[u8], end: usize) -> bool {
    let next = text.get(end).copied().unwrap_or(b' ');
    let after = text.get(end + 1).copied().unwrap_or(b' ');
    !(next.is_ascii_alphanumeric()
        || matches!(next, b'_' | b'@' | b'%')
        || (matches!(next, b':' | b',') && after.is_ascii_digit())
        || (next == b'-' && after.is_ascii_digit()))
}

/// Dates, dotted quads, social security numbers and rows of small numbers are no telephone numbers.
fn is_other(written: &Written, text: &[u8]) -> bool {
    if written.plus {
        return false;
    }
    let digits = written.digits();
    let pair = |at: usize| {
        digits.get(at..at + 2).map_or(0, |pair| {
            pair.iter().fold(0, |sum, byte| sum * 10 + u32::from(byte - b'0'))
        })
    };
    let year = |at: usize| matches!(pair(at), 19 | 20);
    let dotted = text
        .get(written.span.clone())
        .unwrap_or_default()
        .iter()
        .filter(|byte| **byte == b'.')
        .count();
    match written.lengths() {
        [4, 1..=2, 1..=2] => year(0),
        [1..=2, 1..=2, 4] => year(digits.len() - 4),
        [8] => year(0) && (1..=12).contains(&pair(4)) && (1..=31).contains(&pair(6)),
        [4, 4] => year(0) && year(4),
        [3, 2, 4] | [4, 4, 4, 4] => true,
        lengths @ [_, _, _, _] if dotted == 3 && !written.parenthesised => {
            lengths.iter().all(|length| *length <= 3)
        }
        lengths => lengths.len() > 2 && lengths.iter().filter(|length| **length == 1).count() > 1,
    }
}
