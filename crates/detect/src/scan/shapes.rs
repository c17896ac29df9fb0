//! Finds the byte shapes from which personal data can start, a chunk at a time.

use std::ops::Range;

use crate::lanes::{Lanes, WIDTH};

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
        let before = block
            .start
            .checked_sub(1)
            .and_then(|at| text.get(at))
            .copied()
            .unwrap_or(0);
        let Some(part) = text.get(block.clone()) else {
            return;
        };
        let mut carry = Carry::after(before);
        for at in (0..part.len()).step_by(WIDTH) {
            self.look(block.start + at, Lanes::at(part, at, 0), &mut carry);
        }
    }

    #[inline(always)]
    fn look(&mut self, at: usize, bytes: Lanes, carry: &mut Carry) {
        let digit = bytes.digits().bits();
        let upper = bytes.between(b'A', b'Z').bits();
        let word = digit | bytes.letters().bits();
        let colon = bytes.are(b':').bits();
        push(&mut self.digits, at, digit & !(digit << 1 | carry.digit));
        push(&mut self.capitals, at, upper & !(word << 1 | carry.word));
        push(&mut self.ats, at, bytes.are(b'@').bits());
        push(&mut self.colons, at, colon & (colon << 1 | carry.colon));
        *carry = Carry {
            digit: digit >> (WIDTH - 1),
            word: word >> (WIDTH - 1),
            colon: colon >> (WIDTH - 1),
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
        Self {
            digit: u64::from(byte.is_ascii_digit()),
            word: u64::from(byte.is_ascii_alphanumeric()),
            colon: u64::from(byte == b':'),
        }
    }
}

#[inline(always)]
fn push(places: &mut Vec<usize>, at: usize, mut flags: u64) {
    while flags != 0 {
        places.push(at + flags.trailing_zeros() as usize);
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
        fn a_chunk_at_a_time_equals_one_byte_at_a_time(
            text in proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(b':'), Just(b'@'), Just(b'A'), Just(b'7')],
                0..300,
            ),
            block in prop_oneof![Just(4096usize), 1..150usize],
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
