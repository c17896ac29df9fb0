//! How a long text is cut: into blocks of about a kilobyte that overlap, so that no directive falls between two.

use std::ops::Range;

/// The bytes after which a block looks for a place to end.
pub(super) const BLOCK: usize = 1024;

/// How far a block reads into the next one.
pub(super) const OVERLAP: usize = 384;

/// How far the search for a line's or word's end goes.
const SEARCH: usize = 128;

/// The blocks of a text, each with its overlap.
pub(super) fn blocks(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        if start >= text.len() {
            return None;
        }
        let end = cut(text, start + BLOCK);
        let block = start..cut(text, end + OVERLAP);
        start = if block.end == text.len() { text.len() } else { end };
        Some(block)
    })
}

/// The first place at or after `at` where a text may be cut: before a blank, else before any character.
fn cut(text: &[u8], at: usize) -> usize {
    let Some(rest) = text.get(at..) else {
        return text.len();
    };
    let near = rest.get(..SEARCH.min(rest.len())).unwrap_or_default();
    let blank = near.iter().position(u8::is_ascii_whitespace);
    let character = || near.iter().position(|&byte| byte & 0xc0 != 0x80);
    at + blank.or_else(character).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_cover_the_text_and_advance(text in proptest::collection::vec(any::<u8>(), 0..6000)) {
            let mut covered = 0;
            for block in blocks(&text) {
                prop_assert!(block.start <= covered && block.end > covered);
                covered = block.end;
            }
            prop_assert_eq!(covered, text.len());
        }
    }
}
