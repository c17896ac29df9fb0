//! A rule for personal data, in words and as a finding.

use std::ops::Range;

use tidegate_core::Class;

use crate::{Confidence, Finding, FindingKind, RuleDescription, RuleId};

/// One rule for personal data.
pub(crate) struct PiiRule {
    pub(crate) id: &'static str,
    pub(crate) kind: FindingKind,
    pub(crate) class: Class,
    pub(crate) looks_for: &'static str,
    pub(crate) verified_by: &'static str,
}

impl PiiRule {
    pub(crate) const fn personal(
        id: &'static str,
        looks_for: &'static str,
        verified_by: &'static str,
    ) -> Self {
        Self {
            id,
            kind: FindingKind::Pii,
            class: Class::Pii,
            looks_for,
            verified_by,
        }
    }

    pub(crate) const fn internal(
        id: &'static str,
        looks_for: &'static str,
        verified_by: &'static str,
    ) -> Self {
        Self {
            id,
            kind: FindingKind::InternalIp,
            class: Class::Internal,
            looks_for,
            verified_by,
        }
    }

    pub(crate) fn describe(&self) -> RuleDescription {
        RuleDescription {
            rule: RuleId::built_in(self.id),
            looks_for: self.looks_for.to_owned(),
            verified_by: self.verified_by.to_owned(),
        }
    }
}

/// Where verifications put what holds. It drops what is less sure than anyone asked for.
pub(crate) struct Sink<'a> {
    found: &'a mut Vec<Finding>,
    least: Confidence,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(found: &'a mut Vec<Finding>, least: Confidence) -> Self {
        Self { found, least }
    }

    /// Whether a finding this sure would be kept: lets a check stop before its costly part.
    pub(crate) fn wants(&self, percent: u8) -> bool {
        percent >= self.least.as_percent()
    }

    /// How many findings there are, with those of others.
    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    pub(crate) fn push(&mut self, rule: &PiiRule, span: Range<usize>, percent: u8) {
        if self.wants(percent) && !span.is_empty() {
            self.found.push(Finding {
                rule: RuleId::built_in(rule.id),
                kind: rule.kind,
                class: rule.class,
                span,
                confidence: Confidence::percent(percent),
            });
        }
    }
}
