//! `[detect.model]`: a model that is heard beside the patterns. Absent, there is none.

use std::path::Path;
use std::time::Duration;

use tidegate_classify::{EndpointSettings, OnnxSettings, Scores};
use tidegate_engine::OnFailure;

use super::servers::read_url;
use super::walk::Section;

/// From this score on a text halts its session, unless the file says otherwise.
const THRESHOLD: f32 = 0.9;

const MAX_TIMEOUT_MS: u64 = 25_000;
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// A model and what its opinion does.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// Where it is.
    pub(crate) source: Source,
    /// From this score on a text halts its session.
    pub(crate) threshold: f32,
    /// What holds when it has no opinion.
    pub(crate) on_failure: OnFailure,
}

/// Where a model is.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Behind an OpenAI-compatible interface.
    Endpoint {
        /// Where, and within which bounds.
        settings: EndpointSettings,
        /// The environment variable that holds its key.
        key_variable: Option<String>,
    },
    /// In files on this machine.
    Onnx(OnnxSettings),
}

/// Reads the section. Relative paths in it start from `directory`.
pub(super) fn read(detect: &mut Section<'_, '_>, directory: &Path) -> Option<Model> {
    let mut section = detect.section("model")?;
    let timeout = section
        .count("timeout_ms", 1..=MAX_TIMEOUT_MS)
        .map(Duration::from_millis);
    let max_text = section
        .count("max_text_bytes", 1..=MAX_TEXT_BYTES)
        .and_then(|bytes| usize::try_from(bytes).ok());
    let threshold = threshold(&mut section);
    let on_failure = on_failure(&mut section);
    if section.has("endpoint") == section.has("onnx") {
        section.report().error(
            section.offset,
            "detect.model needs an endpoint or onnx, and not both",
        );
    }
    let source = if section.has("onnx") {
        onnx(&mut section, directory).map(|mut settings| {
            settings.timeout = timeout.unwrap_or(settings.timeout);
            settings.max_text = max_text.unwrap_or(settings.max_text);
            Source::Onnx(settings)
        })
    } else {
        endpoint(&mut section).map(|(mut settings, key_variable)| {
            settings.timeout = timeout.unwrap_or(settings.timeout);
            settings.max_text = max_text.unwrap_or(settings.max_text);
            Source::Endpoint {
                settings,
                key_variable,
            }
        })
    };
    Some(Model {
        source: source?,
        threshold,
        on_failure,
    })
}

fn endpoint(section: &mut Section<'_, '_>) -> Option<(EndpointSettings, Option<String>)> {
    let address = section.text("endpoint");
    let url = address.and_then(|text| read_url(section, text));
    let model = needed(section, "model");
    let key = section.has("api_key_env").then(|| needed(section, "api_key_env"));
    let key = match key {
        Some(key) => Some(key?),
        None => None,
    };
    Some((EndpointSettings::new(url?.as_str(), &model?), key))
}

fn onnx(section: &mut Section<'_, '_>, directory: &Path) -> Option<OnnxSettings> {
    let mut files = section.section("onnx")?;
    let mut path = |key| needed(&mut files, key).map(|text| directory.join(text));
    let (model, tokenizer, library) = (path("model"), path("tokenizer"), path("library"));
    let scores = match files.text("scores").map(|text| (text.value, text.offset)) {
        None | Some(("sigmoid", _)) => Scores::Sigmoid,
        Some(("softmax", _)) => Scores::Softmax,
        Some((_, offset)) => {
            let name = files.name_of("scores");
            let error = format_args!("{name} must be sigmoid or softmax");
            files.report().error(offset, error);
            return None;
        }
    };
    Some(OnnxSettings {
        scores,
        ..OnnxSettings::new(model?, tokenizer?, library?)
    })
}

fn threshold(section: &mut Section<'_, '_>) -> f32 {
    let Some(number) = section.number("threshold") else {
        return THRESHOLD;
    };
    if !(number.value > 0.0 && number.value <= 1.0) {
        let name = section.name_of("threshold");
        section.report().error(
            number.offset,
            format_args!("{name} must be above 0 and at most 1"),
        );
    }
    number.value as f32
}

fn on_failure(section: &mut Section<'_, '_>) -> OnFailure {
    match section.text("on_failure").map(|text| (text.value, text.offset)) {
        None | Some(("raise", _)) => OnFailure::Raise,
        Some(("patterns", _)) => OnFailure::Patterns,
        Some((_, offset)) => {
            let name = section.name_of("on_failure");
            let error = format_args!("{name} must be raise or patterns");
            section.report().error(offset, error);
            OnFailure::Raise
        }
    }
}

pub(super) fn needed(section: &mut Section<'_, '_>, key: &'static str) -> Option<String> {
    let text = section.text(key).filter(|text| !text.trim().is_empty());
    if text.is_none() {
        let name = section.name_of(key);
        section
            .report()
            .error(section.offset_of(key), format_args!("{name} is needed"));
    }
    text.map(|text| (*text).to_owned())
}
