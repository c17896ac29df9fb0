//! Findings as SARIF 2.1.0, written as they come: the results first, then the rules they name.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde_json::{Value, json};
use tidegate_core::Class;
use tidegate_detect::{Detector, Finding, FindingKind};
use url::Url;

use super::read::Total;
use super::{Found, Show};
use crate::commands::explain::in_words;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// One SARIF document with one run.
pub(super) struct Sarif<'a> {
    uri: String,
    detector: &'a Detector,
    fired: BTreeSet<String>,
    rows: u64,
}

impl<'a> Sarif<'a> {
    pub(super) fn new(name: &str, detector: &'a Detector) -> Self {
        Self {
            uri: reference(name),
            detector,
            fired: BTreeSet::new(),
            rows: 0,
        }
    }

    fn result(&self, found: &Found<'_>) -> Value {
        let Finding {
            rule,
            kind,
            class,
            span,
            confidence,
        } = found.finding;
        let text = match kind {
            FindingKind::Injection => format!("text that gives the agent orders ({rule})"),
            _ => format!("{class} data of the kind {} ({rule})", kind.as_str()),
        };
        json!({
            "ruleId": rule.as_str(),
            "level": level(*class, *kind),
            "message": { "text": text },
            "locations": [{
                "physicalLocation": {
                    "artifactLocation": { "uri": self.uri },
                    "region": {
                        "startLine": found.start.line,
                        "startColumn": found.start.column,
                        "endLine": found.end.line,
                        "endColumn": found.end.column,
                        "byteOffset": span.start,
                        "byteLength": span.len(),
                    },
                },
            }],
            "rank": f64::from(confidence.as_percent()),
            "properties": { "class": class.as_str(), "kind": kind.as_str() },
        })
    }
}

impl Show for Sarif<'_> {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        write!(
            out,
            "{{\"$schema\":{},\"version\":\"2.1.0\",\"runs\":[{{\"columnKind\":\"unicodeCodePoints\",\"results\":[",
            json!(SCHEMA)
        )
    }

    fn finding(&mut self, found: &Found<'_>, out: &mut dyn Write) -> io::Result<()> {
        let comma = if self.rows == 0 { "" } else { "," };
        self.rows += 1;
        let rule = found.finding.rule.as_str();
        if !self.fired.contains(rule) {
            self.fired.insert(rule.to_owned());
        }
        write!(out, "{comma}\n{}", self.result(found))
    }

    fn end(&mut self, _: &Total, out: &mut dyn Write) -> io::Result<()> {
        let rules: Vec<_> = self
            .fired
            .iter()
            .map(|rule| {
                let (looks_for, verified_by) = in_words(self.detector, rule).unwrap_or_default();
                json!({
                    "id": rule,
                    "shortDescription": { "text": looks_for },
                    "fullDescription": { "text": format!("{looks_for}; checked by: {verified_by}") },
                })
            })
            .collect();
        let tool = json!({ "driver": {
            "name": "tidegate",
            "version": env!("CARGO_PKG_VERSION"),
            "rules": rules,
        } });
        writeln!(out, "],\n\"tool\":{tool}}}]}}")
    }
}

/// A file's name as a URI reference: an absolute path with its scheme, any other relative to wherever the scan ran.
fn reference(name: &str) -> String {
    if let Ok(url) = Url::from_file_path(name) {
        return url.into();
    }
    let Ok(base) = Url::parse("file:///") else {
        return String::new();
    };
    let mut url = base;
    url.set_path(name);
    url.path().trim_start_matches('/').to_owned()
}

/// Sensitive data that has no business in a file is an error; what is merely internal is worth a look.
const fn level(class: Class, kind: FindingKind) -> &'static str {
    match (kind, class) {
        (FindingKind::Injection, _) | (_, Class::Internal | Class::Confidential) => "warning",
        (_, Class::Pii | Class::Secret) => "error",
        (_, Class::Public) => "note",
    }
}
