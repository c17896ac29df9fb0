//! Injected orders: recall for each family of attacks, alarms for each family of ordinary text. Never pooled over tiers:
//! what only asks is another task than what overrides.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use tidegate_detect::injection::{InjectionContext, Verdict};
use tidegate_detect::{Detector, DetectorConfig};

use super::report::{Section, ratio, shown};
use super::{EvalError, rows};

#[derive(Deserialize)]
struct Row {
    id: String,
    source: String,
    label: String,
    text: String,
    style: String,
    surface: String,
    #[serde(default)]
    tier: Option<String>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    all: usize,
    suspicious: usize,
    injections: usize,
    other_half: usize,
    other_half_injections: usize,
}

pub(super) fn measure(data: &Path) -> Result<Vec<Section>, EvalError> {
    let detector = Detector::new(&DetectorConfig::default())?;
    let mut attacks: BTreeMap<(String, String), Counts> = BTreeMap::new();
    let mut tiers: BTreeMap<(String, String), Counts> = BTreeMap::new();
    let mut ordinary: BTreeMap<(String, String), Counts> = BTreeMap::new();
    for row in rows::<Row>(data, "injection.jsonl")? {
        let verdict = detector
            .inspect(row.text.as_bytes(), &InjectionContext::NONE)
            .injection
            .verdict;
        let other_half = is_other_half(&row.id);
        let family = row.source.split(['/', '@', '=']).nth(1).unwrap_or("other");
        if row.label == "inject" {
            let tier = row.tier.unwrap_or_default();
            attacks
                .entry((tier.clone(), row.style))
                .or_default()
                .count(verdict, other_half);
            tiers
                .entry((tier, row.surface))
                .or_default()
                .count(verdict, other_half);
        } else {
            let family = if row.style == "document" {
                "several projects"
            } else {
                family
            };
            let key = (row.style, family.to_owned());
            ordinary.entry(key).or_default().count(verdict, other_half);
        }
    }
    Ok(vec![
        section("Injection: attacks by tier", TIERS, ["Tier", "Surface"], tiers),
        section(
            "Injection: attacks by family",
            ATTACKS,
            ["Tier", "Family"],
            attacks,
        ),
        section("Injection: ordinary text", ORDINARY, ["Kind", "Source"], ordinary),
    ])
}

const TIERS: &str = "Share of attacks with the verdict *injection*, and with *suspicious* or more, from the text alone: no \
                     session, no tool names. The last two columns are the half of the rows (by a hash of the id) whose \
                     misses were not listed while the patterns were written. It is not unseen data: samples of every \
                     family were read from both halves, and alarms on ordinary text were mended in both.";

const ATTACKS: &str = "The same by family. Many rows of the `cse` families are ordinary questions when read without the \
                       system prompt that forbids them, and no detector that sees the text alone can tell.";

const ORDINARY: &str = "Share of ordinary texts that were taken for an attack.";

impl Counts {
    fn count(&mut self, verdict: Verdict, other_half: bool) {
        let injection = usize::from(verdict == Verdict::Injection);
        self.all += 1;
        self.injections += injection;
        self.suspicious += usize::from(verdict != Verdict::Benign);
        if other_half {
            self.other_half += 1;
            self.other_half_injections += injection;
        }
    }
}

fn section(
    title: &str,
    note: &str,
    keys: [&'static str; 2],
    table: BTreeMap<(String, String), Counts>,
) -> Section {
    let [first, second] = keys;
    Section {
        title: title.to_owned(),
        note: note.to_owned(),
        columns: vec![
            first,
            second,
            "Rows",
            "Injection",
            "Suspicious or more",
            "Rows in the other half",
            "Injection there",
        ],
        rows: table
            .into_iter()
            .map(|((first, second), counts)| {
                vec![
                    first,
                    second,
                    counts.all.to_string(),
                    shown(ratio(counts.injections, counts.all)),
                    shown(ratio(counts.suspicious, counts.all)),
                    counts.other_half.to_string(),
                    shown(ratio(counts.other_half_injections, counts.other_half)),
                ]
            })
            .collect(),
    }
}

/// Whether a row is in the half whose misses were not listed while patterns were written.
fn is_other_half(id: &str) -> bool {
    let hash = id.bytes().fold(7_u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    hash >> 3 & 1 == 1
}
