//! Tables of figures, as Markdown.

use std::fmt::Write as _;

/// One table with what must be known to read it.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) note: String,
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Right and wrong answers about one thing.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) hits: usize,
    pub(super) misses: usize,
    pub(super) false_alarms: usize,
}

impl Tally {
    pub(super) fn precision(self) -> Option<f64> {
        ratio(self.hits, self.hits + self.false_alarms)
    }

    pub(super) fn recall(self) -> Option<f64> {
        ratio(self.hits, self.hits + self.misses)
    }

    pub(super) fn f1(self) -> Option<f64> {
        ratio(2 * self.hits, 2 * self.hits + self.misses + self.false_alarms)
    }
}

/// A share, or nothing when there is nothing to share.
#[expect(clippy::cast_precision_loss, reason = "counts of rows are far below 2^52")]
pub(super) fn ratio(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A share as it is printed.
pub(super) fn shown(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{share:.3}"))
}

/// The whole report.
pub(super) fn document(heading: &str, sections: &[Section]) -> String {
    let mut text = heading.to_owned();
    for section in sections {
        let _ = write!(text, "\n## {}\n\n{}\n\n", section.title, section.note);
        let _ = writeln!(text, "| {} |", section.columns.join(" | "));
        let rule: Vec<_> = section.columns.iter().map(|_| "---").collect();
        let _ = writeln!(text, "|{}|", rule.join("|"));
        for row in &section.rows {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
    }
    text
}
