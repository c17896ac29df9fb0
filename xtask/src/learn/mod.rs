//! `cargo xtask learn`: makes the weights of words by which the detector tells orders from ordinary text.
//!
//! What is learned from is part of the project (`crates/detect/training`), and the documentation of the crates that
//! `Cargo.lock` names, which is where ordinary technical text is at hand for everybody. A tenth of it is kept back first, and
//! what is learned from the rest is tried on that; then everything is learned. The same input gives the same weights.

mod corpus;
mod descent;

use std::path::{Path, PathBuf};

use corpus::{Row, Sort};
use descent::learn;
use tidegate_detect::injection::learned::{ENOUGH, STEP};

use crate::steps::say;

const TRAINING: &str = "crates/detect/training";
const TRIED: &str = "crates/detect/tests/corpus/injection";
const WEIGHTS: &str = "crates/detect/src/injection/learned/weights.bin";

/// One row in so many is kept back to try what was learned.
const KEPT_BACK: usize = 10;

/// Why nothing could be learned.
#[derive(Debug, thiserror::Error)]
enum LearnError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}, line {line}: {source}")]
    Row {
        path: PathBuf,
        line: usize,
        source: serde_json::Error,
    },
    #[error("cargo metadata failed: {0}")]
    Metadata(String),
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: std::io::Error },
}

/// Learns from the training texts and writes the weights.
pub(crate) fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    write_weights(&root).map_err(|error| error.to_string())
}

fn write_weights(root: &Path) -> Result<(), LearnError> {
    let mut rows = corpus::written(&root.join(TRAINING))?;
    rows.extend(corpus::tried(&root.join(TRIED))?);
    let documents = corpus::documentation(root)?;
    say(&format!(
        "{} texts, of which {} give orders, and {} pieces of documentation",
        rows.len(),
        rows.iter().filter(|row| row.sort == Sort::Order).count(),
        documents.len()
    ));
    rows.extend(documents);
    try_on_unseen(&rows);
    let weights = learn(&rows.iter().collect::<Vec<_>>());
    let path = root.join(WEIGHTS);
    let bytes: Vec<u8> = weights.iter().map(|weight| in_steps(*weight)).collect();
    std::fs::write(&path, bytes).map_err(|source| LearnError::Write { path, source })
}

/// A weight as the detector reads it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "it is within the bounds of a byte"
)]
fn in_steps(weight: f32) -> u8 {
    let steps = (weight / STEP).round().clamp(-127.0, 127.0);
    (steps as i8).cast_unsigned()
}

fn try_on_unseen(rows: &[Row]) {
    let (kept, seen): (Vec<_>, Vec<_>) = rows
        .iter()
        .enumerate()
        .partition(|(number, _)| number % KEPT_BACK == 0);
    let seen: Vec<&Row> = seen.into_iter().map(|(_, row)| row).collect();
    let weights = learn(&seen);
    for sort in [Sort::Order, Sort::Ordinary, Sort::Documentation] {
        let such: Vec<&Row> = kept
            .iter()
            .map(|(_, row)| *row)
            .filter(|row| row.sort == sort)
            .collect();
        let taken = such
            .iter()
            .filter(|row| descent::best(&weights, row).0 >= ENOUGH)
            .count();
        let sort = match sort {
            Sort::Order => "orders",
            Sort::Ordinary => "ordinary texts",
            Sort::Documentation => "pieces of documentation",
        };
        say(&format!(
            "kept back: {taken} of {} {sort} are taken for orders by their words alone",
            such.len()
        ));
    }
}
