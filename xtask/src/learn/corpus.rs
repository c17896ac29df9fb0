//! The texts that are learned from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use tidegate_detect::injection::learned::numbers;

use super::LearnError;

/// The bytes of a piece of documentation, about as many as the detector weighs at once.
const PIECE: usize = 1200;

/// How much a text of the detector's own tests counts: they are many, and much alike.
const TRIED_WEIGHT: f32 = 0.5;

/// A text by the numbers of its words.
pub(super) struct Row {
    pub(super) sort: Sort,
    /// How much it counts.
    pub(super) weight: f32,
    pub(super) words: Vec<[u32; 4]>,
}

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Order,
    Ordinary,
    Documentation,
}

#[derive(Deserialize)]
struct Written {
    label: Label,
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Label {
    Inject,
    Benign,
}

/// The texts that were written to be learned from, in the order of their files.
pub(super) fn written(folder: &Path) -> Result<Vec<Row>, LearnError> {
    let mut rows = Vec::new();
    for path in files(folder)?.iter().filter(|path| has_ending(path, "jsonl")) {
        for (number, line) in read(path)?.lines().enumerate() {
            let written: Written = serde_json::from_str(line).map_err(|source| LearnError::Row {
                path: path.clone(),
                line: number + 1,
                source,
            })?;
            rows.push(Row {
                sort: match written.label {
                    Label::Inject => Sort::Order,
                    Label::Benign => Sort::Ordinary,
                },
                weight: 1.0,
                words: numbers(written.text.as_bytes()),
            });
        }
    }
    Ok(rows)
}

/// The texts that the detector's own tests try it on: files of orders and of ordinary texts, set apart by lines of dashes.
pub(super) fn tried(folder: &Path) -> Result<Vec<Row>, LearnError> {
    let mut rows = Vec::new();
    for path in files(folder)?.iter().filter(|path| has_ending(path, "txt")) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let sort = if name.starts_with("attack") {
            Sort::Order
        } else {
            Sort::Ordinary
        };
        rows.extend(read(path)?.split("\n---\n").map(|text| Row {
            sort,
            weight: TRIED_WEIGHT,
            words: numbers(text.trim().as_bytes()),
        }));
    }
    Ok(rows)
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    manifest_path: PathBuf,
    source: Option<String>,
}

/// What every crate that the lock file names says of itself, in pieces: read-me files, lists of changes, and the first pages of
/// its reference.
pub(super) fn documentation(root: &Path) -> Result<Vec<Row>, LearnError> {
    let said = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(|error| LearnError::Metadata(error.to_string()))?;
    let metadata: Metadata =
        serde_json::from_slice(&said.stdout).map_err(|error| LearnError::Metadata(error.to_string()))?;
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    for package in metadata
        .packages
        .iter()
        .filter(|package| package.source.is_some())
    {
        let folder = package.manifest_path.parent().unwrap_or(root);
        let pages = files(folder)?;
        let pages = pages
            .iter()
            .filter(|path| has_ending(path, "md"))
            .map(|path| lossy(path));
        for page in pages.chain([reference(&lossy(&folder.join("src/lib.rs")))]) {
            for piece in pieces(&page).filter(|piece| seen.insert((*piece).to_owned())) {
                rows.push(Row {
                    sort: Sort::Documentation,
                    weight: 1.0,
                    words: numbers(piece.as_bytes()),
                });
            }
        }
    }
    Ok(rows)
}

/// The text of a file; nothing when there is none.
fn lossy(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}

/// What the comments of a source file say to its users.
fn reference(source: &str) -> String {
    let comments = source.lines().map(str::trim_start);
    let said = comments.filter_map(|line| line.strip_prefix("//!").or_else(|| line.strip_prefix("///")));
    said.flat_map(|line| [line, "\n"]).collect()
}

/// A text in pieces, cut at the ends of lines.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.floor_char_boundary(PIECE);
        let whole = rest.len() <= PIECE;
        let line = rest.get(..end)?.rfind('\n').map_or(end, |at| at + 1);
        let (piece, left) = rest.split_at_checked(if whole { rest.len() } else { line })?;
        rest = left;
        (!piece.is_empty()).then_some(piece)
    })
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, LearnError> {
    let listed = std::fs::read_dir(folder).map_err(|source| LearnError::Read {
        path: folder.to_owned(),
        source,
    })?;
    let mut files: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    files.sort();
    Ok(files)
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension()
        .is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

fn read(path: &Path) -> Result<String, LearnError> {
    std::fs::read_to_string(path).map_err(|source| LearnError::Read {
        path: path.to_owned(),
        source,
    })
}
