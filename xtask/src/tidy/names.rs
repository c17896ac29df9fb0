//! A name that would fit anything says nothing.

use super::Complaint;
use super::files::File;

const EMPTY_WORDS: [&str; 9] = [
    "util", "utils", "helper", "helpers", "manager", "managers", "common", "misc", "stuff",
];
const DECLARED_BY: [&str; 5] = ["struct ", "enum ", "trait ", "mod ", "type "];

/// No file and no type, trait or module is called by a word that would fit anything.
pub(super) fn names_come_from_the_domain(files: &[File]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_source()) {
        let mut complain = |line, name: &str| {
            let message = format!("{name} says nothing; name what it does");
            complaints.push(Complaint {
                path: file.path.clone(),
                line,
                message,
            });
        };
        for part in file.path.split('/').filter(|part| is_empty_name(part)) {
            complain(1, part);
        }
        for (line, text) in file.lines().filter(|_| file.extension() == "rs") {
            for name in declared(text).filter(|name| is_empty_name(name)) {
                complain(line, name);
            }
        }
    }
    complaints
}

fn declared(line: &str) -> impl Iterator<Item = &str> {
    let code = line.trim_start();
    let code = code.strip_prefix("pub ").unwrap_or(code);
    let code = code
        .strip_prefix("pub(crate) ")
        .or_else(|| code.strip_prefix("pub(super) "))
        .unwrap_or(code);
    let names = DECLARED_BY
        .iter()
        .filter_map(move |keyword| code.strip_prefix(keyword));
    names.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())
}

fn is_empty_name(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    words(stem)
        .iter()
        .any(|word| EMPTY_WORDS.contains(&word.as_str()))
}

/// The words of a snake_case or CamelCase name, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        let starts = c == '_' || c == '-' || c.is_uppercase();
        if starts {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_found_and_others_left_alone() {
        for (path, text, count) in [
            ("src/util.rs", "", 1),
            ("tests/common/mod.rs", "", 1),
            ("src/utility_bill.rs", "", 0),
            ("src/a.rs", "pub(crate) struct SessionManager {", 1),
            ("src/a.rs", "mod string_utils;", 1),
            (
                "src/a.rs",
                "enum Commons { A }\nfn most_common() {}\n// a helper",
                0,
            ),
        ] {
            let files = [File {
                path: path.into(),
                text: text.into(),
            }];
            assert_eq!(names_come_from_the_domain(&files).len(), count, "{path}: {text}");
        }
    }
}
