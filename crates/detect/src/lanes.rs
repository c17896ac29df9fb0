//! Sixty-four bytes looked at together.
//!
//! Most of a text holds nothing that any rule wants, so what decides the speed of a scan is how cheaply a byte is passed
//! over. A chunk of bytes becomes one machine word in which each bit answers a question about one byte; what follows is
//! arithmetic on whole words. A [`Question`] is written once and asked of many chunks in a row with the widest vectors
//! that the processor at hand has: `fearless_simd` finds out which these are when the program runs, and is safe to call.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, mask8x64, u8x16, u8x64};

/// How many bytes a chunk has.
pub(crate) const WIDTH: usize = 64;

/// How many bytes after a chunk a question may look at.
const AHEAD: usize = 2;

/// Something to know about the bytes of a chunk.
pub(crate) trait Question {
    /// What is known then.
    type Answer;

    /// Answers for one chunk. Must be `#[inline(always)]`, or it is compiled for a processor without wide vectors.
    fn of<S: Simd>(&self, chunk: Chunk<'_, S>) -> Self::Answer;
}

/// Fills `answers` with what is known about as many chunks, the first of which starts at a place; `past` stands for what
/// lies past the end of the text.
pub(crate) fn ask<Q: Question>(text: &[u8], from: usize, past: u8, question: &Q, answers: &mut [Q::Answer]) {
    dispatch!(Level::new(), simd => ask_each(simd, text, from, past, question, answers));
}

/// Does work with all instructions that the processor at hand has. The closure must be `#[inline(always)]`, and so must be
/// what it calls, or it is compiled for any processor.
pub(crate) fn at_its_best<T>(work: impl FnOnce() -> T) -> T {
    dispatch!(Level::new(), _ => work())
}

#[inline(always)]
fn ask_each<S: Simd, Q: Question>(
    simd: S,
    text: &[u8],
    from: usize,
    past: u8,
    question: &Q,
    answers: &mut [Q::Answer],
) {
    for (answer, at) in answers.iter_mut().zip((from..).step_by(WIDTH)) {
        let rest = text.get(at..).unwrap_or_default();
        let last;
        let bytes = match rest.first_chunk() {
            Some(bytes) => bytes,
            None => {
                last = padded(rest, past);
                &last
            }
        };
        *answer = question.of(Chunk { simd, bytes });
    }
}

/// A chunk of a text, and a few bytes after it.
pub(crate) struct Chunk<'a, S: Simd> {
    simd: S,
    bytes: &'a [u8; WIDTH + AHEAD],
}

impl<S: Simd> Chunk<'_, S> {
    /// The bytes of the chunk.
    #[inline(always)]
    pub(crate) fn lanes(&self) -> Lanes<S> {
        self.lanes_after::<0>()
    }

    /// As many bytes, from so many after the chunk's start on.
    #[inline(always)]
    pub(crate) fn lanes_after<const AFTER: usize>(&self) -> Lanes<S> {
        const { assert!(AFTER <= AHEAD) };
        let bytes = self.bytes.get(AFTER..AFTER + WIDTH);
        match bytes.and_then(<[u8]>::first_chunk::<WIDTH>) {
            Some(bytes) => Lanes(u8x64::load_array_ref(self.simd, bytes)),
            None => Lanes(u8x64::splat(self.simd, 0)),
        }
    }
}

/// Bytes side by side.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<S: Simd>(u8x64<S>);

impl<S: Simd> Lanes<S> {
    /// Which bytes are this one.
    #[inline(always)]
    pub(crate) fn are(self, byte: u8) -> Those<S> {
        Those(self.0.simd_eq(byte))
    }

    /// Which bytes lie in a range.
    #[inline(always)]
    pub(crate) fn between(self, first: u8, last: u8) -> Those<S> {
        Those(self.0.simd_eq(self.0.max(first).min(last)))
    }

    #[inline(always)]
    pub(crate) fn digits(self) -> Those<S> {
        self.between(b'0', b'9')
    }

    /// Which bytes are ASCII letters.
    #[inline(always)]
    pub(crate) fn letters(self) -> Those<S> {
        self.folded().between(b'a', b'z')
    }

    /// ASCII letters made small; other bytes become other bytes.
    #[inline(always)]
    pub(crate) fn folded(self) -> Self {
        Self(self.0 | 0x20)
    }

    /// Which bytes are not ASCII.
    #[inline(always)]
    pub(crate) fn beyond_ascii(self) -> Those<S> {
        Those(self.0.simd_ge(0x80))
    }

