//! Injected orders once more, on texts of the project's own that nothing was written for and nothing learned from.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use tidegate_detect::injection::{InjectionContext, Verdict};
use tidegate_detect::{Detector, DetectorConfig};

use super::report::{Section, ratio, shown};
use super::{EvalError, rows};

const TEXTS: &str = "crates/detect/training/kept-apart";

#[derive(Deserialize)]
struct Row {
    tier: String,
    text: String,
}

pub(super) fn measure(root: &Path) -> Result<Vec<Section>, EvalError> {
    let detector = Detector::new(&DetectorConfig::default())?;
    let mut tiers: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for row in rows::<Row>(&root.join(TEXTS), "injection.jsonl")? {
        let inspected = detector.inspect(row.text.as_bytes(), &InjectionContext::NONE);
        let (all, injections) = tiers.entry(row.tier).or_default();
        *all += 1;
        *injections += usize::from(inspected.injection.verdict == Verdict::Injection);
    }
    Ok(vec![Section {
        title: "Injection: texts kept apart".into(),
        note: "Texts in `crates/detect/training/kept-apart`, written without a look at the patterns or at the texts that words \
               were learned from: attacks by tier, and ordinary texts, many of which are meant to be mistaken. Nothing is \
               learned from them and no row was looked at, but their totals were seen while the bar was set. Whoever looks at \
               them to mend something has to write new ones."
            .into(),
        columns: vec!["Tier", "Rows", "Taken for an attack"],
        rows: tiers
            .into_iter()
            .map(|(tier, (all, injections))| vec![tier, all.to_string(), shown(ratio(injections, all))])
            .collect(),
    }])
}
