//! Which tests cannot run without a server: those in files that name its variable, so the list cannot drift.

use std::fs;
use std::path::{Path, PathBuf};

/// The tests that need the server of this variable, as `file: test`.
pub(super) fn tests(root: &Path, variable: &str) -> Vec<String> {
    let mut names = Vec::new();
    for file in test_files(&root.join("crates")) {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        if text.contains(variable) {
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            names.extend(test_names(&text).map(|name| format!("{shown}: {name}")));
        }
    }
    names.sort_unstable();
    names
}

fn test_files(crates: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let directories = fs::read_dir(crates).into_iter().flatten().filter_map(Result::ok);
    for directory in directories {
        let tests = fs::read_dir(directory.path().join("tests"));
        let entries = tests.into_iter().flatten().filter_map(Result::ok);
        files.extend(
            entries
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|end| end == "rs")),
        );
    }
    files
}

/// The functions that stand after a `#[test]` or `#[tokio::test]`.
fn test_names(text: &str) -> impl Iterator<Item = &str> {
    let mut marked = false;
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            marked = true;
            return None;
        }
        let (before, rest) = line.split_once("fn ")?;
        if !marked || !matches!(before, "" | "async ") {
            return None;
        }
        marked = false;
        rest.split(['(', '<']).next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_marked_functions_are_tests() {
        let text = "fn check() {}\n#[test]\nfn one() {}\n#[tokio::test(flavor = \"multi_thread\")]\nasync fn two() {}\nfn last() {}\n";
        assert_eq!(test_names(text).collect::<Vec<_>>(), ["one", "two"]);
    }
}