    /// For each byte what the tables have for its lower and its upper half in common.
    #[inline(always)]
    pub(crate) fn looked_up(self, halves: &Halves) -> Self {
        let simd = self.0.token();
        let table = |values| u8x64::block_splat(u8x16::load_array_ref(simd, values));
        let lower = table(&halves.lower).swizzle_dyn_within_blocks(self.0 & 0x0f);
        let upper = table(&halves.upper).swizzle_dyn_within_blocks(self.0 >> 4_u32);
        Self(lower & upper)
    }

    /// The bits that two have in common.
    #[inline(always)]
    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Which bytes have any bit set, one bit for each.
    #[inline(always)]
    pub(crate) fn not_empty(self) -> u64 {
        !self.are(0).bits()
    }
}

/// Values by the lower and by the upper half of a byte.
#[derive(Clone, Default)]
pub(crate) struct Halves {
    lower: [u8; 16],
    upper: [u8; 16],
}

impl Halves {
    /// Adds bits to what a byte is looked up as. Bytes that share a half with it may get some of them too.
    pub(crate) fn add(&mut self, byte: u8, bits: u8) {
        let halves = [
            self.lower.get_mut(usize::from(byte & 0x0f)),
            self.upper.get_mut(usize::from(byte >> 4)),
        ];
        for half in halves.into_iter().flatten() {
            *half |= bits;
        }
    }
}

/// Some of the bytes of a chunk.
#[derive(Clone, Copy)]
pub(crate) struct Those<S: Simd>(mask8x64<S>);

impl<S: Simd> Those<S> {
    /// One bit for each byte, the first byte's the lowest.
    #[inline(always)]
    pub(crate) fn bits(self) -> u64 {
        self.0.to_bitmask()
    }
}

impl<S: Simd> std::ops::BitOr for Those<S> {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The numbers of the bits that are set, from the lowest.
#[inline(always)]
pub(crate) fn set_bits(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let number = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (number < WIDTH).then_some(number)
    })
}

/// Which bits stand for the bytes of a chunk that lie before an end.
#[inline(always)]
pub(crate) const fn before_end(at: usize, end: usize) -> u64 {
    match end.saturating_sub(at) {
        bytes if bytes < WIDTH => (1 << bytes) - 1,
        _ => u64::MAX,
    }
}

#[cold]
#[inline(never)]
fn padded(rest: &[u8], past: u8) -> [u8; WIDTH + AHEAD] {
    let mut bytes = [past; WIDTH + AHEAD];
    for (slot, byte) in bytes.iter_mut().zip(rest) {
        *slot = *byte;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Everything that can be asked, in the order of the checks below.
    struct All {
        first: u8,
        last: u8,
        halves: Halves,
    }

    impl Question for All {
        type Answer = [u64; 7];

        #[inline(always)]
        fn of<S: Simd>(&self, chunk: Chunk<'_, S>) -> [u64; 7] {
            let lanes = chunk.lanes();
            [
                lanes.are(self.first).bits(),
                lanes.between(self.first, self.last).bits(),
                lanes.letters().bits(),
                lanes.digits().bits(),
                lanes.beyond_ascii().bits(),
                chunk.lanes_after::<2>().are(self.first).bits(),
                lanes.looked_up(&self.halves).not_empty(),
            ]
        }
    }

    proptest! {
        #[test]
        fn each_bit_answers_for_its_byte(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            (a, b) in (any::<u8>(), any::<u8>()),
            from in 0..80usize,
        ) {
            let (first, last) = (a.min(b), a.max(b));
            let mut halves = Halves::default();
            halves.add(first, 1);
            halves.add(last, 2);
            let mut answers = [[0; 7]; 5];
            ask(&bytes, from, b'.', &All { first, last, halves }, &mut answers);
            for at in 0..answers.len() * WIDTH {
                let byte = |at: usize| bytes.get(from + at).copied().unwrap_or(b'.');
                let here = byte(at);
                let plain = [
                    here == first,
                    (first..=last).contains(&here),
                    here.is_ascii_alphabetic(),
                    here.is_ascii_digit(),
                    !here.is_ascii(),
                    byte(at + 2) == first,
                    [first, last].contains(&here),
                ];
                for (number, plain) in plain.into_iter().enumerate() {
                    let fast = answers[at / WIDTH][number] >> (at % WIDTH) & 1 == 1;
                    prop_assert_eq!(fast, plain, "question {} of {:#x}", number, here);
                }
            }
        }

        #[test]
        fn set_bits_are_counted_from_the_lowest(bits in any::<u64>(), (at, end) in (0..200usize, 0..200usize)) {
            let plain: Vec<_> = (0..WIDTH).filter(|bit| bits >> bit & 1 == 1).collect();
            prop_assert_eq!(set_bits(bits).collect::<Vec<_>>(), plain);
            let before: Vec<_> = (0..WIDTH).filter(|byte| at + byte < end).collect();
            prop_assert_eq!(set_bits(before_end(at, end)).collect::<Vec<_>>(), before);
        }
    }
}
