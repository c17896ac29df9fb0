//! A local model beside the patterns, on families that are not in its training data.
//!
//! The model is the one that the tests of `tidegate-classify` fetch, or the one that `TIDEGATE_ONNX_MODEL`,
//! `TIDEGATE_ONNX_TOKENIZER` and `TIDEGATE_ONNX_LIBRARY` name. It runs in a child process, so that this program is built
//! without a runtime for models. Without a model there is no section.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde::Deserialize;
use tidegate_detect::injection::{InjectionContext, Verdict};
use tidegate_detect::{Detector, DetectorConfig};

use super::report::{Section, ratio, shown};
use super::{EvalError, rows};
use crate::steps::{root, say};

const FETCHED: [(&str, &str); 3] = [
    (
        "TIDEGATE_ONNX_MODEL",
        "stackone_defender/models/minilm-multihead-v5/model_quantized.onnx",
    ),
    (
        "TIDEGATE_ONNX_TOKENIZER",
        "stackone_defender/models/minilm-multihead-v5/tokenizer.json",
    ),
    (
        "TIDEGATE_ONNX_LIBRARY",
        "onnxruntime/capi/libonnxruntime.so.1.31.1",
    ),
];

/// The list of data sets that the model comes with names these families, or data that they are made from.
const TRAINED_ON: [&str; 3] = ["agentdojo", "injecagent", "PIArena"];

/// The scores from which on a text counts as an attack: the default of the configuration, and a stricter one.
const THRESHOLDS: [f32; 2] = [0.9, 0.99];

const NOTE: &str = "Share of texts taken for an attack: by the patterns alone, by the model alone from a score of 0.9 or 0.99 on, \
                    and by either, which is what a gateway with `[detect.model]` does. The model is the int8 MiniLM of PyPI \
                    `stackone-defender` 0.9.4. AgentDojo and InjecAgent are in its training data and are left out; whether it \
                    has seen single texts of the others is not known.";

#[derive(Deserialize)]
struct Row {
    source: String,
    label: String,
    text: String,
    style: String,
    #[serde(default)]
    tier: Option<String>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    all: usize,
    patterns: usize,
    model: [usize; 2],
    either: [usize; 2],
}

/// The section, if there is a model.
pub(super) fn measure(data: &Path) -> Result<Vec<Section>, EvalError> {
    let Some(files) = files() else {
        say("==> no ONNX model here, so none is measured");
        return Ok(Vec::new());
    };
    let detector = Detector::new(&DetectorConfig::default())?;
    let mut rows = rows::<Row>(data, "injection.jsonl")?;
    rows.retain(|row| {
        !TRAINED_ON
            .iter()
            .any(|name| row.source.contains(name) || row.style.contains(name))
    });
    let scores = opinions(&files, rows.iter().map(|row| row.text.as_str())).map_err(EvalError::Model)?;
    if scores.len() != rows.len() {
        return Err(EvalError::Model("it did not answer for every text".into()));
    }
    let mut table: BTreeMap<(String, String), Counts> = BTreeMap::new();
    for (row, score) in rows.into_iter().zip(scores) {
        let inspection = detector.inspect(row.text.as_bytes(), &InjectionContext::NONE);
        let is_attack = inspection.injection.verdict == Verdict::Injection;
        let kind = if row.label == "inject" {
            format!("attack, {}", row.tier.unwrap_or_default())
        } else {
            "ordinary text".to_owned()
        };
        let family = if row.style.starts_with("cse_") {
            "cse (all)".to_owned()
        } else {
            row.style
        };
        table.entry((kind, family)).or_default().count(is_attack, score);
    }
    Ok(vec![section(table)])
}

impl Counts {
    fn count(&mut self, patterns: bool, score: f32) {
        self.all += 1;
        self.patterns += usize::from(patterns);
        let columns = self.model.iter_mut().zip(&mut self.either);
        for ((model, either), threshold) in columns.zip(THRESHOLDS) {
            *model += usize::from(score >= threshold);
            *either += usize::from(patterns || score >= threshold);
        }
    }
}

fn section(table: BTreeMap<(String, String), Counts>) -> Section {
    let row = |((kind, family), counts): ((String, String), Counts)| {
        let figures = [counts.patterns]
            .into_iter()
            .chain(counts.model)
            .chain(counts.either);
        let figures = figures.map(|count| shown(ratio(count, counts.all)));
        [kind, family, counts.all.to_string()]
            .into_iter()
            .chain(figures)
            .collect()
    };
    Section {
        title: "Injection: a model beside the patterns".to_owned(),
        note: NOTE.to_owned(),
        columns: vec![
            "Kind",
            "Family",
            "Rows",
            "Patterns",
            "Model 0.9",
            "Model 0.99",
            "Either 0.9",
            "Either 0.99",
        ],
        rows: table.into_iter().map(row).collect(),
    }
}

/// Model, tokenizer and library, if all are there.
fn files() -> Option<Vec<PathBuf>> {
    let fetched = root().join("target").join("onnx-model");
    let place = |(variable, path): (&str, &str)| {
        let named = std::env::var_os(variable).map(PathBuf::from);
        let file = named.unwrap_or_else(|| fetched.join(path));
        file.exists().then_some(file)
    };
    FETCHED.into_iter().map(place).collect()
}

/// Asks the child for a score of each text.
fn opinions<'a>(files: &[PathBuf], texts: impl Iterator<Item = &'a str>) -> Result<Vec<f32>, String> {
    let lines: Vec<_> = texts
        .map(|text| serde_json::Value::from(text).to_string())
        .collect();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let child = Command::new(cargo)
        .args([
            "run",
            "--quiet",
            "-p",
            "tidegate-classify",
            "--example",
            "opinions",
            "--",
        ])
        .args(files)
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let child = child.map_err(|error| error.to_string())?;
    let answer = converse(child, lines.join("\n")).map_err(|error| error.to_string())?;
    answer
        .lines()
        .map(|line| line.parse::<f32>().map_err(|error| error.to_string()))
        .collect()
}

/// Writes from a thread of its own: the child answers while it reads.
fn converse(mut child: Child, question: String) -> std::io::Result<String> {
    let mut input = child.stdin.take();
    let writing = std::thread::spawn(move || match input.as_mut() {
        Some(input) => input.write_all(question.as_bytes()),
        None => Ok(()),
    });
    let mut answer = String::new();
    if let Some(output) = child.stdout.as_mut() {
        output.read_to_string(&mut answer)?;
    }
    let written = writing.join();
    if !child.wait()?.success() || !matches!(written, Ok(Ok(()))) {
        return Err(std::io::Error::other("it stopped before the end"));
    }
    Ok(answer)
}
