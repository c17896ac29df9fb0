//! Credentials: recall on the rules' own examples, and the share of curated false positives that are taken.
//!
//! Two things would flatter or blur the figures and are counted apart. Kingfisher has rules for what stands beside a
//! secret (a host, an account's name), which it never reports: these rows are no secrets. And some negatives are
//! samples that the detector knows by their digest from a vendor's own pages: leaving them alone shows that the list
//! is there, not that the detector tells samples from secrets.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tidegate_detect::{Detector, DetectorConfig, FindingKind};

use super::report::{Section, ratio, shown};
use super::{EvalError, rows};

#[derive(Deserialize)]
struct Row {
    source: String,
    label: String,
    text: String,
    #[serde(default)]
    neg_kind: Option<String>,
    #[serde(default)]
    conflict: Option<serde_json::Value>,
    /// The secret itself, where the source says which part of the text it is.
    #[serde(default)]
    secret: Option<String>,
    /// Kingfisher's word for a rule that it reports; its other rules find what stands beside a secret.
    #[serde(default)]
    visible: Option<bool>,
}

#[derive(Default)]
struct Counts {
    positives: usize,
    found: usize,
    spans: usize,
    spans_covered: usize,
    negatives: usize,
    alarms: usize,
    samples: usize,
    sample_alarms: usize,
}

pub(super) fn measure(data: &Path) -> Result<Vec<Section>, EvalError> {
    let detector = Detector::new(&DetectorConfig::default())?;
    let samples = published_samples();
    let mut families: BTreeMap<String, Counts> = BTreeMap::new();
    for row in rows::<Row>(data, "secrets.jsonl")? {
        if row
            .conflict
            .as_ref()
            .is_some_and(|conflict| *conflict != serde_json::Value::Bool(false))
        {
            continue;
        }
        let mut family = row.source.split(['/', '@']).nth(1).unwrap_or("other").to_owned();
        if row.visible == Some(false) {
            family.push_str(", names and hosts beside a secret");
        }
        count(&detector, &samples, &row, families.entry(family).or_default());
    }
    let table = families
        .into_iter()
        .map(|(family, counts)| {
            vec![
                family,
                counts.positives.to_string(),
                shown(ratio(counts.found, counts.positives)),
                shown(ratio(counts.spans_covered, counts.spans)),
                counts.negatives.to_string(),
                shown(ratio(counts.alarms, counts.negatives)),
                counts.samples.to_string(),
                shown(ratio(
                    counts.alarms - counts.sample_alarms,
                    counts.negatives - counts.samples,
                )),
            ]
        })
        .collect();
    Ok(vec![Section {
        title: "Credentials".into(),
        note: "A positive row is found when any credential is; its secret is covered when the findings span it. \
               Names and hosts beside a secret are kingfisher's rules for what it does not report by itself: no secrets, \
               shown apart. False positives are the curated set; rows that contradict each other are left out. Some of \
               them are samples from vendors' pages that the detector knows by digest (`rules/published_samples.txt`): \
               the last column is the share without those."
            .into(),
        columns: vec![
            "rules of",
            "positives",
            "recall",
            "secret covered",
            "curated negatives",
            "taken for secrets",
            "known samples",
            "taken, without samples",
        ],
        rows: table,
    }])
}

fn count(detector: &Detector, samples: &HashSet<&str>, row: &Row, counts: &mut Counts) {
    let scan = detector.scan(row.text.as_bytes());
    let mut credentials = scan
        .findings
        .iter()
        .filter(|finding| finding.kind == FindingKind::Credentials);
    if row.label == "positive" {
        counts.positives += 1;
        if let Some(start) = row.secret.as_deref().and_then(|secret| row.text.find(secret)) {
            let end = start + row.secret.as_deref().map_or(0, str::len);
            counts.spans += 1;
            let covers = credentials
                .clone()
                .any(|found| found.span.start <= start && found.span.end >= end);
            counts.spans_covered += usize::from(covers);
        }
        counts.found += usize::from(credentials.next().is_some());
    } else if row.neg_kind.as_deref() == Some("curated_false_positive") {
        counts.negatives += 1;
        let alarm = usize::from(credentials.next().is_some());
        let sample = usize::from(holds_sample(&row.text, samples));
        counts.alarms += alarm;
        counts.samples += sample;
        counts.sample_alarms += alarm * sample;
    }
}

/// The digests that the detector knows samples by.
fn published_samples() -> HashSet<&'static str> {
    include_str!("../../../crates/detect/rules/published_samples.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_whitespace().next())
        .collect()
}

/// Whether a word of the text, or what stands between quotes, is a published sample.
fn holds_sample(text: &str, samples: &HashSet<&str>) -> bool {
    text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '='))
        .map(|word| Sha256::digest(word.as_bytes()))
        .map(|digest| {
            digest
                .iter()
                .take(8)
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        })
        .any(|short| samples.contains(short.as_str()))
}
