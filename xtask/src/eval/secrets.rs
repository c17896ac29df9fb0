//! Credentials: recall on the rules' own examples, and the share of curated false positives that are taken.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
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
}

#[derive(Default)]
struct Counts {
    positives: usize,
    found: usize,
    spans: usize,
    spans_covered: usize,
    negatives: usize,
    alarms: usize,
}

pub(super) fn measure(data: &Path) -> Result<Vec<Section>, EvalError> {
    let detector = Detector::new(&DetectorConfig::default())?;
    let mut families: BTreeMap<String, Counts> = BTreeMap::new();
    for row in rows::<Row>(data, "secrets.jsonl")? {
        if row
            .conflict
            .as_ref()
            .is_some_and(|conflict| *conflict != serde_json::Value::Bool(false))
        {
            continue;
        }
        let family = row.source.split(['/', '@']).nth(1).unwrap_or("other").to_owned();
        count(&detector, &row, families.entry(family).or_default());
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
            ]
        })
        .collect();
    Ok(vec![Section {
        title: "Credentials".into(),
        note: "A positive row is found when any credential is; its secret is covered when the findings span it. \
               False positives are the curated set; rows that contradict each other are left out."
            .into(),
        columns: vec!["rules of", "positives", "recall", "secret covered", "curated negatives", "taken for secrets"],
        rows: table,
    }])
}

fn count(detector: &Detector, row: &Row, counts: &mut Counts) {
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
        counts.alarms += usize::from(credentials.next().is_some());
    }
}
