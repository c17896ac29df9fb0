//! Looking into content: what is in it, and whether it gives orders. The one place where detectors meet policy.

use std::sync::Arc;

use tidegate_core::{Class, Ident, Kinds, Name};
use tidegate_detect::exits::Exits;
use tidegate_detect::injection::{Assessment, InjectionContext, Surface, ToolNames, Verdict};
use tidegate_detect::{Detector, Finding, Inspection, Scan};
use tidegate_ledger::event::{Event, ExitUsed};

use crate::Payload;
use crate::payload::text_of;
use crate::provenance::spelled;

/// From this size on, looking is done where blocking is allowed, so that one large answer does not hold up others.
const LARGE_BYTES: usize = 128 * 1024;

/// The detector and the exits from it.
pub(crate) struct Inspector {
    detector: Detector,
    exits: Exits,
    tools: ToolNames,
}

/// How a text is to be read.
#[derive(Clone, Copy)]
enum Reading {
    /// JSON that was written here: every escape in it is one.
    Written,
    /// What others wrote. Whoever gets it may take it as it stands, or parse it.
    Foreign,
}

impl Reading {
    const fn of(is_json: bool) -> Self {
        match is_json {
            true => Self::Written,
            false => Self::Foreign,
        }
    }
}

/// What was found in a text.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// What was found and counts, in the text that was looked at.
    pub(crate) findings: Vec<Finding>,
    /// What was found and an exit let pass, each with the exit's name.
    pub(crate) let_through: Vec<(String, Finding)>,
    /// Whether the text gives orders; arguments are not asked.
    pub(crate) injection: Option<Assessment>,
    /// The class that others than the detectors raise it to.
    pub(crate) raised: Class,
}

impl Found {
    /// The highest class of what counts.
    pub(crate) fn class(&self) -> Class {
        self.findings
            .iter()
            .fold(self.raised, |class, finding| class.join(finding.class))
    }

    /// The kinds of what counts.
    pub(crate) fn kinds(&self) -> Kinds {
        self.findings
            .iter()
            .filter_map(|finding| finding.kind.contaminates())
            .chain(self.raised.kind())
            .collect()
    }

    /// The assessment, when it is one that halts.
    pub(crate) fn hostile(&self) -> Option<&Assessment> {
        self.injection
            .as_ref()
            .filter(|assessment| assessment.verdict == Verdict::Injection)
    }

    /// What the record says of the exits that were used.
    pub(crate) fn exit_events(&self, run: &Ident, tool: &Name) -> impl Iterator<Item = Event> {
        self.let_through.iter().map(move |(exit, finding)| {
            Event::from(ExitUsed {
                run_id: run.into(),
                exit: tidegate_ledger::Name::or_unnameable(exit),
                rule: tidegate_ledger::Name::or_unnameable(finding.rule.as_str()),
                tool: spelled(tool),
            })
        })
    }
}

impl Inspector {
    pub(crate) fn new(detector: Detector, exits: Exits, tools: impl IntoIterator<Item = String>) -> Self {
        Self {
            detector,
            exits,
            tools: ToolNames::new(tools),
        }
    }

    /// Looks into a call's arguments.
    pub(crate) async fn arguments(
        self: &Arc<Self>,
        tool: &Name,
        arguments: &Payload,
    ) -> Result<Found, Interrupted> {
        let looked = self.look(Some(tool), arguments, false).await;
        looked.map(|(found, _)| found)
    }

