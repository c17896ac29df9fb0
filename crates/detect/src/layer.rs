//! A text as it reads without its escapes, and where each byte of it stands in the text that was given.

use std::ops::Range;

/// A text with one layer of escapes taken off.
pub(crate) struct Layer {
    pub(crate) text: Vec<u8>,
    parts: Vec<Part>,
    /// Whether every mark of an escape underneath begins one.
    pub(crate) is_whole: bool,
}

/// A run of bytes that stands for a run of bytes underneath.
struct Part {
    start: usize,
    start_under: usize,
    /// Whether it is one escape, which cannot be cut.
    escape: bool,
}

impl Layer {
    /// Takes off one layer of what JSON and source text write with a backslash; nothing if there is none.
    pub(crate) fn escapes(under: &[u8]) -> Option<Self> {
        Self::of(under, b'\\', |text, read| {
            let (meaning, length) = escape(text)?;
            read.extend_from_slice(meaning.encode_utf8(&mut [0; 4]).as_bytes());
            Some(length)
        })
    }

    /// Takes off one layer of what URLs, forms and cookies write with a percent sign; nothing if there is none.
    pub(crate) fn percents(under: &[u8]) -> Option<Self> {
        Self::of(under, b'%', |text, read| {
            let byte = hex(text.get(1..3)?)?;
            read.push(u8::try_from(byte).ok()?);
            Some(3)
        })
    }

    /// Takes off the escapes that begin with a mark. `undo` adds what one means, and says how long it is.
    fn of(under: &[u8], mark: u8, undo: impl Fn(&[u8], &mut Vec<u8>) -> Option<usize>) -> Option<Self> {
        let mut marks = memchr::memchr_iter(mark, under).peekable();
        marks.peek()?;
        let mut layer = Self {
            text: Vec::with_capacity(under.len()),
            parts: Vec::new(),
            is_whole: true,
        };
        let (mut at, mut meaning) = (0, Vec::new());
        for mark in marks {
            if mark < at {
                continue;
            }
            meaning.clear();
            let Some(length) = undo(under.get(mark..)?, &mut meaning) else {
                layer.is_whole = false;
                continue;
            };
            layer.take_plain(under, at..mark);
            layer.parts.push(Part {
                start: layer.text.len(),
                start_under: mark,
                escape: true,
            });
            layer.text.extend_from_slice(&meaning);
            at = mark + length;
        }
        if at == 0 {
            return None;
        }
        layer.take_plain(under, at..under.len());
        // The end of the text is a place too.
        layer.parts.push(Part {
            start: layer.text.len(),
            start_under: under.len(),
            escape: false,
        });
        Some(layer)
    }

    fn take_plain(&mut self, under: &[u8], range: Range<usize>) {
        self.parts.push(Part {
            start: self.text.len(),
            start_under: range.start,
            escape: false,
        });
        self.text.extend_from_slice(under.get(range).unwrap_or_default());
    }

    /// The bytes underneath that a span stands for.
    pub(crate) fn span_under(&self, span: &Range<usize>) -> Range<usize> {
        let start = match self.part(span.start) {
            Some((part, _)) if part.escape => part.start_under,
            Some((part, _)) => part.start_under + (span.start - part.start),
            None => span.start,
        };
        let end = match self.part(span.end) {
            Some((part, next)) if part.escape && span.end > part.start => next,
            Some((part, _)) => part.start_under + (span.end - part.start),
            None => span.end,
        };
        start..end
    }

    /// The last part that starts at or before a place, and where the part after it starts underneath.
    fn part(&self, at: usize) -> Option<(&Part, usize)> {
        let after = self.parts.partition_point(|part| part.start <= at);
        let part = self.parts.get(after.checked_sub(1)?)?;
        let next = self
            .parts
            .get(after)
            .map_or(part.start_under, |next| next.start_under);
        Some((part, next))
    }
}

/// What an escape means, and how long it is.
fn escape(text: &[u8]) -> Option<(char, usize)> {
    let simple = match text.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(text),
        _ => return None,
    };
    Some((simple, 2))
}

fn unicode(text: &[u8]) -> Option<(char, usize)> {
    let first = hex(text.get(2..6)?)?;
    if !(0xd800..0xdc00).contains(&first) {
        return Some((char::from_u32(first)?, 6));
    }
    let [b'\\', b'u', digits @ ..] = text.get(6..12)? else {
        return None;
    };
    let second = hex(digits)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    Some((char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + second)?, 12))
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, digit| {
        Some(value * 16 + char::from(*digit).to_digit(16)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percent_signs_that_spell_nothing_stay() {
        let layer = Layer::percents(b"100% of a%40b %zz %C3%A9%").unwrap();
        assert_eq!(layer.text, "100% of a@b %zz é%".as_bytes());
        assert_eq!(layer.span_under(&(8..11)), 8..13);
        assert!(Layer::percents(b"100% %g0 %4").is_none());
    }

    proptest! {
        #[test]
        fn a_layer_reads_like_a_parser_and_maps_back(text in "[a-z\"\\\\/\n@é\u{1f600}]{0,20}") {
            let quoted = serde_json::to_string(&text).unwrap();
            let Some(layer) = Layer::escapes(quoted.as_bytes()) else {
                prop_assert_eq!(quoted, format!("\"{text}\""));
                return Ok(());
            };
            let inner = &layer.text[1..layer.text.len() - 1];
            prop_assert_eq!(inner, text.as_bytes());
            for start in 0..layer.text.len() {
                for end in start + 1..=layer.text.len() {
                    if text.is_char_boundary(start.saturating_sub(1)) {
                        let span = layer.span_under(&(start..end));
                        prop_assert!(span.start < span.end && span.end <= quoted.len());
                        let back = Layer::escapes(&quoted.as_bytes()[span.clone()]);
                        let read = back.map_or(quoted.as_bytes()[span].to_vec(), |back| back.text);
                        prop_assert!(read.starts_with(&layer.text[start..end]));
                    }
                }
            }
        }
    }
}
