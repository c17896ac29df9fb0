//! What is wrong with a configuration, and where.
//!
//! A message names keys and what was expected, never a value: a value may be a password that was pasted into the wrong
//! line, and problems end up in terminals and logs.

use std::cell::RefCell;
use std::fmt;

/// A place in a file, both counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The line.
    pub(crate) line: usize,
    /// The column.
    pub(crate) column: usize,
}

/// Whether a problem stops the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The configuration cannot be used.
    Error,
    /// It can be used, but may not mean what its author thinks.
    Warning,
}

/// One thing to be said of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Where; `None` for what came from a flag, a variable or a default.
    pub(crate) place: Option<Place>,
    /// How bad.
    pub(crate) severity: Severity,
    /// What, and what was expected instead.
    pub(crate) message: String,
}

impl Problem {
    /// The problem as one line, `file:line:column: message`, as editors understand it.
    pub(crate) fn line(&self, file: &str) -> String {
        let warning = match self.severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
        };
        match self.place {
            Some(Place { line, column }) => format!("{file}:{line}:{column}: {warning}{}", self.message),
            None => format!("{file}: {warning}{}", self.message),
        }
    }
}

/// Collects problems while a configuration is read. Shared by every part that reads, so that all of them can go on
/// after a mistake and every mistake is found in one run.
pub(super) struct Report<'i> {
    text: &'i str,
    problems: RefCell<Vec<Problem>>,
}

impl<'i> Report<'i> {
    pub(super) const fn on(text: &'i str) -> Self {
        Self {
            text,
            problems: RefCell::new(Vec::new()),
        }
    }

    /// An error at a byte of the file.
    pub(super) fn error(&self, offset: usize, message: impl fmt::Display) {
        self.add(Some(offset), Severity::Error, message);
    }

    /// A warning at a byte of the file.
    pub(super) fn warn(&self, offset: usize, message: impl fmt::Display) {
        self.add(Some(offset), Severity::Warning, message);
    }

    /// An error at a byte of the file, or at none when the cause is not in the file.
    pub(super) fn error_from(&self, offset: Option<usize>, message: impl fmt::Display) {
        self.add(offset, Severity::Error, message);
    }

    /// Every problem in the order of the file, the most general first. On each line the first thing that was said
    /// stands alone if it is a syntax error: what the reader made of the rest of such a line is only its echo.
    pub(super) fn into_problems(self, syntax_errors: usize) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        let mut found = problems.split_off(syntax_errors.min(problems.len()));
        let line = |problem: &Problem| problem.place.map(|place| place.line);
        found.retain(|echo| echo.place.is_none() || !problems.iter().any(|known| line(known) == line(echo)));
        problems.append(&mut found);
        problems.sort_by_key(|problem| problem.place);
        problems
    }

    fn add(&self, offset: Option<usize>, severity: Severity, message: impl fmt::Display) {
        let problem = Problem {
            place: offset.map(|offset| place(self.text, offset)),
            severity,
            message: message.to_string(),
        };
        self.problems.borrow_mut().push(problem);
    }
}

fn place(text: &str, offset: usize) -> Place {
    let before = text.get(..text.floor_char_boundary(offset)).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.get(line_start..).map_or(0, |line| line.chars().count()) + 1;
    Place { line, column }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let text = "a = 1\nné = 2\n";
        for (offset, line, column) in [(0, 1, 1), (6, 2, 1), (8, 2, 2), (9, 2, 3), (99, 3, 1)] {
            assert_eq!(place(text, offset), Place { line, column }, "{offset}");
        }
    }
}
