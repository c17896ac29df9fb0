//! What the bytes of a block are: asked once, for all that look for something in it.

use std::ops::Range;

use fearless_simd::Simd;

use crate::lanes::{self, Chunk, Question, WIDTH};

/// What the bytes of a chunk are, one bit for each.
#[derive(Clone, Copy, Default)]
pub(super) struct Signs {
    pub(super) letters: u64,
    pub(super) capitals: u64,
    pub(super) digits: u64,
    /// `\\` and `%`.
    pub(super) escapes: u64,
    /// The first bytes of characters beyond ASCII.
    pub(super) leads: u64,
    pub(super) ats: u64,
    pub(super) colons: u64,
}

/// The signs of a block's chunks and of the chunks before and after it.
#[derive(Default)]
pub(super) struct BlockSigns {
    block: Range<usize>,
    chunks: Vec<Signs>,
}

impl BlockSigns {
    /// Replaces the content by the signs of a block, which is a part of `text`.
    pub(super) fn read(&mut self, text: &[u8], block: Range<usize>) {
        let count = block.len().div_ceil(WIDTH);
        self.chunks.clear();
        self.chunks.resize(count + 2, Signs::default());
        if let Some((before, chunks)) = self.chunks.split_first_mut() {
            *before = Signs::before(text, block.start);
            lanes::ask(text, block.start, 0, &Every, chunks);
        }
        self.block = block;
    }

    /// The block itself.
    pub(super) fn block(&self) -> Range<usize> {
        self.block.clone()
    }

    /// Each chunk of the block between its neighbours, and where it starts.
    #[inline(always)]
    pub(super) fn chunks(&self) -> impl Iterator<Item = (usize, &[Signs; 3])> {
        let chunks = self.chunks.windows(3).filter_map(<[Signs]>::first_chunk);
        (self.block.start..).step_by(WIDTH).zip(chunks)
    }
}

impl Signs {
    /// The signs of the chunk that ends at a place; before the start of the text stands nothing.
    fn before(text: &[u8], at: usize) -> Self {
        let missing = u32::try_from(WIDTH.saturating_sub(at)).unwrap_or(0);
        let mut signs = [Self::default()];
        lanes::ask(text, at.saturating_sub(WIDTH), 0, &Every, &mut signs);
        let [signs] = signs;
        let moved = |bits: u64| bits.checked_shl(missing).unwrap_or(0);
        Self {
            letters: moved(signs.letters),
            capitals: moved(signs.capitals),
            digits: moved(signs.digits),
            escapes: moved(signs.escapes),
            leads: moved(signs.leads),
            ats: moved(signs.ats),
            colons: moved(signs.colons),
        }
    }
}

/// Asks for every sign.
struct Every;

impl Question for Every {
    type Answer = Signs;

    #[inline(always)]
    fn of<S: Simd>(&self, chunk: Chunk<'_, S>) -> Signs {
        let bytes = chunk.lanes();
        Signs {
            letters: bytes.letters().bits(),
            capitals: bytes.between(b'A', b'Z').bits(),
            digits: bytes.digits().bits(),
            escapes: (bytes.are(b'\\') | bytes.are(b'%')).bits(),
            leads: bytes.between(0xc0, 0xff).bits(),
            ats: bytes.are(b'@').bits(),
            colons: bytes.are(b':').bits(),
        }
    }
}
