//! The detector: one pass over the bytes, every rule on.

mod literals;
pub(crate) mod resolve;
mod shapes;
mod signs;

use std::fmt;

use tidegate_core::Class;

use crate::candidates::{Hit, RuleDescription, RuleFamily};
use crate::injection::{self, Assessment, InjectionContext, Thresholds};
use crate::internal::InternalNames;
use crate::pii::Pii;
use crate::secrets::{RuleError, SecretRule, Secrets};
use crate::{Confidence, Finding};
use literals::LiteralSet;
use shapes::Shapes;
use signs::BlockSigns;

/// Bytes looked at before the places found in them are judged: small enough to stay in the nearest cache.
const BLOCK: usize = 4096;

const LABELS: usize = 0;
const TRIGGERS: usize = 1;
const FIRST_FAMILY: usize = 2;

/// What a detector is told once. Nothing here can turn a rule off: exits do that, narrowly and on the record.
#[derive(Clone, Debug)]
pub struct DetectorConfig {
    /// Domains whose hosts are internal: `corp.example`.
    pub internal_domains: Vec<String>,
    /// Host names that are internal, with `*` and `?`.
    pub internal_hosts: Vec<String>,
    /// Names of projects and products that are not public.
    pub code_names: Vec<String>,
    /// The user's own credential rules.
    pub secret_rules: Vec<SecretRule>,
    /// How sure a finding must be to be reported.
    pub least_confidence: Confidence,
    /// Where the injection verdict changes.
    pub injection: Thresholds,
}

