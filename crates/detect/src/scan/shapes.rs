//! Finds the byte shapes from which personal data can start, a chunk at a time.

use super::signs::BlockSigns;
use crate::lanes::{WIDTH, before_end};

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
    /// Replaces the content by the shapes that start in the block of these signs.
    pub(super) fn find(&mut self, signs: &BlockSigns) {
        self.digits.clear();
        self.capitals.clear();
        self.ats.clear();
        self.colons.clear();
        let end = signs.block().end;
        for (at, [before, here, _]) in signs.chunks() {
            let inside = before_end(at, end);
            let word = here.letters | here.digits;
            let word_before = before.letters | before.digits;
            let digits = here.digits & !after(here.digits, before.digits);
            let capitals = here.capitals & !after(word, word_before);
            let colons = here.colons & after(here.colons, before.colons);
            push(&mut self.digits, at, digits & inside);
            push(&mut self.capitals, at, capitals & inside);
            push(&mut self.ats, at, here.ats & inside);
            push(&mut self.colons, at, colons & inside);
        }
    }
}

/// The bytes that follow those of a chunk and of the one before.
#[inline(always)]
const fn after(bits: u64, before: u64) -> u64 {
    bits << 1 | before >> (WIDTH - 1)
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
                let mut signs = BlockSigns::default();
                signs.read(&text, start..(start + block).min(text.len()));
                shapes.find(&signs);
                found[0].extend(&shapes.digits);
                found[1].extend(&shapes.capitals);
                found[2].extend(&shapes.ats);
                found[3].extend(&shapes.colons);
            }
            prop_assert_eq!(found, plainly(&text));
        }
    }
}
