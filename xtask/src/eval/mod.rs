//! `cargo xtask eval`: measures the detectors on public data that is not part of the project.
//!
//! Each family is a module with one function that reads its rows and gives back sections of a report. The report is
//! printed and saved to `docs/quality.md`, that of a model to `docs/quality-model.md`, that of replayed traces to
//! `docs/agentdojo.md`. Nothing in it is a threshold: it
//! says how it is.

mod agentdojo;
mod injection;
mod kept_apart;
mod model;
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
const MODEL_REPORT: &str = "docs/quality-model.md";
const AGENTDOJO_REPORT: &str = "docs/agentdojo.md";

const HEADING: &str = "# How well the detectors do\n\nMade by `cargo xtask eval` from public data that is not part of the \
                       project, and at the end from some that is. The figures are what they are: nothing here is a promise for other data.\n";

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
    #[error("the model could not be asked: {0}")]
    Model(String),
    #[error("a trace could not be replayed: {0}")]
    Replay(String),
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: std::io::Error },
}

/// Measures the detectors, or what is asked for by name.
pub(crate) fn run(only: Option<&str>) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let measured = match only {
        None => patterns(&root).and_then(|()| with_model(&root)),
        Some("model") => with_model(&root),
        Some("agentdojo" | "--agentdojo") => replay_agentdojo(&root),
        Some(_) => return Err("eval takes no name but model and agentdojo".into()),
    };
    measured.map_err(|error| error.to_string())
}

fn patterns(root: &Path) -> Result<(), EvalError> {
    let data = root.join(DATA);
    let mut sections = Vec::new();
    for family in FAMILIES {
        sections.extend(family(&data)?);
    }
    sections.extend(kept_apart::measure(root)?);
    save(&root.join(REPORT), HEADING, &sections)
}

/// A model is not everywhere, and figures that were made with one are not thrown away without.
fn with_model(root: &Path) -> Result<(), EvalError> {
    match model::measure(&root.join(DATA))? {
        sections if sections.is_empty() => Ok(()),
        sections => save(&root.join(MODEL_REPORT), HEADING, &sections),
    }
}

/// Traces through a real gateway take minutes, so they are replayed only when asked for.
fn replay_agentdojo(root: &Path) -> Result<(), EvalError> {
    let sections = agentdojo::measure(&root.join(DATA))?;
    save(&root.join(AGENTDOJO_REPORT), agentdojo::HEADING, &sections)
}

fn save(path: &Path, heading: &str, sections: &[Section]) -> Result<(), EvalError> {
    let text = report::document(heading, sections);
    show(&text);
    let written = path
        .parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(path, text));
    written.map_err(|source| EvalError::Write {
        path: path.to_owned(),
        source,
    })
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
