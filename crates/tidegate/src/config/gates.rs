//! `[gates]`: how long people are given, and how many of them must agree.

use std::time::Duration;

use tidegate_core::Class;
use tidegate_engine::GateRules;

use super::model::needed;
use super::servers::{read_url, variable};
use super::tools::CLASSES;
use super::walk::Section;

/// How people are asked.
#[derive(Clone, Debug)]
pub(crate) struct Gates {
    /// How long they are given, and how many of them must agree.
    pub(crate) rules: GateRules,
    /// Who is told of it.
    pub(crate) webhook: Option<Webhook>,
}

/// Another program that is told what happens at the gates.
#[derive(Clone, Debug)]
pub(crate) struct Webhook {
    /// Where.
    pub(crate) url: String,
    /// The variable that holds the shared secret.
    pub(crate) secret_variable: String,
}

/// A day: nothing that waits longer is worth deciding.
const DAY_SECONDS: u64 = 86_400;

/// Reads the section; what is not said takes its default.
pub(super) fn read(root: &mut Section<'_, '_>) -> Gates {
    let mut rules = GateRules::STANDARD;
    let Some(mut section) = root.section("gates") else {
        let webhook = None;
        return Gates { rules, webhook };
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
    let webhook = read_webhook(&mut section);
    Gates { rules, webhook }
}

fn read_webhook(section: &mut Section<'_, '_>) -> Option<Webhook> {
    let mut section = section.section("webhook")?;
    needed(&mut section, "url");
    needed(&mut section, "secret_env");
    let url = section.text("url").and_then(|text| read_url(&section, text));
    let secret = section
        .text("secret_env")
        .and_then(|text| variable(&section, &section.name_of("secret_env"), text));
    Some(Webhook {
        url: url?.to_string(),
        secret_variable: secret?,
    })
}