    /// Looks into a tool's answer, and gives the text that findings point into. Where nobody knows which of several tools
    /// gave it, here and below, there is no `tool`.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        tool: Option<&Name>,
        content: &Payload,
    ) -> Result<(Found, Vec<u8>), Interrupted> {
        self.look(tool, content, true).await
    }

    /// Looks into a piece of a context, and says whether it reads as JSON.
    pub(crate) async fn chunk(
        self: &Arc<Self>,
        source: &Name,
        text: &str,
        with_injection: bool,
    ) -> Result<(Found, bool), Interrupted> {
        let is_json = text.trim_start().starts_with(['{', '[']);
        if text.len() < LARGE_BYTES {
            let found = self.look_at(Some(source), text.as_bytes(), Reading::Foreign, with_injection);
            return Ok((found, is_json));
        }
        let (inspector, source, text) = (Arc::clone(self), source.clone(), text.to_owned());
        let looking = tokio::task::spawn_blocking(move || {
            inspector.look_at(Some(&source), text.as_bytes(), Reading::Foreign, with_injection)
        });
        let found = looking.await.map_err(|_| Interrupted)?;
        Ok((found, is_json))
    }

    /// Looks again into what is left of an answer, where blocking is allowed. Says whether it was looked at as JSON.
    pub(crate) fn again(&self, tool: Option<&Name>, left: &serde_json::Value) -> (Found, bool) {
        let (text, is_json) = text_of(left);
        (self.look_at(tool, &text, Reading::of(is_json), false), is_json)
    }

    async fn look(
        self: &Arc<Self>,
        tool: Option<&Name>,
        content: &Payload,
        with_injection: bool,
    ) -> Result<(Found, Vec<u8>), Interrupted> {
        let (text, is_json) = content.text();
        let reading = Reading::of(is_json);
        if text.len() < LARGE_BYTES {
            let found = self.look_at(tool, &text, reading, with_injection);
            return Ok((found, text));
        }
        let (inspector, tool) = (Arc::clone(self), tool.cloned());
        let looking = tokio::task::spawn_blocking(move || {
            let found = inspector.look_at(tool.as_ref(), &text, reading, with_injection);
            (found, text)
        });
        looking.await.map_err(|_| Interrupted)
    }

    fn look_at(&self, tool: Option<&Name>, text: &[u8], reading: Reading, with_injection: bool) -> Found {
        let context = InjectionContext {
            tools: Some(&self.tools),
            known: None,
            surface: Surface::TaskData,
        };
        let (scan, injection) = match (with_injection, reading) {
            (true, Reading::Written) => split(self.detector.inspect_json(text, &context)),
            (true, Reading::Foreign) => split(self.detector.inspect_any(text, &context)),
            (false, Reading::Written) => (self.detector.scan_json(text), None),
            (false, Reading::Foreign) => (self.detector.scan_any(text), None),
        };
        let exited = self.exits.apply(text, tool.map(Name::as_str), scan);
        Found {
            findings: exited.kept,
            let_through: exited.let_through,
            injection,
            raised: Class::Public,
        }
    }

    /// A text as logs may show it: with the names of rules in place of what they know. It keeps its lines.
    pub(crate) fn loggable(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut at = 0;
        for finding in self.detector.scan_any(text.as_bytes()).findings {
            shown.push_str(text.get(at..finding.span.start).unwrap_or_default());
            shown.push_str(&format!("[{}]", finding.rule));
            let known = text.get(finding.span.start..finding.span.end);
            shown.extend(known.unwrap_or_default().matches('\n'));
            at = finding.span.end;
        }
        shown.push_str(text.get(at..).unwrap_or_default());
        shown
    }

    /// Whether a text holds nothing that a rule knows: what a record may name.
    pub(crate) fn is_plain(&self, text: &str) -> bool {
        self.detector.scan_any(text.as_bytes()).findings.is_empty()
    }
}

fn split(inspection: Inspection) -> (Scan, Option<Assessment>) {
    (inspection.scan, Some(inspection.injection))
}

/// The thread that was looking is gone. What was not looked at does not pass.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("looking into the content was interrupted, so it does not pass")]
pub struct Interrupted;

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_detect::DetectorConfig;

    #[test]
    fn a_log_line_names_what_it_leaves_out() {
        let detector = Detector::new(&DetectorConfig::default()).unwrap();
        let inspector = Inspector::new(detector, Exits::NONE, []);
        for (line, shown) in [
            ("listening on port 7000", "listening on port 7000"),
            ("row: bob@example.com é!", "row: [email] é!"),
            (r#"{"to":"bob\u0040example.com"}"#, r#"{"to":"[email]"}"#),
        ] {
            assert_eq!(inspector.loggable(line), shown);
        }
        let key = format!(
            "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
            "MIIEpAIBAAKCAQEA".repeat(4)
        );
        let shown = inspector.loggable(&format!("before\n{key}\nafter"));
        assert!(!shown.contains("MIIE"), "{shown}");
        let lines: Vec<_> = shown.split('\n').collect();
        assert_eq!((lines.len(), lines[0], lines[4]), (5, "before", "after"));
    }

    #[test]
    fn what_programs_call_themselves_is_plain() {
        let detector = Detector::new(&DetectorConfig::default()).unwrap();
        let inspector = Inspector::new(detector, Exits::NONE, []);
        for (name, version) in [
            ("claude-ai", "0.1.0"),
            ("claude-code", "2.0.14"),
            ("Claude", "1.0"),
            ("Visual Studio Code", "1.105.1"),
            ("cursor-vscode", "1.0.0"),
            ("codex-mcp-client", "0.46.0"),
            ("gemini-cli-mcp-client", "0.0.1"),
            ("mcp-inspector", "0.17.0"),
            ("Cline", "3.32.7"),
            ("Zed", "0.207.4"),
            ("goose", "1.9.3"),
            ("mcp", "0.1.0"),
            ("example-client", "20260728"),
        ] {
            let said = format!("{name}\n{name}\n{version}");
            assert!(inspector.is_plain(&said), "{said}");
        }
    }
}
