//! From byte offsets to lines and columns, for a text of which only a window is at hand.

use tidegate_detect::wide::Order;

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
    /// The order of letters that have two bytes.
    wide: Option<Order>,
}

impl Places {
    /// At the start of a text.
    pub(crate) const fn new() -> Self {
        Self {
            offset: 0,
            at: Place { line: 1, column: 1 },
            wide: None,
        }
    }

    /// At the start of a text in letters of two bytes. Windows and offsets must not cut one.
    pub(crate) const fn in_wide_letters(order: Order) -> Self {
        Self {
            wide: Some(order),
            ..Self::new()
        }
    }

    /// Goes on to an offset, through the bytes of `window`, which starts at `window_start` of the whole text. What is
    /// not in the window is passed over, and an offset behind is answered with where the walk is.
    pub(crate) fn advance(&mut self, window: &[u8], window_start: usize, offset: usize) -> Place {
        let from = self.offset.saturating_sub(window_start);
        let to = offset.saturating_sub(window_start).min(window.len());
        let passed = window.get(from..to).unwrap_or_default();
        match self.wide {
            None => passed
                .iter()
                .for_each(|byte| self.step(*byte == b'\n', byte & 0xC0 != 0x80)),
            Some(order) => passed
                .chunks_exact(2)
                .filter_map(|pair| pair.try_into().ok())
                .map(|pair| order.letter(pair))
                // The second half of a letter is no letter, and neither is the mark at the start.
                .for_each(|letter| self.step(letter == 0x0a, !matches!(letter, 0xdc00..=0xdfff | 0xfeff))),
        }
        self.offset = self.offset.max(offset);
        self.at
    }

    const fn step(&mut self, ends_line: bool, is_letter: bool) {
        if ends_line {
            self.at.line += 1;
            self.at.column = 1;
        } else if is_letter {
            self.at.column += 1;
        }
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
        let wide: Vec<u8> = "\u{feff}a\nn😀 b"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        let mut walk = Places::in_wide_letters(Order::HighFirst);
        assert_eq!(walk.advance(&wide, 0, 14), Place { line: 2, column: 4 });
        let mut walk = Places::new();
        walk.advance(&text[..4], 0, 4);
        assert_eq!(walk.advance(&text[2..], 2, 9), Place { line: 4, column: 1 });
    }
}
