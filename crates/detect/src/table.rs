//! Columns of tables in text: CSV, TSV and markdown.
//!
//! A label above a column says as much about the values below it as one that stands before them. Whoever holds a label asks
//! here for the cells below it; where the label is not the whole cell of a line with others, that costs a look at one or two
//! bytes. A caller stops at the few cells that do not fit, so that a text full of headings is not walked through once for each.

use std::ops::Range;

use memchr::{memchr, memrchr};

use crate::candidates::{LOOK_AHEAD, LOOK_BEHIND};

/// The most cells of a line that is taken for a row.
const MOST_CELLS: usize = 32;

/// The most bytes of one row.
const LONGEST_ROW: usize = 2048;

/// The most blanks and quotes around what a cell says.
const PADDING: usize = 24;

/// The most cells of a column that do not fit its label before the rest is left alone.
pub(crate) const MISFITS: usize = 8;

/// The cells below one cell of a heading.
pub(crate) struct Column<'a> {
    text: &'a [u8],
    delimiter: u8,
    cells: usize,
    index: usize,
    /// Where the next row starts, and where the last must end.
    next: usize,
    limit: usize,
}

impl<'a> Column<'a> {
    /// The column whose heading is the label, if that is the whole of a cell beside others.
    pub(crate) fn below(text: &'a [u8], label: &Range<usize>) -> Option<Self> {
        let after = neighbour(text.get(label.end..)?.iter())?;
        if !(is_delimiter(after) || ends_line(after)) {
            return None;
        }
        let earlier = text.get(label.start.saturating_sub(PADDING)..label.start)?;
        let before = neighbour(earlier.iter().rev())?;
        let delimiter = match (is_delimiter(before), is_delimiter(after)) {
            (true, true) => Some(before).filter(|_| before == after),
            (true, false) => Some(before),
            (false, true) => Some(after).filter(|_| ends_line(before)),
            (false, false) => None,
        }?;
        let head = text.get(label.start.saturating_sub(LOOK_BEHIND)..label.start)?;
        let head = match memrchr(b'\n', head) {
            Some(newline) => head.get(newline + 1..)?,
            None => Some(head).filter(|_| label.start <= LOOK_BEHIND)?,
        };
        let tail = line(text, label.end)?;
        // A line of code or of a list ends in a delimiter too.
        if !head.iter().chain(tail).any(u8::is_ascii_alphanumeric) {
            return None;
        }
        let count = |part: &[u8]| part.iter().filter(|byte| **byte == delimiter).count();
        let index = count(head);
        let cells = index + count(tail) + 1;
        (cells <= MOST_CELLS).then(|| Self {
            text,
            delimiter,
            cells,
            index,
            next: label.end + tail.len() + 1,
            limit: text.len().min(label.start.saturating_add(LOOK_AHEAD)),
        })
    }

    /// The cell of one row, without blanks and quotes, if the row has as many cells as the heading.
    fn cell(&self, row: Range<usize>) -> Option<Range<usize>> {
        let (mut cells, mut quoted) = (1, false);
        let (mut start, mut end) = (row.start, row.end);
        for (at, byte) in row.clone().zip(self.text.get(row)?) {
            if *byte == b'"' {
                quoted = !quoted;
            } else if *byte == self.delimiter && !quoted {
                if cells == self.index {
                    start = at + 1;
                } else if cells == self.index + 1 {
                    end = at;
                }
                cells += 1;
            }
        }
        (cells == self.cells).then(|| trimmed(self.text, start..end))
    }
}

impl Iterator for Column<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let row = line(self.text, self.next)?;
            let range = self.next..self.next + row.len();
            if row.is_empty() || range.end > self.limit {
                return None;
            }
            self.next = range.end + 1;
            let is_rule = self.delimiter == b'|' && row.iter().all(|byte| b"|-: \r".contains(byte));
            if !is_rule {
                return self.cell(range);
            }
        }
    }
}

/// The rest of the line from a place on, unless it is too long for a row.
fn line(text: &[u8], start: usize) -> Option<&[u8]> {
    let rest = text.get(start..text.len().min(start.saturating_add(LONGEST_ROW)))?;
    match memchr(b'\n', rest) {
        Some(end) => rest.get(..end),
        None => Some(rest).filter(|rest| rest.len() < LONGEST_ROW),
    }
}

/// The first byte that is neither a blank nor a quote; the end of the text counts as that of a line.
fn neighbour<'a>(mut bytes: impl Iterator<Item = &'a u8>) -> Option<u8> {
    for _ in 0..PADDING {
        match bytes.next() {
            Some(b' ' | b'"' | b'\'' | b'\r') => {}
            Some(byte) => return Some(*byte),
            None => return Some(b'\n'),
        }
    }
    None
}

fn trimmed(text: &[u8], cell: Range<usize>) -> Range<usize> {
    let written = text.get(cell.clone()).unwrap_or_default();
    let pads = |byte: &&u8| matches!(byte, b' ' | b'"' | b'\'' | b'\r' | b'`');
    let front = written.iter().take_while(pads).count();
    let back = written.iter().rev().take_while(pads).count();
    cell.start + front..(cell.end - back).max(cell.start + front)
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b',' | b';' | b'\t' | b'|')
}

fn ends_line(byte: u8) -> bool {
    byte == b'\n'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, label: &str, expected: &[&str]) {
        let start = text.find(label).unwrap();
        let column = Column::below(text.as_bytes(), &(start..start + label.len()));
        let cells: Vec<_> = column.into_iter().flatten().map(|cell| &text[cell]).collect();
        assert_eq!(cells, expected, "{text}");
    }

    #[test]
    fn cells_below_a_heading() {
        check("name,dob\nAnn,1\nBob,2", "dob", &["1", "2"]);
        check("dob;name\r\n1;Ann\r\n2;Bob\r\n", "dob", &["1", "2"]);
        check("a\tdob\tb\nx\t1\ty\n", "dob", &["1"]);
        check(
            "| Name | dob |\n|---|:-:|\n| Ann | 1 |\n\n| x | 2 |",
            "dob",
            &["1"],
        );
        check("\"name\",\"dob\"\n\"Lee, Ann\",\"1\"\n", "dob", &["1"]);
        check("text\nname,dob\nAnn,1\n", "dob", &["1"]);
        check("name,dob\nAnn,1\nend of it\nBob,2", "dob", &["1"]);
    }

    #[test]
    fn what_is_no_heading() {
        check("the dob, and\nthe name, x", "dob", &[]);
        check("dob\n1\n2", "dob", &[]);
        check("  dob,\n  1,\n", "dob", &[]);
        check("name,dob x\nAnn,1", "dob", &[]);
        check("name|dob,x\nAnn|1,2", "dob", &[]);
        check("name,dob", "dob", &[]);
        check(&format!("{},dob\nAnn,1", "x".repeat(600)), "dob", &[]);
    }

    proptest! {
        #[test]
        fn cells_lie_in_their_rows_and_within_reach(
            text in "([a,;|\"\n -]|dob|1){0,80}",
            at in 0..300usize,
        ) {
            let at = at.min(text.len());
            let end = (at + 3).min(text.len());
            for cell in Column::below(text.as_bytes(), &(at..end)).into_iter().flatten() {
                prop_assert!(end <= cell.start && cell.start <= cell.end && cell.end <= text.len());
            }
        }
    }
}
