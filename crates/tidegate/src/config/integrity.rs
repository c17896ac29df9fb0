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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Checked, Overrides, Problem, check};
    use super::*;

    fn checked(text: &str) -> Checked {
        let overrides = Overrides {
            data_dir: Some("/nowhere/state".into()),
            ..Overrides::default()
        };
        check(text, Path::new("/nowhere"), &overrides)
    }

    #[test]
    fn a_tool_says_how_far_it_is_believed_and_what_it_guards() {
        let text = "[tools.statements]\nreturns = \"internal\"\ntrusted_fields = [\"*.iban\"]\n\
                    [tools.pay]\nreturns = \"internal\"\nguard = [\"to\", \"cc.*\"]\nguard_unknown = \"allow\"\ntrust = \"trusted\"\n";
        let config = checked(text).config.unwrap();
        let integrity = |name| config.policy.control.find(name).unwrap().integrity.clone();
        let statements = integrity("statements");
        assert_eq!(statements.trust, Trust::Untrusted);
        assert!(statements.is_believed() && statements.guard.is_empty());
        let pay = integrity("pay");
        assert_eq!((pay.trust, pay.unknown), (Trust::Trusted, Unknown::Allow));
        assert_eq!(pay.guard.len(), 2);
        for (line, message) in [
            ("trust = \"somewhat\"", "expected trusted or untrusted"),
            ("guard = [\"a..b\"]", "not a path"),
            ("guard_unknown = \"deny\"", "expected hold or allow"),
            ("gaurd = [\"to\"]", "did you mean guard?"),
            (
                "trust = \"trusted\"\ntrusted_fields = [\"a\"]",
                "trusted_fields has no effect",
            ),
            ("guard_unknown = \"allow\"", "guard_unknown has no effect"),
        ] {
            let problems = checked(&format!("[tools.a]\nreturns = \"internal\"\n{line}\n")).problems;
            let says = |problem: &Problem| problem.line("f").contains(message);
            assert!(problems.iter().any(says), "{line}: {problems:?}");
        }
    }
}
