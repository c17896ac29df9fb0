//! Reading fixed layouts without ever reaching past the end.

/// What is left to read.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| *byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(|bytes| u16::from_le_bytes(*bytes))
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(|bytes| u64::from_le_bytes(*bytes))
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.array().map(|bytes| i64::from_le_bytes(*bytes))
    }

    /// A length written as four bytes.
    pub(crate) fn len32(&mut self) -> Option<usize> {
        self.u32().and_then(|len| usize::try_from(len).ok())
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
