//! Rules about code.

use super::Complaint;
use super::files::File;

const MOST_LINES: usize = 600;

/// A file that does not fit in a head has a seam somewhere.
pub(super) fn files_stay_small(files: &[File]) -> Vec<Complaint> {
    let long = files
        .iter()
        .filter(|file| file.is_source() && file.text.lines().count() > MOST_LINES);
    let complain = |file: &File| Complaint {
        path: file.path.clone(),
        line: MOST_LINES,
        message: format!("goes past {MOST_LINES} lines; look for the seam"),
    };
    long.map(complain).collect()
}

/// Work that is put off belongs where work is planned, not into the code.
pub(super) fn nothing_is_left_for_later(files: &[File]) -> Vec<Complaint> {
    // Written in halves so that this file does not complain about itself.
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
        concat!("unimple", "mented!("),
    ];
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_source()) {
        for (line, text) in file.lines() {
            for mark in marks.iter().filter(|mark| has_word(text, mark)) {
                let message = format!("{mark} is left in the code");
                complaints.push(Complaint {
                    path: file.path.clone(),
                    line,
                    message,
                });
            }
        }
    }
    complaints
}

/// A lint is switched off only with a reason beside it.
pub(super) fn every_exception_has_a_reason(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.extension() == "rs") {
        for mark in [
            concat!("#[al", "low("),
            concat!("#![al", "low("),
            concat!("#[ex", "pect("),
            concat!("#![ex", "pect("),
        ] {
            for (offset, _) in file.text.match_indices(mark) {
                let rest = file.text.get(offset..).unwrap_or_default();
                let attribute = rest.split_once(")]").map_or(rest, |(attribute, _)| attribute);
                if !attribute.contains("reason") {
                    let line = file.text.get(..offset).unwrap_or_default().lines().count().max(1);
                    let message = format!("{mark}..)] has no reason");
                    complaints.push(Complaint {
                        path: file.path.clone(),
                        line,
                        message,
                    });
                }
            }
        }
    }
    complaints
}

/// Whether a mark stands in a line and is no part of a longer word.
fn has_word(line: &str, mark: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(mark).any(|(start, _)| {
        let before = line.get(..start).and_then(|before| before.chars().next_back());
        let after = line
            .get(start + mark.len()..)
            .and_then(|after| after.chars().next());
        let goes_on = mark.ends_with(char::is_alphanumeric) && is_word(after);
        !is_word(before) && !goes_on
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: fn(&[File]) -> Vec<Complaint>, path: &str, text: &str, lines: &[usize]) {
        let files = [File {
            path: path.into(),
            text: text.into(),
        }];
        let found: Vec<_> = rule(&files).iter().map(|complaint| complaint.line).collect();
        assert_eq!(found, lines, "{path}: {text}");
    }

    #[test]
    fn long_files() {
        check(files_stay_small, "a.rs", &"x\n".repeat(600), &[]);
        check(files_stay_small, "a.rs", &"x\n".repeat(601), &[600]);
        check(files_stay_small, "a.json", &"x\n".repeat(601), &[]);
    }

    #[test]
    fn marks() {
        let mark = concat!("TO", "DO");
        check(
            nothing_is_left_for_later,
            "a.rs",
            &format!("ok\n// {mark}: later\n"),
            &[2],
        );
        check(
            nothing_is_left_for_later,
            "a.rs",
            &format!("let {mark}S = 1; // mas{mark}\n"),
            &[],
        );
        check(nothing_is_left_for_later, "a.md", &format!("{mark}\n"), &[]);
    }

    #[test]
    fn reasons() {
        let allow = concat!("#[al", "low(");
        check(
            every_exception_has_a_reason,
            "a.rs",
            &format!("\n{allow}dead_code)]\n"),
            &[1],
        );
        check(
            every_exception_has_a_reason,
            "a.rs",
            &format!("{allow}\n  dead_code,\n  reason = \"why\"\n)]\n"),
            &[],
        );
    }
}
