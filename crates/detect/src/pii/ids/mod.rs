//! National and tax ids: one row for each, with its shape, its checksum and the words that name it.
//!
//! A checksum alone is weak evidence when one random number in ten passes it. So each row says how sure it is of a
//! bare number, of one written in its usual groups, and of one with its name nearby.

mod americas;
mod asia;
pub(crate) mod checks;
mod devices;
mod europe;
mod oceania;
pub(crate) mod punctuated;

use super::context::ContextWords;
use super::rule::{PiiRule, Sink};
use super::token::{Candidate, Grouping, MAX_CHARS};

/// One kind of id.
pub(crate) struct IdRule {
    pub(crate) rule: PiiRule,
    /// `9` a digit, `A` a letter, `*` either; one character each.
    pub(crate) shape: &'static str,
    /// Group lengths in which it is usually written, besides solid.
    pub(crate) groupings: &'static [&'static [usize]],
    /// Whether the letters and digits can be such an id.
    pub(crate) holds: fn(&[u8]) -> bool,
    /// How sure a bare solid number is.
    pub(crate) bare: u8,
    /// How sure the usual grouping is.
    pub(crate) grouped: u8,
    /// How sure either is with one of `words` nearby.
    pub(crate) named: u8,
    pub(crate) words: ContextWords,
}

/// Every id rule, by the number of characters it has.
pub(crate) struct IdRules {
    by_length: Vec<Rows>,
}

/// The rules of one length.
#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    /// Every grouping of any of them: most numbers in groups are grouped like none.
    groupings: Vec<Grouping>,
}

struct Row {
    rule: &'static IdRule,
    letters: u64,
    digits: u64,
    groupings: Vec<Grouping>,
}

impl IdRules {
    pub(crate) fn new() -> Self {
        let mut by_length: Vec<Rows> = (0..=MAX_CHARS).map(|_| Rows::default()).collect();
        for rule in all() {
            let mask = |wanted: char| {
                rule.shape
                    .chars()
                    .zip(0..)
                    .fold(0, |mask, (kind, at)| mask | (u64::from(kind == wanted) << at))
            };
            if let Some(rows) = by_length.get_mut(rule.shape.len()) {
                rows.push(Row {
                    rule,
                    letters: mask('A'),
                    digits: mask('9'),
                    groupings: rule
                        .groupings
                        .iter()
                        .map(|lengths| Grouping::of(lengths))
                        .collect(),
                });
            }
        }
        Self { by_length }
    }

    /// Decides about one candidate.
    pub(crate) fn check(&self, text: &[u8], candidate: &Candidate<'_>, sink: &mut Sink<'_>) {
        let Some(rows) = self.by_length.get(candidate.chars.len()) else {
            return;
        };
        if !candidate.is_solid() && !rows.groupings.contains(&candidate.grouping) {
            return;
        }
        for row in &rows.rows {
            let shaped =
                candidate.letters & row.digits == 0 && candidate.letters & row.letters == row.letters;
            let solid = candidate.is_solid();
            if shaped && solid {
                row.rule.check(text, candidate, row.rule.bare, sink);
            } else if shaped && row.groupings.contains(&candidate.grouping) {
                row.rule.check(text, candidate, row.rule.grouped, sink);
            }
        }
    }
}

impl Rows {
    fn push(&mut self, row: Row) {
        let new = row
            .groupings
            .iter()
            .filter(|grouping| !self.groupings.contains(grouping));
        let new: Vec<Grouping> = new.copied().collect();
        self.groupings.extend(new);
        self.rows.push(row);
    }
}

impl IdRule {
    /// Decides about a candidate of which its writing makes so sure.
    fn check(&self, text: &[u8], candidate: &Candidate<'_>, sure: u8, sink: &mut Sink<'_>) {
        if !sink.wants(sure.max(self.named)) || !(self.holds)(candidate.chars) {
            return;
        }
        let sure = if self.named > sure && self.words.near(text, &candidate.span) {
            self.named
        } else {
            sure
        };
        sink.push(&self.rule, candidate.span.clone(), sure);
    }
}

/// Every row.
fn all() -> impl Iterator<Item = &'static IdRule> {
    americas::RULES
        .iter()
        .chain(europe::RULES.into_iter().flatten())
        .chain(asia::RULES.into_iter().flatten())
        .chain(oceania::RULES)
        .chain(devices::RULES)
}

/// The rules of every row and of every punctuation, in words.
pub(crate) fn rules() -> impl Iterator<Item = &'static PiiRule> {
    let punctuated = punctuated::RULES.iter().map(|written| &written.rule);
    all().map(|id| &id.rule).chain(punctuated)
}
