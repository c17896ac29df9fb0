//! Paths below a root, as somebody names them.

use crate::Failure;

const MOST_BYTES: usize = 1_024;
const MOST_STEPS: usize = 64;

/// A path of plain names below a root. It has one spelling, so that the class of its path is the class of what it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inside(String);

impl Inside {
    /// The path of a file.
    pub(super) fn file(path: &str) -> Result<Self, Failure> {
        if path.is_empty() {
            return Err(bad());
        }
        Self::directory(path)
    }

    /// The path of a directory; empty for the root.
    pub(super) fn directory(path: &str) -> Result<Self, Failure> {
        let path = path.strip_suffix('/').unwrap_or(path);
        if path.is_empty() || path == "." {
            return Ok(Self(String::new()));
        }
        let is_name = |name: &str| !matches!(name, "" | "." | "..");
        let is_fine = path.len() <= MOST_BYTES
            && path.split('/').count() <= MOST_STEPS
            && path.split('/').all(is_name)
            && !path.contains(|c: char| c.is_control() || c == '\\');
        if is_fine {
            Ok(Self(path.to_owned()))
        } else {
            Err(bad())
        }
    }

    /// As it is shown, and as classes are found by it.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// As it is opened.
    pub(super) fn to_open(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }

    /// The path of something in this directory.
    pub(super) fn join(&self, name: &str) -> String {
        if self.0.is_empty() {
            return name.to_owned();
        }
        format!("{}/{name}", self.0)
    }
}

fn bad() -> Failure {
    Failure::Refused(
        "a path is names joined by /, below the root: no .., no leading /, no backslash".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_its_root() {
        for path in [
            "../x",
            "a/../../x",
            "a/../b",
            "/etc/passwd",
            "a//b",
            "./a",
            "a/./b",
            "..",
            "a/..",
            "a\0b",
            "a\nb",
            "..\\x",
            "a\\b",
        ] {
            assert!(Inside::file(path).is_err(), "{path:?}");
        }
        assert!(Inside::file("").is_err());
        assert!(Inside::file(&"a/".repeat(100)).is_err());
        for path in ["a", "a/b.txt", "..a/b..", "a b/c", "ä/ö"] {
            assert_eq!(Inside::file(path).unwrap().as_str(), path);
        }
        for path in ["", ".", "/"] {
            assert_eq!(Inside::directory(path).unwrap().to_open(), ".");
        }
        assert_eq!(Inside::directory("a/").unwrap().join("b"), "a/b");
    }
}
