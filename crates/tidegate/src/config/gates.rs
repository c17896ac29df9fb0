//! `[gates]`: how long people are given, and how many of them must agree.

use std::time::Duration;

use tidegate_core::Class;
use tidegate_engine::GateRules;

use super::tools::CLASSES;
use super::walk::Section;

/// A day: nothing that waits longer is worth deciding.
const DAY_SECONDS: u64 = 86_400;

/// Reads the section; what is not said takes its default.
pub(super) fn read(root: &mut Section<'_, '_>) -> GateRules {
    let mut rules = GateRules::STANDARD;
    let Some(mut section) = root.section("gates") else {
        return rules;
    };
    for (key, range, bound) in [
        ("expiry_seconds", 1..=7 * DAY_SECONDS, &mut rules.expiry),
        ("release_seconds", 1..=DAY_SECONDS, &mut rules.release),
        ("wait_seconds", 0..=300, &mut rules.wait),
    ] {
        if let Some(seconds) = section.count(key, range) {
            *bound = Duration::from_secs(seconds);
        }
    }
    if let Some(most) = section.count("per_session", 1..=10_000) {
        rules.per_session = usize::try_from(most).unwrap_or(rules.per_session);
    }
    let name = section.name_of("two_person");
    let classes = section.texts("two_person");
    let classes = classes
        .into_iter()
        .filter_map(|text| section.parse::<Class>(&name, text, &CLASSES));
    rules.two_person = classes.map(|class| class.value).collect();
    rules
}
