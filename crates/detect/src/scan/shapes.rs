//! Finds the byte shapes from which personal data can start: eight bytes at a time, in plain integer arithmetic.

use std::ops::Range;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
const LOW7: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// Places in one block where a shape starts.
#[derive(Default)]
pub(crate) struct Shapes {
    /// A digit with no digit before it.
    pub(crate) digits: Vec<usize>,
    /// An upper-case ASCII letter with no ASCII letter or digit before it.
    pub(crate) capitals: Vec<usize>,
    /// `@`.
    pub(crate) ats: Vec<usize>,
    /// `::`, the second colon.
    pub(crate) colons: Vec<usize>,
}

impl Shapes {
    /// Replaces the content by the shapes that start in `block`, which is a part of `text`.
    pub(crate) fn find(&mut self, text: &[u8], block: Range<usize>) {
        self.digits.clear();
        self.capitals.clear();
        self.ats.clear();
        self.colons.clear();
        let Some(part) = text.get(block.clone()) else {
            return;
        };
        let before = block
            .start
            .checked_sub(1)
            .and_then(|at| text.get(at))
            .copied()
            .unwrap_or(0);
        let mut carry = Carry::after(before);
        let mut at = block.start;
        let (chunks, rest) = part.as_chunks::<8>();
        for chunk in chunks {
            self.look(at, u64::from_le_bytes(*chunk), &mut carry);
            at += 8;
        }
        if !rest.is_empty() {
            let mut bytes = [0; 8];
            for (slot, byte) in bytes.iter_mut().zip(rest) {
                *slot = *byte;
            }
            self.look(at, u64::from_le_bytes(bytes), &mut carry);
        }
    }

    #[inline(always)]
    fn look(&mut self, at: usize, bytes: u64, carry: &mut Carry) {
        let digit = between(bytes, b'0', b'9');
        let upper = between(bytes, b'A', b'Z');
        let word = digit | between(bytes | (0x20 * ONES), b'a', b'z');
        let colon = between(bytes, b':', b':');
        let digits = digit & !((digit << 8) | carry.digit);
        let capitals = upper & !((word << 8) | carry.word);
        let ats = between(bytes, b'@', b'@');
        let colons = colon & ((colon << 8) | carry.colon);
        if digits | capitals | ats | colons != 0 {
            push(&mut self.digits, at, digits);
            push(&mut self.capitals, at, capitals);
            push(&mut self.ats, at, ats);
            push(&mut self.colons, at, colons);
        }
        *carry = Carry {
            digit: digit >> 56,
            word: word >> 56,
            colon: colon >> 56,
        };
    }
}

/// What the byte before a chunk was, as the flag of the chunk's first byte.
struct Carry {
    digit: u64,
    word: u64,
    colon: u64,
}

impl Carry {
    fn after(byte: u8) -> Self {
        let flag = |is: bool| if is { 0x80 } else { 0 };
        Self {
            digit: flag(byte.is_ascii_digit()),
            word: flag(byte.is_ascii_alphanumeric()),
            colon: flag(byte == b':'),
        }
    }
}

/// Sets the high bit of each byte that lies in an ASCII range. Exact: no byte disturbs its neighbour.
#[inline(always)]
fn between(bytes: u64, first: u8, last: u8) -> u64 {
    let low = bytes & LOW7;
    let at_least = low + (0x80 - u64::from(first)) * ONES;
    let above = low + (0x7f - u64::from(last)) * ONES;
    at_least & !above & !bytes & HIGH
}

#[inline(always)]
fn push(places: &mut Vec<usize>, at: usize, mut flags: u64) {
    while flags != 0 {
        places.push(at + flags.trailing_zeros() as usize / 8);
        flags &= flags - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plainly(text: &[u8]) -> [Vec<usize>; 4] {
        let places = |is: &dyn Fn(u8, u8) -> bool| {
            (0..text.len())
                .filter(|at| is(if *at == 0 { 0 } else { text[at - 1] }, text[*at]))
                .collect::<Vec<_>>()
        };
        [
            places(&|before, byte| byte.is_ascii_digit() && !before.is_ascii_digit()),
            places(&|before, byte| byte.is_ascii_uppercase() && !before.is_ascii_alphanumeric()),
            places(&|_, byte| byte == b'@'),
            places(&|before, byte| byte == b':' && before == b':'),
        ]
    }

    proptest! {
        #[test]
        fn eight_at_a_time_equals_one_at_a_time(
            text in proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(b':'), Just(b'@'), Just(b'A'), Just(b'7')],
                0..100,
            ),
            block in prop_oneof![Just(4096usize), 1..30usize],
        ) {
            let mut found: [Vec<usize>; 4] = Default::default();
            let mut shapes = Shapes::default();
            for start in (0..text.len()).step_by(block) {
                shapes.find(&text, start..(start + block).min(text.len()));
                found[0].extend(&shapes.digits);
                found[1].extend(&shapes.capitals);
                found[2].extend(&shapes.ats);
                found[3].extend(&shapes.colons);
            }
            prop_assert_eq!(found, plainly(&text));
        }
    }
}
