//! Personal data: spans in running text, and the cases of single recognizers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use tidegate_detect::{Confidence, Detector, DetectorConfig};

use super::report::{Section, Tally, ratio, shown};
use super::{EvalError, rows};

#[derive(Deserialize)]
struct Row {
    source: String,
    text: String,
    spans: Vec<Span>,
    annotations_complete: bool,
}

#[derive(Deserialize)]
struct Span {
    bstart: usize,
    bend: usize,
    norm: String,
}

#[derive(Deserialize)]
struct Case {
    entity: String,
    text: String,
    expected_count: usize,
    label: String,
    #[serde(default)]
    conflicting: bool,
}

/// Which rule answers for which type of the data. Types that no rule claims (organisations, places, ages) are left out.
const TYPES: &[(&str, &[&str])] = &[
    ("EMAIL", &["email"]),
    ("PHONE", &["phone"]),
    ("CREDIT_CARD", &["credit-card"]),
    ("IBAN", &["iban"]),
    ("SSN", &["us-ssn", "us-itin"]),
    ("IP", &["ip-address", "private-ip-address"]),
    ("MAC", &["mac-address"]),
    ("PERSON", &["person-name"]),
    ("ADDRESS", &["postal-address"]),
    ("ZIP", &["postal-code", "uk-postcode"]),
    ("DRIVER_LICENSE", &["driver-license"]),
    ("BANK_ACCOUNT", &["bank-account"]),
    ("MEDICAL_RECORD", &["medical-record"]),
];

/// Recognizers whose rule has another name than the entity.
const ENTITIES: &[(&str, &[&str])] = &[
    ("PHONE_NUMBER", &["phone"]),
    ("IBAN_CODE", &["iban"]),
    ("IP_ADDRESS", &["ip-address", "private-ip-address"]),
    ("DE_FUEHRERSCHEIN", &["de-driver-license"]),
    ("DE_PASSPORT", &["de-id-card"]),
    ("DE_PLZ", &["postal-code"]),
    ("IT_PASSPORT", &["it-passport", "passport"]),
    ("US_DRIVER_LICENSE", &["driver-license"]),
];

pub(super) fn measure(data: &Path) -> Result<Vec<Section>, EvalError> {
    Ok(vec![in_text(data)?, cases(data)?])
}

fn in_text(data: &Path) -> Result<Section, EvalError> {
    let detector = Detector::new(&DetectorConfig::default())?;
    let mut tallies: BTreeMap<(String, &str), Tally> = BTreeMap::new();
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows::<Row>(data, "pii.jsonl")? {
        let family = row.source.split(['/', '@']).nth(1).unwrap_or("other").to_owned();
        if row.annotations_complete {
            *words.entry(family.clone()).or_default() += row.text.split_whitespace().count();
        }
        let scan = detector.scan(row.text.as_bytes());
        for (norm, rules) in TYPES {
            let gold: Vec<_> = row
                .spans
                .iter()
                .filter(|span| span.norm == *norm)
                .map(|span| span.bstart..span.bend)
                .collect();
            let found: Vec<_> = scan
                .findings
                .iter()
                .filter(|finding| rules.contains(&finding.rule.as_str()))
                .map(|finding| finding.span.clone())
                .collect();
            let tally = tallies.entry((family.clone(), norm)).or_default();
            let hits = gold
                .iter()
                .filter(|gold| found.iter().any(|found| agree(gold, found)))
                .count();
            tally.hits += hits;
            tally.misses += gold.len() - hits;
            if row.annotations_complete {
                let wrong = found
                    .iter()
                    .filter(|found| !gold.iter().any(|gold| touches(gold, found)))
                    .count();
                tally.false_alarms += wrong;
            }
        }
    }
    let table = tallies
        .into_iter()
        .filter(|(_, tally)| tally.hits + tally.misses + tally.false_alarms > 0)
        .map(|((family, norm), tally)| {
            let per_10k = ratio(
                tally.false_alarms * 10_000,
                words.get(&family).copied().unwrap_or(0),
            );
            vec![
                family,
                norm.to_owned(),
                (tally.hits + tally.misses).to_string(),
                shown(tally.precision()),
                shown(tally.recall()),
                shown(tally.f1()),
                per_10k.map_or_else(|| "–".to_owned(), |share| format!("{share:.2}")),
            ]
        })
        .collect();
    Ok(Section {
        title: "Personal data in text".into(),
        note: "A span is found when a finding of its type shares at least half of what the two cover. A finding is \
               false when it touches no span of its type; rows without complete annotations count for recall only."
            .into(),
        columns: vec!["data", "type", "spans", "precision", "recall", "F1", "false per 10,000 words"],
        rows: table,
    })
}

fn cases(data: &Path) -> Result<Section, EvalError> {
    let everything = Detector::new(&DetectorConfig {
        least_confidence: Confidence::percent(1),
        ..DetectorConfig::default()
    })?;
    let usual = DetectorConfig::default().least_confidence;
    let mut tallies: BTreeMap<String, [(usize, usize); 3]> = BTreeMap::new();
    for case in rows::<Case>(data, "pii_recognizer_cases.jsonl")?
        .iter()
        .filter(|case| !case.conflicting)
    {
        let found = everything.scan_unresolved(case.text.as_bytes());
        let count = |least: Confidence| {
            let mut spans: Vec<_> = found
                .iter()
                .filter(|finding| finding.confidence >= least && answers(&case.entity, finding.rule.as_str()))
                .map(|finding| finding.span.start)
                .collect();
            spans.sort_unstable();
            spans.dedup();
            spans.len()
        };
        let [loose, strict, quiet] = tallies.entry(case.entity.clone()).or_default();
        let (any, sure) = (count(Confidence::percent(1)), count(usual));
        if case.label == "positive" {
            loose.0 += usize::from(any >= case.expected_count);
            loose.1 += 1;
            strict.0 += usize::from(sure >= case.expected_count);
            strict.1 += 1;
        } else {
            quiet.0 += usize::from(any == 0);
            quiet.1 += 1;
        }
    }
    let table = tallies
        .into_iter()
        .map(|(entity, [loose, strict, quiet])| {
            let of = |(part, whole): (usize, usize)| format!("{part}/{whole}");
            vec![entity, of(loose), of(strict), of(quiet)]
        })
        .collect();
    Ok(Section {
        title: "Cases of single recognizers".into(),
        note: "Most of these are bare values without a word of context. The first column counts findings of any \
               confidence, the second those sure enough to be reported by default; a bare number that one random \
               number in ten could be is deliberately not."
            .into(),
        columns: vec!["entity", "found at all", "reported by default", "negatives left alone"],
        rows: table,
    })
}

fn answers(entity: &str, rule: &str) -> bool {
    match ENTITIES.iter().find(|(name, _)| *name == entity) {
        Some((_, rules)) => rules.contains(&rule),
        None => rule.eq_ignore_ascii_case(&entity.replace('_', "-")),
    }
}

fn touches(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

fn agree(a: &Range<usize>, b: &Range<usize>) -> bool {
    let shared = a.end.min(b.end).saturating_sub(a.start.max(b.start));
    let covered = a.end.max(b.end) - a.start.min(b.start);
    shared * 2 >= covered
}
