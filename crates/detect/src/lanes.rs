//! Sixty-four bytes looked at together.
//!
//! Most of a text holds nothing that any rule wants, so what decides the speed of a scan is how cheaply a byte is passed
//! over. A chunk of bytes becomes one machine word in which each bit answers a question about one byte; what follows is
//! arithmetic on whole words. The processor's vector instructions are behind `wide`, which is safe and needs none in
//! particular.

use wide::u8x64;

/// How many bytes a chunk has.
pub(crate) const WIDTH: usize = 64;

/// A chunk of a text.
#[derive(Clone, Copy)]
pub(crate) struct Lanes(u8x64);

impl Lanes {
    #[inline(always)]
    pub(crate) fn of(bytes: &[u8; WIDTH]) -> Self {
        // Reading the array by value would go byte by byte.
        Self(bytemuck::pod_read_unaligned(bytes))
    }

    /// The chunk that starts at a place, with `past` for what lies past the end of the text.
    #[inline(always)]
    pub(crate) fn at(text: &[u8], at: usize, past: u8) -> Self {
        match text.get(at..).and_then(<[u8]>::first_chunk) {
            Some(chunk) => Self::of(chunk),
            None => Self::of(&padded(text.get(at..).unwrap_or_default(), past)),
        }
    }

    /// Asks something of the chunk that starts at a place, with `past` for what lies past the end of the text. The last
    /// chunk is asked elsewhere, lest every chunk be put together byte by byte like it.
    #[inline(always)]
    pub(crate) fn ask<T>(text: &[u8], at: usize, past: u8, question: impl Fn(Self) -> T) -> T {
        match text.get(at..).and_then(<[u8]>::first_chunk) {
            Some(chunk) => question(Self::of(chunk)),
            None => ask_last(text.get(at..).unwrap_or_default(), past, question),
        }
    }

    /// The same of a chunk and the one that starts a byte later.
    #[inline(always)]
    pub(crate) fn ask_both<T>(text: &[u8], at: usize, past: u8, question: impl Fn(Self, Self) -> T) -> T {
        let rest = text.get(at..).unwrap_or_default();
        let later = rest.get(1..).and_then(<[u8]>::first_chunk);
        match (rest.first_chunk(), later) {
            (Some(chunk), Some(later)) => question(Self::of(chunk), Self::of(later)),
            _ => ask_last(rest, past, |chunk| {
                question(chunk, Self::of(&padded(rest.get(1..).unwrap_or_default(), past)))
            }),
        }
    }

    /// Which bytes are this one.
    #[inline(always)]
    pub(crate) fn are(self, byte: u8) -> Those {
        Those(self.0.simd_eq(u8x64::splat(byte)))
    }

    /// Which bytes lie in a range.
    #[inline(always)]
    pub(crate) fn between(self, first: u8, last: u8) -> Those {
        let held = self.0.max(u8x64::splat(first)).min(u8x64::splat(last));
        Those(self.0.simd_eq(held))
    }

    #[inline(always)]
    pub(crate) fn digits(self) -> Those {
        self.between(b'0', b'9')
    }

    /// Which bytes are ASCII letters.
    #[inline(always)]
    pub(crate) fn letters(self) -> Those {
        self.folded().between(b'a', b'z')
    }

    /// ASCII letters made small; other bytes become other bytes.
    #[inline(always)]
    pub(crate) fn folded(self) -> Self {
        Self(self.0 | u8x64::splat(0x20))
    }

    /// Which bytes are not ASCII.
    #[inline(always)]
    pub(crate) fn beyond_ascii(self) -> u64 {
        self.0.to_bitmask()
    }
}

/// Some of the bytes of a chunk.
#[derive(Clone, Copy)]
pub(crate) struct Those(u8x64);

impl Those {
    /// None of the bytes.
    pub(crate) const NONE: Self = Self(u8x64::splat(0));

    /// One bit for each byte, the first byte's the lowest.
    #[inline(always)]
    pub(crate) fn bits(self) -> u64 {
        self.0.to_bitmask()
    }
}

impl std::ops::BitOr for Those {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl std::ops::BitAnd for Those {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
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

#[cold]
#[inline(never)]
fn ask_last<T>(rest: &[u8], past: u8, question: impl Fn(Lanes) -> T) -> T {
    question(Lanes::of(&padded(rest, past)))
}

#[inline(never)]
fn padded(rest: &[u8], past: u8) -> [u8; WIDTH] {
    let mut bytes = [past; WIDTH];
    for (slot, byte) in bytes.iter_mut().zip(rest) {
        *slot = *byte;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(bytes: &[u8], fast: u64, plain: impl Fn(u8) -> bool) {
        for (number, &byte) in bytes.iter().enumerate() {
            assert_eq!(fast >> number & 1 == 1, plain(byte), "{byte:#x}");
        }
    }

    proptest! {
        #[test]
        fn each_bit_answers_for_its_byte(
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
            (a, b) in (any::<u8>(), any::<u8>()),
        ) {
            let lanes = Lanes::at(&bytes, 0, b'.');
            let bytes = &bytes[..bytes.len().min(WIDTH)];
            let (first, last) = (a.min(b), a.max(b));
            check(bytes, lanes.are(a).bits(), |byte| byte == a);
            check(bytes, lanes.between(first, last).bits(), |byte| (first..=last).contains(&byte));
            check(bytes, lanes.letters().bits(), |byte| byte.is_ascii_alphabetic());
            check(bytes, lanes.digits().bits(), |byte| byte.is_ascii_digit());
            check(bytes, lanes.beyond_ascii(), |byte| !byte.is_ascii());
            let plain: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at] == a).collect();
            let fast: Vec<_> = set_bits(lanes.are(a).bits()).filter(|at| *at < bytes.len()).collect();
            prop_assert_eq!(fast, plain);
        }
    }
}
