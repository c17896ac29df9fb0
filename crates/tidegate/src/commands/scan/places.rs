//! From byte offsets to lines and columns, for a text of which only a window is at hand.

/// A place in a text, both counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Walks forward through a text. Offsets that were asked for in order cost one walk together.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    offset: usize,
    at: Place,
}

impl Places {
    /// At the start of a text.
    pub(crate) const fn new() -> Self {
        Self {
            offset: 0,
            at: Place { line: 1, column: 1 },
        }
    }

    /// Goes on to an offset, through the bytes of `window`, which starts at `window_start` of the whole text. What is
    /// not in the window is passed over, and an offset behind is answered with where the walk is.
    pub(crate) fn advance(&mut self, window: &[u8], window_start: usize, offset: usize) -> Place {
        let from = self.offset.saturating_sub(window_start);
        let to = offset.saturating_sub(window_start).min(window.len());
        for byte in window.get(from..to).unwrap_or_default() {
            if *byte == b'\n' {
                self.at = Place {
                    line: self.at.line + 1,
                    column: 1,
                };
            } else if byte & 0xC0 != 0x80 {
                self.at.column += 1;
            }
        }
        self.offset = self.offset.max(offset);
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_characters_from_one() {
        let text = "a\nné b\n\nx".as_bytes();
        for (offset, line, column) in [
            (0, 1, 1),
            (1, 1, 2),
            (2, 2, 1),
            (5, 2, 3),
            (8, 3, 1),
            (9, 4, 1),
            (99, 4, 2),
        ] {
            assert_eq!(
                Places::new().advance(text, 0, offset),
                Place { line, column },
                "{offset}"
            );
        }
        let mut walk = Places::new();
        walk.advance(&text[..4], 0, 4);
        assert_eq!(walk.advance(&text[2..], 2, 9), Place { line: 4, column: 1 });
    }
}
