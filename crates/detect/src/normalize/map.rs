//! Where each byte of a rewritten text came from.
//!
//! Normalising and decoding rewrite text in several passes. Each pass keeps one [`OffsetMap`]; a [`Rewritten`] text
//! carries the maps of all its passes, so that a span in the last text can be walked back to the bytes that were
//! scanned. Stretches that a pass copied unchanged cost one entry however long they are.

use std::ops::Range;

/// A text after some passes, with the way back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    text: String,
    maps: Vec<OffsetMap>,
}

impl Rewritten {
    /// The text as it now stands.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The bytes of the original that the given span of [`Self::text`] came from.
    #[must_use]
    pub fn source(&self, span: Range<usize>) -> Range<usize> {
        self.maps.iter().rev().fold(span, |span, map| map.source(&span))
    }

    /// Replaces the text by what a further pass made of it.
    pub(crate) fn push(&mut self, draft: Draft) {
        self.text = draft.text;
        self.maps.push(draft.map);
    }
}

impl From<Draft> for Rewritten {
    fn from(draft: Draft) -> Self {
        Self {
            text: draft.text,
            maps: vec![draft.map],
        }
    }
}

/// The output of one pass while it is written.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    text: String,
    map: OffsetMap,
}

impl Draft {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes),
            map: OffsetMap::default(),
        }
    }

    /// Copies text that stands at `source_start` in the pass's input.
    pub(crate) fn keep(&mut self, text: &str, source_start: usize) {
        if text.is_empty() {
            return;
        }
        self.map
            .copied(self.text.len(), source_start..source_start + text.len());
        self.text.push_str(text);
    }

    /// Writes text that stands for the given bytes of the pass's input.
    pub(crate) fn replace(&mut self, text: &str, source: Range<usize>) {
        if text.is_empty() {
            return;
        }
        self.map.replaced(self.text.len(), source);
        self.text.push_str(text);
    }

    /// Writes one character that stands for the given bytes of the pass's input.
    pub(crate) fn replace_char(&mut self, character: char, source: Range<usize>) {
        self.replace(character.encode_utf8(&mut [0; 4]), source);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OffsetMap {
    stretches: Vec<Stretch>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Stretch {
    start: usize,
    source: Range<usize>,
    copied: bool,
}

impl OffsetMap {
    fn copied(&mut self, start: usize, source: Range<usize>) {
        if let Some(last) = self.stretches.last_mut()
            && last.copied
            && last.source.end == source.start
        {
            last.source.end = source.end;
            return;
        }
        self.stretches.push(Stretch {
            start,
            source,
            copied: true,
        });
    }

    fn replaced(&mut self, start: usize, source: Range<usize>) {
        self.stretches.push(Stretch {
            start,
            source,
            copied: false,
        });
    }

    fn source(&self, span: &Range<usize>) -> Range<usize> {
        let start = self.byte_source(span.start).start;
        let end = self.byte_source(span.end.saturating_sub(1)).end;
        start..end.max(start)
    }

    fn byte_source(&self, offset: usize) -> Range<usize> {
        let after = self.stretches.partition_point(|stretch| stretch.start <= offset);
        let Some(stretch) = after.checked_sub(1).and_then(|at| self.stretches.get(at)) else {
            return 0..0;
        };
        if !stretch.copied {
            return stretch.source.clone();
        }
        let start = (stretch.source.start + offset - stretch.start).min(stretch.source.end);
        start..(start + 1).min(stretch.source.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_walk_back_through_every_pass() {
        let mut first = Draft::default();
        first.keep("ab", 0);
        first.replace("c", 2..7);
        first.keep("de", 7);
        let mut text = Rewritten::from(first);
        let mut second = Draft::default();
        second.keep("b", 1);
        second.replace("X", 2..4);
        second.keep("e", 4);
        text.push(second);
        assert_eq!(text.text(), "bXe");
        assert_eq!(text.source(0..1), 1..2);
        assert_eq!(text.source(1..2), 2..8);
        assert_eq!(text.source(0..3), 1..9);
    }
}
