//! One plain reading of a text, whatever it was dressed in.
//!
//! An instruction can be hidden from a pattern and still be clear to a model: in look-alike letters, with invisible
//! characters between letters, letter by letter, behind escapes. [`normalize`] undoes these in a fixed order of
//! linear passes, each of which runs only where a cheap test says it has something to do; plain ASCII text comes back
//! borrowed. Compatibility forms are decomposed (NFKD) and accents dropped, which is coarser than NFKC on purpose: an
//! accent must not hide a word. Case of ASCII letters is kept, since matching ignores it. Every span of the result can
//! be walked back to the bytes that were given.

mod fold;
mod map;
mod spacing;

use std::ops::Range;

pub(crate) use map::Draft;
pub use map::Rewritten;
pub(crate) use spacing::split_beginnings;

use crate::decode::unescape;

/// How often escapes inside escapes are undone.
const UNESCAPE_DEPTH: usize = 3;

/// A text in its plain reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Normalized<'a> {
    reading: Reading<'a>,
    concealment: Concealment,
}

/// What was done to hide the text, counted in characters or words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Concealment {
    /// Tag characters and variation selectors that spelled out hidden text.
    pub tags: usize,
    /// Invisible and direction-changing characters that were dropped.
    pub invisible: usize,
    /// Words that mixed ASCII letters with look-alikes.
    pub look_alikes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Reading<'a> {
    Same(&'a str),
    Rewritten(Rewritten),
}

impl Normalized<'_> {
    /// The plain reading.
    #[must_use]
    pub fn text(&self) -> &str {
        match &self.reading {
            Reading::Same(text) => text,
            Reading::Rewritten(rewritten) => rewritten.text(),
        }
    }

    /// The bytes of the given text that a span of [`Self::text`] came from.
    #[must_use]
    pub fn source(&self, span: Range<usize>) -> Range<usize> {
        match &self.reading {
            Reading::Same(_) => span,
            Reading::Rewritten(rewritten) => rewritten.source(span),
        }
    }

    /// What was done to hide the text.
    #[must_use]
    pub const fn concealment(&self) -> Concealment {
        self.concealment
    }

    /// Whether the text needed no rewriting and was not copied.
    #[must_use]
    pub const fn is_borrowed(&self) -> bool {
        matches!(self.reading, Reading::Same(_))
    }
}

/// Undoes disguises. Takes any bytes; time and memory are linear in their number.
#[must_use]
pub fn normalize(bytes: &[u8]) -> Normalized<'_> {
    let mut concealment = Concealment::default();
    let reading = match plain_ascii(bytes) {
        Some(text) => rewrite_plain(text),
        None => {
            let folded = Rewritten::from(fold::fold(bytes, &mut concealment));
            Reading::Rewritten(rewrite_folded(folded, &mut concealment))
        }
    };
    Normalized { reading, concealment }
}

fn plain_ascii(bytes: &[u8]) -> Option<&str> {
    bytes
        .iter()
        .all(|&byte| fold::is_plain(byte))
        .then(|| std::str::from_utf8(bytes).ok())
        .flatten()
}

fn rewrite_plain(text: &str) -> Reading<'_> {
    if PASSES.iter().all(|pass| pass(text).is_none()) {
        return Reading::Same(text);
    }
    let mut copy = Draft::with_capacity(text.len());
    copy.keep(text, 0);
    Reading::Rewritten(rewrite_folded(Rewritten::from(copy), &mut Concealment::default()))
}

fn rewrite_folded(mut text: Rewritten, concealed: &mut Concealment) -> Rewritten {
    for _ in 0..UNESCAPE_DEPTH {
        let Some(draft) = unescape(text.text()) else { break };
        text.push(draft);
        if plain_ascii(text.text().as_bytes()).is_none() {
            let folded = fold::fold(text.text().as_bytes(), concealed);
            text.push(folded);
        }
    }
    if !text.text().is_ascii() {
        let draft = fold::unmask(text.text(), concealed);
        text.push(draft);
    }
    for pass in [
        spacing::join_spaced,
        spacing::collapse_blanks,
        spacing::join_split,
    ] {
        if let Some(draft) = pass(text.text()) {
            text.push(draft);
        }
    }
    text
}

/// Every pass that plain ASCII may need, for the test whether it needs any.
const PASSES: [fn(&str) -> Option<Draft>; 4] = [
    unescape,
    spacing::join_spaced,
    spacing::collapse_blanks,
    spacing::join_split,
];

#[cfg(test)]
mod tests;
