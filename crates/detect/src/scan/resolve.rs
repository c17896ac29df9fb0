//! What becomes of findings that overlap.
//!
//! Findings that share bytes form a cluster, and a cluster becomes one finding: the strongest rule names it, and it
//! covers everything any of them covered. So no byte that some rule called sensitive is left in the clear, and no
//! cluster is classed below its highest member. Strongest is: the higher class; of the same class the one that
//! contains the other; then the surer; then the longer; then the earlier; then the rule's name.

use std::cmp::Ordering;

use crate::Finding;

/// Merges overlapping findings as they come, so that a stream need not be held until its end.
#[derive(Default)]
pub(crate) struct Resolver {
    cluster: Vec<Finding>,
    end: usize,
    /// Where the members of clusters are kept, if they are asked for.
    merged: Option<Vec<Finding>>,
}

impl Resolver {
    /// Takes the next finding; they must come sorted by start. Gives back the cluster before it if that is complete.
    pub(crate) fn push(&mut self, finding: Finding) -> Option<Finding> {
        let done = if finding.span.start >= self.end {
            self.finish()
        } else {
            None
        };
        self.end = self.end.max(finding.span.end);
        self.cluster.push(finding);
        done
    }

    /// Gives back the last cluster.
    pub(crate) fn finish(&mut self) -> Option<Finding> {
        if self.cluster.len() <= 1 {
            // What nothing overlaps is what it is.
            return self.cluster.pop();
        }
        let start = self.cluster.first()?.span.start;
        if let Some(merged) = &mut self.merged {
            merged.extend_from_slice(&self.cluster);
        }
        let mut strongest = self.cluster.drain(..).max_by(by_strength)?;
        strongest.span = start..self.end;
        Some(strongest)
    }
}

/// Sorts findings and merges those that overlap.
pub(crate) fn resolve(raw: Vec<Finding>) -> Vec<Finding> {
    resolve_by(&mut Resolver::default(), raw)
}

/// The same, and every finding that was merged with another, by place.
pub(crate) fn resolve_with_members(raw: Vec<Finding>) -> (Vec<Finding>, Vec<Finding>) {
    let mut resolver = Resolver {
        merged: Some(Vec::new()),
        ..Resolver::default()
    };
    let findings = resolve_by(&mut resolver, raw);
    (findings, resolver.merged.unwrap_or_default())
}

fn resolve_by(resolver: &mut Resolver, mut raw: Vec<Finding>) -> Vec<Finding> {
    if !raw.is_sorted_by(|a, b| by_place(a, b).is_le()) {
        raw.sort_unstable_by(by_place);
    }
    let mut findings = Vec::with_capacity(raw.len());
    for finding in raw {
        findings.extend(resolver.push(finding));
    }
    findings.extend(resolver.finish());
    findings
}

/// Brings findings in order of which the first `settled` are. Those after them may start before some of these, but not far:
/// so few of them take part.
pub(crate) fn settle(findings: &mut [Finding], settled: usize) {
    let (before, new) = findings.split_at(settled.min(findings.len()));
    let Some(first) = new.iter().min_by(|a, b| by_place(a, b)) else {
        return;
    };
    let from = before.partition_point(|known| by_place(known, first).is_le());
    if let Some(unsettled) = findings.get_mut(from..) {
        unsettled.sort_unstable_by(by_place);
    }
}

/// By start; the rest only makes the order complete.
pub(crate) fn by_place(a: &Finding, b: &Finding) -> Ordering {
    a.span
        .start
        .cmp(&b.span.start)
        .then_with(|| b.span.end.cmp(&a.span.end))
        .then_with(|| a.rule.cmp(&b.rule))
}

fn by_strength(a: &Finding, b: &Finding) -> Ordering {
    a.class
        .cmp(&b.class)
        .then_with(|| by_containment(a, b))
        .then_with(|| a.confidence.cmp(&b.confidence))
        .then_with(|| a.span.len().cmp(&b.span.len()))
        .then_with(|| b.span.start.cmp(&a.span.start))
        .then_with(|| b.rule.cmp(&a.rule))
}

fn by_containment(a: &Finding, b: &Finding) -> Ordering {
    let contains = |outer: &Finding, inner: &Finding| {
        outer.span.start <= inner.span.start && inner.span.end <= outer.span.end && outer.span != inner.span
    };
    contains(a, b).cmp(&contains(b, a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Confidence, FindingKind, RuleId};
    use proptest::prelude::*;
    use tidegate_core::Class;

    fn finding((class, start, len, percent): (u8, usize, usize, u8)) -> Finding {
        Finding {
            rule: RuleId::new(&format!("rule-{class}-{percent}")),
            kind: FindingKind::Pii,
            class: Class::from_rank(class).unwrap(),
            span: start..start + len,
            confidence: Confidence::percent(percent),
        }
    }

    fn check(raw: &[(u8, usize, usize, u8)], expected: &[(u8, usize, usize)]) {
        let resolved = resolve(raw.iter().copied().map(finding).collect());
        let short: Vec<_> = resolved
            .iter()
            .map(|found| (found.class.rank(), found.span.start, found.span.end))
            .collect();
        assert_eq!(short, expected, "{raw:?}");
    }

    #[test]
    fn clusters_become_one() {
        check(&[(3, 0, 5, 80), (3, 5, 5, 80)], &[(3, 0, 5), (3, 5, 10)]);
        check(&[(3, 0, 6, 80), (4, 5, 5, 50)], &[(4, 0, 10)]);
        check(&[(3, 0, 20, 60), (3, 5, 5, 99)], &[(3, 0, 20)]);
        check(
            &[(1, 3, 4, 90), (3, 0, 10, 90), (1, 12, 2, 90)],
            &[(3, 0, 10), (1, 12, 14)],
        );
    }

    proptest! {
        #[test]
        fn what_settles_part_by_part_is_in_order(
            raw in proptest::collection::vec((0..5u8, 0..60usize, 1..12usize, 0..=100u8), 0..30),
            parts in 1..5usize,
        ) {
            let mut plainly: Vec<_> = raw.iter().copied().map(finding).collect();
            let mut settling = Vec::new();
            for part in plainly.chunks(parts) {
                let settled = settling.len();
                settling.extend_from_slice(part);
                settle(&mut settling, settled);
            }
            plainly.sort_by(by_place);
            prop_assert!(settling.iter().zip(&plainly).all(|(a, b)| by_place(a, b).is_eq()));
        }

        #[test]
        fn nothing_found_is_left_uncovered_or_classed_lower(
            raw in proptest::collection::vec((0..5u8, 0..60usize, 1..12usize, 0..=100u8), 0..30),
        ) {
            let findings: Vec<_> = raw.iter().copied().map(finding).collect();
            let resolved = resolve(findings.clone());
            for found in &findings {
                let covers = |kept: &&Finding| {
                    kept.span.start <= found.span.start && found.span.end <= kept.span.end
                };
                let cover = resolved.iter().find(covers);
                prop_assert!(cover.is_some_and(|kept| kept.class >= found.class));
            }
            for pair in resolved.windows(2) {
                prop_assert!(pair[0].span.end <= pair[1].span.start);
            }
        }
    }
}
