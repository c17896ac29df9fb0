//! `[telemetry]`: where decisions are written and traces are sent.

use std::path::PathBuf;

use url::Url;

use super::servers::read_url;
use super::walk::Section;

/// What is told to the outside about what the gateway does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Telemetry {
    /// An OpenTelemetry collector.
    pub(crate) otlp_endpoint: Option<Url>,
    /// Where each decision goes, as a line of JSON.
    pub(crate) decision_log: DecisionLog,
}

/// Where each decision goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DecisionLog {
    /// Beside the gateway's own messages.
    Stderr,
    /// After the line that says where the gateway listens.
    Stdout,
    /// At the end of a file.
    File(PathBuf),
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
        if text.trim().is_empty() {
            let name = section.name_of("decision_log");
            section.report().error(
                text.offset,
                format_args!("{name} must be stderr, stdout or a file"),
            );
        }
        Some(text)
    });
    let decision_log = match log.map(|text| text.value) {
        None | Some("stderr") => DecisionLog::Stderr,
        Some("stdout") => DecisionLog::Stdout,
        Some(path) => DecisionLog::File(PathBuf::from(path)),
    };
    let telemetry = Telemetry {
        otlp_endpoint: endpoint,
        decision_log,
    };
    (telemetry, log.map(|text| text.offset))
}
