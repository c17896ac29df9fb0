//! Does a text give orders to the agent that reads it?
//!
//! A text is cut into blocks. Each block is brought into its plain reading, its words are sorted by meaning, and patterns
//! over these meanings add up to a score from 0 to 1 (see `score`), together with what was learned about the choice of words
//! (see `learned`); what stands encoded in the text is decoded and weighed the same way. Since most text holds no order
//! at all, a gate decides from literals found in the shared pass and from cheap tests on the bytes which blocks are worth
//! weighing; [`assess_plain`] weighs them all and must come to the same verdict.

mod blocks;
mod class;
mod context;
mod described;
mod entity;
mod gate;
mod hints;
#[doc(hidden)]
pub mod learned;
mod lexicon;
mod marks;
mod near;
mod pattern;
mod sample;
mod score;
mod shape;
mod token;
mod typo;
mod value;
mod words;

use std::ops::Range;

use tidegate_core::Class as DataClass;

pub use context::{InjectionContext, KnownValues, Surface, ToolNames};
#[cfg(test)]
pub(crate) use gate::phrases;
pub use gate::{tells, triggers};

use crate::candidates::Hit;
use crate::decode::{Limits, decode};
use crate::{Confidence, Finding, FindingKind, RuleId};
use gate::Selected;
use score::Evidence;

/// Where the verdict changes, as scores from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// From here on a text is worth a second look.
    pub suspicious: f32,
    /// From here on a text is taken for an injection.
    pub injection: f32,
}

impl Thresholds {
    /// The thresholds that the published figures were measured with.
    pub const DEFAULT: Self = Self {
        suspicious: 0.35,
        injection: 0.5,
    };
}

/// What a score means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Nothing that gives orders.
    Benign,
    /// Something that may.
    Suspicious,
    /// An attempt to give the agent orders.
    Injection,
}

impl Verdict {
    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Benign => "benign",
            Self::Suspicious => "suspicious",
            Self::Injection => "injection",
        }
    }
}

/// The answer for one text.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// How sure the detector is that the text gives orders, from 0 to 1.
    pub score: f32,
    /// What that means under the thresholds given.
    pub verdict: Verdict,
    /// The patterns that speak for the verdict, in the bytes of the text. Empty when the verdict is benign.
    pub findings: Vec<Finding>,
}

/// Weighs the blocks of a text that the gate points at. `hits` are those of [`triggers`], in order of their place.
#[must_use]
pub fn assess(
    text: &[u8],
    hits: &[Hit],
    context: &InjectionContext<'_>,
    thresholds: Thresholds,
) -> Assessment {
    let reader = Reader::of(text, context);
    let mut selected = gate::select(text, hits, &reader, thresholds.suspicious);
    // The first block of the highest score is the worst: one that cannot reach it need not be weighed.
    selected.sort_by(|a, b| b.most.total_cmp(&a.most));
    let mut worst = Worst::default();
    for Selected { block, most } in selected {
        if score::highest(most, context) < worst.score {
            break;
        }
        worst.weigh_block(text, block, &reader);
    }
    conclude(worst, text, &reader, thresholds)
}

/// Weighs every block of a text. Slower than [`assess`], and the measure of it.
#[must_use]
pub fn assess_plain(text: &[u8], context: &InjectionContext<'_>, thresholds: Thresholds) -> Assessment {
    let reader = Reader::of(text, context);
    let mut worst = Worst::default();
    for block in blocks::blocks(text) {
        worst.weigh_block(text, block, &reader);
    }
    conclude(worst, text, &reader, thresholds)
}

/// Up to this length a text is read word by word wherever it stands; of longer ones, the blocks that have a word which calls for
/// attention.
const READ_CLOSELY: usize = 16 * 1024;

/// How a text is read.
struct Reader<'a> {
    context: InjectionContext<'a>,
    /// Whether every word counts.
    closely: bool,
}

impl<'a> Reader<'a> {
    const fn of(text: &[u8], context: &InjectionContext<'a>) -> Self {
        Self {
            context: *context,
            closely: text.len() <= READ_CLOSELY,
        }
    }
}

/// The worst block so far.
#[derive(Default)]
struct Worst {
    evidence: Evidence,
    score: f32,
    start: usize,
}

impl Worst {
    fn weigh_block(&mut self, text: &[u8], block: Range<usize>, reader: &Reader<'_>) {
        let mut evidence = score::weigh(text.get(block.clone()).unwrap_or_default(), reader);
        for (_, span) in &mut evidence.patterns {
            *span = span.start + block.start..span.end + block.start;
        }
        let score = evidence.score();
        if score > self.score || score == self.score && block.start < self.start {
            *self = Self {
                evidence,
                score,
                start: block.start,
            };
        }
    }
}

/// Weighs what stands encoded in the text, and comes to a verdict.
fn conclude(worst: Worst, text: &[u8], reader: &Reader<'_>, thresholds: Thresholds) -> Assessment {
    let mut worst = worst.evidence;
    for decoded in decode(text, Limits::of_text(text)) {
        for block in blocks::blocks(decoded.text.as_bytes()) {
            if let Some(part) = decoded.text.get(block) {
                keep_worse(
                    &mut worst,
                    score::weigh_decoded(part, decoded.encoding, &decoded.span, reader),
                );
            }
        }
    }
    verdict(worst, thresholds)
}

fn keep_worse(worst: &mut Evidence, evidence: Evidence) {
    if evidence.score() > worst.score() {
        *worst = evidence;
    }
}

fn verdict(evidence: Evidence, thresholds: Thresholds) -> Assessment {
    let score = evidence.score();
    let verdict = if score >= thresholds.injection {
        Verdict::Injection
    } else if score >= thresholds.suspicious {
        Verdict::Suspicious
    } else {
        Verdict::Benign
    };
    let findings = match verdict {
        Verdict::Benign => Vec::new(),
        Verdict::Suspicious | Verdict::Injection => findings(&evidence, score),
    };
    Assessment {
        score,
        verdict,
        findings,
    }
}

fn findings(evidence: &Evidence, score: f32) -> Vec<Finding> {
    let percent = (score.clamp(0.0, 1.0) * 100.0) as u8;
    evidence
        .patterns
        .iter()
        .map(|(pattern, span)| Finding {
            rule: RuleId::new(&format!("injection.{pattern}")),
            kind: FindingKind::Injection,
            class: DataClass::Public,
            span: span.clone(),
            confidence: Confidence::percent(percent),
        })
        .collect()
}
