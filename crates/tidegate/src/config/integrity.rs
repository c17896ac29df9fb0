//! How far a tool is believed, and which of its arguments are guarded.

use tidegate_core::{FieldPath, Integrity, Trust, Unknown};

use super::walk::Section;

/// Reads what a tool declares of its integrity.
pub(super) fn read(section: &mut Section<'_, '_>) -> Integrity {
    let trust = section.parsed::<Trust>("trust", &["trusted", "untrusted"]);
    let unknown = section.parsed::<Unknown>("guard_unknown", &["hold", "allow"]);
    let integrity = Integrity {
        trust: trust.map_or(Integrity::UNDECLARED.trust, |at| at.value),
        trusted_fields: paths(section, "trusted_fields"),
        guard: paths(section, "guard"),
        unknown: unknown.map_or(Integrity::UNDECLARED.unknown, |at| at.value),
    };
    warn_of_surprises(&integrity, section);
    integrity
}

fn paths(section: &mut Section<'_, '_>, key: &'static str) -> Vec<FieldPath> {
    let name = section.name_of(key);
    let texts = section.texts(key);
    let read = |text| section.parse::<FieldPath>(&name, text, &[]);
    texts.into_iter().filter_map(read).map(|at| at.value).collect()
}

fn warn_of_surprises(integrity: &Integrity, section: &Section<'_, '_>) {
    let warn = |key: &str, without_effect: bool, why: &str| {
        if without_effect && section.has(key) {
            let name = section.name_of(key);
            let message = format_args!("{name} has no effect: {why}");
            section.report().warn(section.offset_of(key), message);
        }
    };
    let is_trusted = integrity.trust == Trust::Trusted;
    warn(
        "trusted_fields",
        is_trusted,
        "all that the tool returns is trusted",
    );
    warn(
        "guard_unknown",
        integrity.guard.is_empty(),
        "no argument is guarded",
    );
}
