//! `cargo xtask eval`: measures the detectors on public data that is not part of the project.
//!
//! Each family is a module with one function that reads its rows and gives back sections of a report. The report is
//! printed and saved to `docs/quality.md`. Nothing in it is a threshold: it says how it is.

mod injection;
mod pii;
mod report;
mod secrets;

use std::path::{Path, PathBuf};

use report::Section;

/// A family of detectors that can be measured.
type Family = fn(&Path) -> Result<Vec<Section>, EvalError>;

const FAMILIES: &[Family] = &[pii::measure, secrets::measure, injection::measure];

const DATA: &str = "../shared/eval";
const REPORT: &str = "docs/quality.md";

/// Why the figures could not be made.
#[derive(Debug, thiserror::Error)]
enum EvalError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}, line {line}: {source}")]
    Row {
        path: PathBuf,
        line: usize,
        source: serde_json::Error,
    },
    #[error("the detector could not be built: {0}")]
    Detector(#[from] tidegate_detect::ConfigError),
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: std::io::Error },
}

pub(crate) fn run() -> Result<(), String> {
    report().map_err(|error| error.to_string())
}

fn report() -> Result<(), EvalError> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let data = root.join(DATA);
    let mut sections = Vec::new();
    for family in FAMILIES {
        sections.extend(family(&data)?);
    }
    let text = report::document(&sections);
    show(&text);
    let path = root.join(REPORT);
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(&path, text));
    written.map_err(|source| EvalError::Write { path, source })
}

#[expect(clippy::print_stdout, reason = "this is a command line program")]
fn show(text: &str) {
    print!("{text}");
}

/// Reads a file with one JSON value a line.
fn rows<T: serde::de::DeserializeOwned>(data: &Path, file: &str) -> Result<Vec<T>, EvalError> {
    let path = data.join(file);
    let text = std::fs::read_to_string(&path).map_err(|source| EvalError::Read {
        path: path.clone(),
        source,
    })?;
    text.lines()
        .zip(1..)
        .filter(|(line, _)| !line.is_empty())
        .map(|(line, number)| {
            serde_json::from_str(line).map_err(|source| EvalError::Row {
                path: path.clone(),
                line: number,
                source,
            })
        })
        .collect()
}