impl Default for DetectorConfig {
    fn default() -> Self {
        Self {
            internal_domains: Vec::new(),
            internal_hosts: Vec::new(),
            code_names: Vec::new(),
            secret_rules: Vec::new(),
            least_confidence: Confidence::percent(50),
            injection: Thresholds::DEFAULT,
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A name would match too much.
    #[error("internal name `{name}` is too short: it needs three characters in a row without a wildcard")]
    ShortName {
        /// The name as configured.
        name: String,
    },
    /// A credential rule cannot be used.
    #[error("credential rule: {0}")]
    SecretRule(#[from] RuleError),
}

/// What a scan found.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// Findings in order of their place; they do not overlap.
    pub findings: Vec<Finding>,
    /// What findings that overlapped were merged from, in order of their place.
    pub(crate) merged: Vec<Finding>,
}

impl Scan {
    /// Merges what overlaps.
    pub(crate) fn of(raw: Vec<Finding>) -> Self {
        let (findings, merged) = resolve::resolve_with_members(raw);
        Self { findings, merged }
    }

    /// Findings that do not overlap, of which nobody knows any more what they were merged from.
    #[must_use]
    pub const fn settled(findings: Vec<Finding>) -> Self {
        let merged = Vec::new();
        Self { findings, merged }
    }

    /// The highest class of anything found.
    #[must_use]
    pub fn class(&self) -> Class {
        self.findings
            .iter()
            .fold(Class::Public, |class, finding| class.join(finding.class))
    }
}

/// What a scan found, and whether the text gives orders.
#[derive(Clone, Debug, PartialEq)]
pub struct Inspection {
    /// Personal data, credentials, internal names.
    pub scan: Scan,
    /// The injection verdict.
    pub injection: Assessment,
}

/// Every rule, ready to judge any bytes.
pub struct Detector {
    literals: LiteralSet,
    /// The same without what orders are told by: most literals are, and where nobody looks for orders they are in the way.
    without_triggers: LiteralSet,
    pii: Pii,
    families: Vec<Box<dyn RuleFamily>>,
    least: Confidence,
    thresholds: Thresholds,
}

impl Detector {
    /// Prepares every rule.
    ///
    /// # Errors
    /// When an internal name is too short to look for, or a credential rule is wrong.
    pub fn new(config: &DetectorConfig) -> Result<Self, ConfigError> {
        let internal = InternalNames::new(
            &config.internal_domains,
            &config.internal_hosts,
            &config.code_names,
        )
        .map_err(|name| ConfigError::ShortName { name })?;
        let secrets = Secrets::with_rules(config.secret_rules.clone())?;
        let families: Vec<Box<dyn RuleFamily>> = vec![Box::new(internal), Box::new(secrets)];
        let mut literals = vec![Pii::literals(), Vec::new()];
        literals.extend(families.iter().map(|family| family.literals()));
        let without_triggers = LiteralSet::new(&literals);
        if let Some(triggers) = literals.get_mut(TRIGGERS) {
            *triggers = injection::triggers();
        }
        Ok(Self {
            literals: LiteralSet::new(&literals),
            without_triggers,
            pii: Pii::new(config.least_confidence),
            families,
            least: config.least_confidence,
            thresholds: config.injection,
        })
    }

    /// Finds personal data, credentials and internal names.
    #[must_use]
    pub fn scan(&self, text: &[u8]) -> Scan {
        Scan::of(self.scan_unresolved(text))
    }

    /// Finds what [`Detector::scan`] finds and weighs the text for injected orders, in the same pass.
    #[must_use]
    pub fn inspect(&self, text: &[u8], context: &InjectionContext<'_>) -> Inspection {
        let (raw, injection) = self.inspect_unresolved(text, context);
        Inspection {
            scan: Scan::of(raw),
            injection,
        }
    }

    pub(crate) fn inspect_unresolved(
        &self,
        text: &[u8],
        context: &InjectionContext<'_>,
    ) -> (Vec<Finding>, Assessment) {
        let mut triggers = Vec::new();
        let raw = self.pass(text, &self.literals, |hit| {
            if injection::tells(text, &hit) {
                triggers.push(hit);
            }
        });
        triggers.sort_unstable_by_key(|hit| (hit.at.start, hit.at.end, hit.tag));
        let injection = injection::assess(text, &triggers, context, self.thresholds);
        (raw, injection)
    }

    /// Every rule in words.
    #[must_use]
    pub fn rules(&self) -> Vec<RuleDescription> {
        let mut rules = Pii::rules();
        rules.extend(self.families.iter().flat_map(|family| family.rules()));
        rules.sort_by(|a, b| a.rule.cmp(&b.rule));
        rules
    }

    /// One rule in words.
    #[must_use]
    pub fn explain(&self, rule: &str) -> Option<RuleDescription> {
        self.rules()
            .into_iter()
            .find(|description| description.rule.as_str() == rule)
    }

    /// Every finding before overlaps are resolved, by place: which rules fired where, for whoever asks why.
    #[must_use]
    pub fn scan_unresolved(&self, text: &[u8]) -> Vec<Finding> {
        self.pass(text, &self.without_triggers, |_| {})
    }

    fn pass(&self, text: &[u8], literals: &LiteralSet, mut trigger: impl FnMut(Hit)) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut signs = BlockSigns::default();
        let mut shapes = Shapes::default();
        let mut hits = Vec::new();
        for start in (0..text.len()).step_by(BLOCK) {
            let block = start..text.len().min(start + BLOCK);
            let settled = found.len();
            signs.read(text, block);
            shapes.find(&signs);
            self.judge_shapes(text, &shapes, &mut found);
            literals.find(text, &signs, &mut hits);
            for hit in hits.drain(..) {
                let (family, hit) = (
                    hit.family,
                    Hit {
                        at: hit.at,
                        tag: hit.tag,
                    },
                );
                match family {
                    LABELS => self.pii.at_label(text, &hit, &mut found),
                    TRIGGERS => trigger(hit),
                    _ => self.judge(family - FIRST_FAMILY, text, &hit, &mut found),
                }
            }
            // Sorting what one block holds costs less than sorting all of it in the end.
            resolve::settle(&mut found, settled);
        }
        found
    }

    fn judge_shapes(&self, text: &[u8], shapes: &Shapes, found: &mut Vec<Finding>) {
        for at in &shapes.digits {
            self.pii.at_digit(text, *at, found);
        }
        for at in &shapes.capitals {
            self.pii.at_capital(text, *at, found);
        }
        for at in &shapes.ats {
            self.pii.at_sign(text, *at, found);
        }
        for at in &shapes.colons {
            self.pii.at_double_colon(text, *at, found);
        }
    }

    fn judge(&self, family: usize, text: &[u8], hit: &Hit, found: &mut Vec<Finding>) {
        let Some(family) = self.families.get(family) else {
            return;
        };
        let settled = found.len();
        family.verify(text, hit, found);
        let mut at = settled;
        while let Some(finding) = found.get(at) {
            if finding.confidence < self.least || finding.span.is_empty() {
                found.swap_remove(at);
            } else {
                at += 1;
            }
        }
    }
}

impl fmt::Debug for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detector")
            .field("least", &self.least)
            .finish_non_exhaustive()
    }
}
