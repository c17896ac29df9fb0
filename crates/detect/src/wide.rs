//! Text in letters of two bytes each (UTF-16), in which rules for bytes find nothing.

use crate::Finding;

/// Which byte of a letter comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The low one.
    LowFirst,
    /// The high one.
    HighFirst,
}

impl Order {
    /// The letter, or half of a letter, that two bytes stand for.
    #[must_use]
    pub const fn letter(self, pair: [u8; 2]) -> u16 {
        match self {
            Self::LowFirst => u16::from_le_bytes(pair),
            Self::HighFirst => u16::from_be_bytes(pair),
        }
    }

    /// The order that bytes most likely have, if they are wide letters at all: by the mark at their start, else by where the
    /// zeros of plain letters stand. Plain text has no zero bytes, and such a text has many.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0xff, 0xfe, ..] => return Some(Self::LowFirst),
            [0xfe, 0xff, ..] => return Some(Self::HighFirst),
            _ => {}
        }
        let zeros = |from| {
            bytes
                .iter()
                .skip(from)
                .step_by(2)
                .filter(|byte| **byte == 0)
                .count()
        };
        let (first, second) = (zeros(0), zeros(1));
        if first + second <= bytes.len() / 8 {
            return None;
        }
        Some(if first > second {
            Self::HighFirst
        } else {
            Self::LowFirst
        })
    }
}

/// Bytes as they read in wide letters.
#[derive(Clone)]
pub struct Wide {
    /// The text.
    pub text: String,
}

impl Wide {
    /// Reads bytes in both orders: the likely one is a guess, and what is hidden would be in the other.
    pub fn readings(bytes: &[u8]) -> impl Iterator<Item = Self> {
        [Order::LowFirst, Order::HighFirst].into_iter().map(|order| {
            let pairs = bytes.chunks_exact(2).filter_map(|pair| pair.try_into().ok());
            let letters: Vec<u16> = pairs.map(|pair| order.letter(pair)).collect();
            Self {
                text: String::from_utf16_lossy(&letters),
            }
        })
    }

    /// Findings in the text, with their places in the bytes.
    #[must_use]
    pub fn in_bytes(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        let mut ends: Vec<usize> = findings
            .iter()
            .flat_map(|finding| [finding.span.start, finding.span.end])
            .collect();
        ends.sort_unstable();
        ends.dedup();
        let (mut at, mut bytes) = (0, 0);
        let mut places = Vec::with_capacity(ends.len());
        for end in &ends {
            let passed = self.text.as_bytes().get(at..*end).unwrap_or_default();
            bytes += passed.iter().map(|byte| width(*byte)).sum::<usize>();
            at = *end;
            places.push(bytes);
        }
        let place = |end| {
            ends.binary_search(&end)
                .ok()
                .and_then(|index| places.get(index).copied())
        };
        for finding in &mut findings {
            if let (Some(start), Some(end)) = (place(finding.span.start), place(finding.span.end)) {
                finding.span = start..end;
            }
        }
        findings
    }
}

/// How many bytes the letter that begins with this byte of UTF-8 takes in wide letters.
const fn width(byte: u8) -> usize {
    match byte {
        0x80..=0xbf => 0,
        0xf0..=0xff => 4,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Detector, DetectorConfig};

    fn written(text: &str, order: Order) -> Vec<u8> {
        let bytes = |letter: u16| match order {
            Order::LowFirst => letter.to_le_bytes(),
            Order::HighFirst => letter.to_be_bytes(),
        };
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn findings_stand_where_their_bytes_do() {
        let detector = Detector::new(&DetectorConfig::default()).unwrap();
        let (before, value) = ("\u{feff}né 😀 to ", "bob@example.com");
        for order in [Order::LowFirst, Order::HighFirst] {
            let bytes = written(&format!("{before}{value}!"), order);
            let found: Vec<_> = Wide::readings(&bytes)
                .flat_map(|wide| wide.in_bytes(detector.scan(wide.text.as_bytes()).findings))
                .map(|finding| finding.span)
                .collect();
            let start = written(before, order).len();
            let span = start..start + written(value, order).len();
            assert_eq!(found, std::slice::from_ref(&span));
        }
    }

    #[test]
    fn the_order_is_told_by_the_mark_or_the_zeros() {
        for order in [Order::LowFirst, Order::HighFirst] {
            assert_eq!(Order::of(&written("plain words", order)), Some(order));
            assert_eq!(Order::of(&written("\u{feff}привет", order)), Some(order));
        }
        for plain in [
            &b""[..],
            b"plain words",
            "привет".as_bytes(),
            b"\0 one zero in a line of words",
        ] {
            assert_eq!(Order::of(plain), None);
        }
    }
}
