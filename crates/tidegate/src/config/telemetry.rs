//! `[telemetry]`: where decisions are written and traces are sent.

use std::path::PathBuf;

use tidegate_gateway::telemetry::LogTarget;
use url::Url;

use super::servers::read_url;
use super::walk::Section;

/// What is told to the outside about what the gateway does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Telemetry {
    /// An OpenTelemetry collector.
    pub(crate) otlp_endpoint: Option<Url>,
    /// Where each decision goes, as a line of JSON.
    pub(crate) decision_log: LogTarget,
}

/// Reads the section; by default decisions go to standard error and traces nowhere.
pub(super) fn read(root: &mut Section<'_, '_>) -> (Telemetry, Option<usize>) {
    let mut section = root.section("telemetry");
    let endpoint = section.as_mut().and_then(|section| {
        let text = section.text("otlp_endpoint")?;
        read_url(section, text)
    });
    let log = section.as_mut().and_then(|section| {
        let text = section.text("decision_log")?;
        // Scripts read the address from standard output, and a log without lines is no log.
        if text.trim().is_empty() || matches!(text.value, "stdout" | "off") {
            let name = section.name_of("decision_log");
            section
                .report()
                .error(text.offset, format_args!("{name} must be stderr or a file"));
        }
        Some(text)
    });
    let decision_log = match log.map(|text| text.value) {
        None | Some("stderr") => LogTarget::Stderr,
        Some(path) => LogTarget::File(PathBuf::from(path)),
    };
    let telemetry = Telemetry {
        otlp_endpoint: endpoint,
        decision_log,
    };
    (telemetry, log.map(|text| text.offset))
}
