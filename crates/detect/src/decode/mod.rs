//! Text inside text: what an encoding hides, with the place it was found.
//!
//! Single-character escapes are undone while normalising (`escape`). Here are the encodings of whole stretches: base64
//! and its URL form, hexadecimal, binary and Morse groups. Decoded text is decoded again up to a depth, and all layers together share
//! one budget of bytes, so a stretch that unfolds again and again costs no more than [`Limits`] say. What does not
//! decode to readable text is left alone.

mod escape;
mod groups;
mod runs;

use std::ops::Range;

pub(crate) use escape::unescape;

/// How much work decoding may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many encodings inside each other are undone.
    pub depth: usize,
    /// How many decoded bytes all layers may produce together.
    pub bytes: usize,
}

impl Limits {
    /// Enough for three layers and a quarter of a megabyte.
    pub const DEFAULT: Self = Self {
        depth: 3,
        bytes: 256 * 1024,
    };

    /// Enough to look into all of a text: no encoding makes it longer, so that each layer costs about as much as the text
    /// itself, and nothing gets past by standing behind a lot of filling.
    #[must_use]
    pub fn of_text(text: &[u8]) -> Self {
        Self {
            bytes: Self::DEFAULT.bytes.max(text.len().saturating_mul(4)),
            ..Self::DEFAULT
        }
    }
}

/// A readable text that stood encoded in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The decoded text.
    pub text: String,
    /// The encoded stretch in the bytes that were given, whatever the depth.
    pub span: Range<usize>,
    /// The innermost encoding.
    pub encoding: Encoding,
    /// How many layers were undone.
    pub depth: usize,
}

/// How a stretch was encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    /// Base64, standard or URL alphabet.
    Base64,
    /// Pairs of hexadecimal digits, with or without blanks.
    Hex,
    /// Groups of eight binary digits.
    Binary,
    /// Dots and dashes.
    Morse,
    /// Letters moved by thirteen.
    Rot13,
    /// Back to front.
    Reversed,
}

impl Encoding {
    /// The encoding's name in findings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Base64 => "base64",
            Self::Hex => "hex",
            Self::Binary => "binary",
            Self::Morse => "morse",
            Self::Rot13 => "rot13",
            Self::Reversed => "reversed",
        }
    }
}

/// Finds encoded stretches and decodes them, outermost first.
#[must_use]
pub fn decode(bytes: &[u8], limits: Limits) -> Vec<Decoded> {
    let mut found = Vec::new();
    let mut budget = limits.bytes;
    decode_layer(bytes, None, 1, limits.depth, &mut budget, &mut found);
    let mut next = 0;
    while let Some(outer) = found.get(next).cloned() {
        next += 1;
        if outer.depth < limits.depth {
            let depth = outer.depth + 1;
            decode_layer(
                outer.text.as_bytes(),
                Some(outer.span),
                depth,
                limits.depth,
                &mut budget,
                &mut found,
            );
        }
    }
    found
}

/// Letters moved by thirteen; everything else as it is, so offsets stay.
#[must_use]
pub fn rot13(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            'a'..='m' | 'A'..='M' => char::from(character as u8 + 13),
            'n'..='z' | 'N'..='Z' => char::from(character as u8 - 13),
            other => other,
        })
        .collect()
}

fn decode_layer(
    bytes: &[u8],
    outer: Option<Range<usize>>,
    depth: usize,
    max_depth: usize,
    budget: &mut usize,
    found: &mut Vec<Decoded>,
) {
    if depth > max_depth {
        return;
    }
    for (span, encoding, text) in runs::stretches(bytes).chain(groups::stretches(bytes)) {
        // One stretch too large hides none of those after it.
        if text.len() > *budget {
            continue;
        }
        *budget -= text.len();
        found.push(Decoded {
            text,
            span: outer.clone().unwrap_or(span),
            encoding,
            depth,
        });
    }
}

/// Of so many characters of a readable text one at most is a control.
const CONTROLS: usize = 20;

/// Readable text, or nothing: nearly all printable, and with letters in it.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let (mut letters, mut odd, mut all) = (0_usize, 0_usize, 0_usize);
    for character in text.chars() {
        all += 1;
        letters += usize::from(character.is_alphabetic());
        odd += usize::from(character.is_control() && !character.is_whitespace());
    }
    (odd * CONTROLS <= all && letters * 2 >= all).then_some(text)
}

#[cfg(test)]
mod tests;
