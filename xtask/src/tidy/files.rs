//! The text files of the project.

use std::io;
use std::path::Path;

/// Directories that are made, not written.
const MADE: [&str; 9] = [
    ".git",
    "target",
    "node_modules",
    "generated",
    "dist",
    "__pycache__",
    ".venv",
    "corpus",
    "artifacts",
];

/// One text file.
pub(super) struct File {
    /// Its path from the root, with forward slashes.
    pub(super) path: String,
    /// What is in it.
    pub(super) text: String,
}

impl File {
    /// How the file's name ends.
    pub(super) fn extension(&self) -> &str {
        Path::new(&self.path)
            .extension()
            .and_then(|end| end.to_str())
            .unwrap_or_default()
    }

    /// Whether people wrote it as code.
    pub(super) fn is_source(&self) -> bool {
        matches!(self.extension(), "rs" | "py" | "ts" | "js" | "sh")
    }

    /// Its lines with their numbers.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }
}

/// Every text file of the project.
pub(super) fn read_all(root: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    let mut waiting = vec![root.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let made = MADE.iter().any(|made| entry.file_name() == *made);
            if kind.is_dir() && !made {
                waiting.push(path);
            } else if kind.is_file() && !made {
                // What is not text is nobody's prose.
                let Ok(text) = String::from_utf8(std::fs::read(&path)?) else {
                    continue;
                };
                let path = path.strip_prefix(root).unwrap_or(&path);
                files.push(File {
                    path: path.to_string_lossy().replace('\\', "/"),
                    text,
                });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}
