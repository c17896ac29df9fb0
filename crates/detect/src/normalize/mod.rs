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
        self.reading.text()
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
    let mut reading = match plain_ascii(bytes) {
        Some(text) => Reading::Same(text),
        None => Reading::Rewritten(fold::fold(bytes, &mut concealment).into()),
    };
    for _ in 0..UNESCAPE_DEPTH {
        if !reading.apply(unescape) {
            break;
        }
        if plain_ascii(reading.text().as_bytes()).is_none() {
            // Escaped, an invisible character is visible: only text spelled out in them still counts as hidden.
            let mut escaped = Concealment::default();
            reading.apply(|text| Some(fold::fold(text.as_bytes(), &mut escaped)));
            concealment.tags += escaped.tags;
        }
    }
    if !reading.text().is_ascii() {
        reading.apply(|text| Some(fold::unmask(text, &mut concealment)));
    }
    reading.apply(spacing::join_spaced);
    reading.apply(spacing::collapse_blanks);
    reading.apply(spacing::join_split);
    Normalized { reading, concealment }
}

impl Reading<'_> {
    fn text(&self) -> &str {
        match self {
            Self::Same(text) => text,
            Self::Rewritten(rewritten) => rewritten.text(),
        }
    }

    /// Runs a pass; says whether it had something to do.
    fn apply(&mut self, pass: impl FnOnce(&str) -> Option<Draft>) -> bool {
        let Some(draft) = pass(self.text()) else {
            return false;
        };
        match self {
            Self::Same(_) => *self = Self::Rewritten(draft.into()),
            Self::Rewritten(rewritten) => rewritten.push(draft),
        }
        true
    }
}

fn plain_ascii(bytes: &[u8]) -> Option<&str> {
    let odd = bytes.iter().fold(false, |odd, &byte| odd | !fold::is_plain(byte));
    if odd {
        None
    } else {
        std::str::from_utf8(bytes).ok()
    }
}

#[cfg(test)]
mod tests;
