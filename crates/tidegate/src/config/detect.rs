//! `[detect]`: what the organisation knows that no general pattern can: its names, its own rules, its exceptions.

use std::path::Path;

use tidegate_core::{Class, ControlList, Kind};
use tidegate_detect::exits::{BadExit, Exit, Exits, ValueDigest};
use tidegate_detect::injection::Thresholds;
use tidegate_detect::secrets::{Finds, SecretRule};
use tidegate_detect::{ConfigError, Detector, DetectorConfig, RuleId};

use super::model::{self, Model};
use super::tools::CLASSES;
use super::walk::{At, Section};

/// The fewest bytes in a row that a name must have to be looked for.
const SHORTEST_NAME: usize = 3;

/// Rules of the injection detector begin with this.
const INJECTION: &str = "injection.";

/// What detection is told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Detect {
    /// Names, rules and thresholds.
    pub(crate) detector: DetectorConfig,
    /// What is let through although a rule fires.
    pub(crate) exits: Vec<Exit>,
    /// The model that is heard beside the patterns.
    pub(crate) model: Option<Model>,
}

/// Why detection cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    /// Its rules cannot be used.
    #[error(transparent)]
    Detector(#[from] ConfigError),
    /// Its exits cannot be used.
    #[error(transparent)]
    Exits(#[from] BadExit),
}

impl Detect {
    /// The detector and its exits.
    pub(crate) fn build(&self) -> Result<(Detector, Exits), BuildError> {
        Ok((Detector::new(&self.detector)?, Exits::new(self.exits.clone())?))
    }

    /// Everything that decides what is found and what is let through, in one spelling whatever order it was written in.
    pub(super) fn canonical(&self) -> String {
        let Self {
            detector,
            exits,
            model,
        } = self;
        let mut exits: Vec<_> = exits.iter().map(|exit| format!("{exit:?}")).collect();
        exits.sort_unstable();
        format!("{detector:?} {exits:?} {model:?}")
    }
}

/// Reads the section; absent means that nothing is known.
pub(super) fn read(root: &mut Section<'_, '_>, control: Option<&ControlList>, directory: &Path) -> Detect {
    let Some(mut section) = root.section("detect") else {
        return Detect::default();
    };
    let defaults = DetectorConfig::default();
    let own = rules(&mut section);
    let detector = DetectorConfig {
        internal_domains: texts(
            &mut section,
            "internal_domains",
            "a domain such as corp.example",
            is_domain,
        ),
        internal_hosts: texts(
            &mut section,
            "internal_hosts",
            "a host name such as db-*.corp.example",
            is_host,
        ),
        code_names: texts(
            &mut section,
            "code_names",
            "printable text of 3 to 200 bytes",
            is_code_name,
        ),
        secret_rules: own.iter().map(|rule| rule.value.clone()).collect(),
        injection: threshold(&mut section).unwrap_or(defaults.injection),
        ..defaults
    };
    let exits = exits(&mut section, control);
    // Only these can clash with what is built in, and building every rule takes its time.
    if !own.is_empty() || !exits.is_empty() {
        check_against_built_in(&section, &detector, &own, &exits);
    }
    Detect {
        detector,
        exits: exits.into_iter().map(|exit| exit.value).collect(),
        model: model::read(&mut section, directory),
    }
}

/// What can only be said with every rule at hand: a rule must not take a built-in one's place, and an exit should be
/// for a rule that exists.
fn check_against_built_in(
    section: &Section<'_, '_>,
    config: &DetectorConfig,
    own: &[At<SecretRule>],
    exits: &[At<Exit>],
) {
    let detector = match Detector::new(config) {
        Ok(detector) => detector,
        Err(ConfigError::SecretRule(error)) => {
            let (field, reason) = error.fault();
            let named = |rule: &&At<SecretRule>| error.rule() == Some(rule.id.as_str());
            let offset = own
                .iter()
                .rev()
                .find(named)
                .map_or(section.offset, |rule| rule.offset);
            section
                .report()
                .error(offset, format_args!("detect.rules.{field}: {reason}"));
            return;
        }
        // Each name was looked at when it was read, and its place is known there.
        Err(ConfigError::ShortName { .. }) => return,
    };
    let known = detector.rules();
    for exit in exits {
        let is_known = |rule: &RuleId| known.iter().any(|description| description.rule == *rule);
        if !exit.rule.as_ref().is_some_and(is_known) {
            let warning = "detect.exits.rule names no rule there is, so this exit does nothing";
            section.report().warn(exit.offset, warning);
        }
    }
}

fn texts(
    section: &mut Section<'_, '_>,
    key: &'static str,
    expected: &str,
    fits: impl Fn(&str) -> bool,
) -> Vec<String> {
    let name = section.name_of(key);
    let mut kept = Vec::new();
    for text in section.texts(key) {
        if fits(&text) {
            kept.push(text.to_lowercase());
        } else {
            section
                .report()
                .error(text.offset, format_args!("{name}: each must be {expected}"));
        }
    }
    kept
}

fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        let inner = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        inner && (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
    };
    (SHORTEST_NAME..=253).contains(&text.len()) && text.split('.').all(is_label)
}

fn is_host(text: &str) -> bool {
    let inner = text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-_.*?".contains(&b));
    // A pattern of stars alone would make every name internal.
    let looked_for = text.split(['*', '?']).any(|part| part.len() >= SHORTEST_NAME);
    inner && text.len() <= 253 && looked_for
}

fn is_code_name(text: &str) -> bool {
    text.trim().len() >= SHORTEST_NAME && tidegate_core::Name::parse(text).is_ok()
}

fn threshold(section: &mut Section<'_, '_>) -> Option<Thresholds> {
    if let Some(off) = section.flag("injection_scan").filter(|scan| !scan.value) {
        section.ignore("injection_threshold");
        section.report().warn(
            off.offset,
            "detect.injection_scan is false: content that gives orders to an agent is let in",
        );
        return Some(Thresholds {
            suspicious: f32::INFINITY,
            injection: f32::INFINITY,
        });
    }
    let At { value, offset } = section.number("injection_threshold")?;
    if !(value > 0.0 && value <= 1.0) {
        let name = section.name_of("injection_threshold");
        section
            .report()
            .error(offset, format_args!("{name} must be above 0 and at most 1"));
    }
    let injection = value as f32;
    Some(Thresholds {
        suspicious: Thresholds::DEFAULT.suspicious.min(injection),
        injection,
    })
}

fn exits(section: &mut Section<'_, '_>, control: Option<&ControlList>) -> Vec<At<Exit>> {
    let mut exits: Vec<At<Exit>> = Vec::new();
    for row in section.rows("exits") {
        let (report, offset) = (row.report(), row.offset);
        let Some(value) = exit(row, control) else { continue };
        if exits.iter().any(|known| known.name == value.name) {
            report.error(offset, "detect.exits: two exits let the same thing through");
        }
        exits.push(At { value, offset });
    }
    exits
}

/// An exit must be narrow: there is none for everything a rule finds, which would switch the rule off.
fn exit(mut row: Section<'_, '_>, control: Option<&ControlList>) -> Option<Exit> {
    let rule = required(&mut row, "rule");
    if rule.as_ref().is_some_and(|rule| rule.starts_with(INJECTION)) {
        let name = row.name_of("rule");
        row.report().error(
            row.offset_of("rule"),
            format_args!("{name}: an injection has no exit; a person decides about each"),
        );
    }
    // It is for whoever reads the file; the record holds the exit's name.
    let reason = required(&mut row, "reason");
    let tool = row.text("tool").and_then(|name| known_tool(&row, name, control));
    let value = row.text("value_sha256").and_then(|text| digest(&row, text));
    if !row.has("tool") && !row.has("value_sha256") {
        row.report().error(
            row.offset,
            "an exit must be narrow: name a tool, a value_sha256, or both",
        );
    }
    let (rule, _) = (rule?, reason?);
    if tool.is_none() && value.is_none() {
        return None;
    }
    Some(Exit {
        name: exit_name(&rule, tool.as_deref(), value),
        tool,
        rule: Some(RuleId::new(&rule)),
        value,
    })
}

/// What the record calls an exit: what it is for, such as `email@search_docs#0123456789ab`.
fn exit_name(rule: &str, tool: Option<&str>, value: Option<ValueDigest>) -> String {
    let tool = tool.map(|tool| format!("@{tool}")).unwrap_or_default();
    let value = value
        .map(|value| format!("#{:.12}", value.to_hex()))
        .unwrap_or_default();
    format!("{rule}{tool}{value}")
}

fn known_tool(row: &Section<'_, '_>, name: At<&str>, control: Option<&ControlList>) -> Option<String> {
    let found = control
        .and_then(|list| list.find(&name))
        .map(|tool| tool.name.as_str().to_owned());
    if found.is_none() {
        let key = row.name_of("tool");
        row.report().error(
            name.offset,
            format_args!("{key} names no tool that is declared here"),
        );
    }
    found
}

fn digest(row: &Section<'_, '_>, text: At<&str>) -> Option<ValueDigest> {
    let digest = ValueDigest::from_hex(&text);
    if digest.is_none() {
        let key = row.name_of("value_sha256");
        row.report()
            .error(text.offset, format_args!("{key} must be 64 hexadecimal digits"));
    }
    digest
}

fn rules(section: &mut Section<'_, '_>) -> Vec<At<SecretRule>> {
    let mut rules: Vec<At<SecretRule>> = Vec::new();
    for row in section.rows("rules") {
        let (report, offset) = (row.report(), row.offset);
        let Some(value) = rule(row) else { continue };
        if rules.iter().any(|known| known.id == value.id) {
            report.error(offset, "detect.rules: two rules have one id");
            continue;
        }
        rules.push(At { value, offset });
    }
    rules
}

/// A rule of the organisation's own, if it could be used by itself.
fn rule(mut row: Section<'_, '_>) -> Option<SecretRule> {
    let id = required(&mut row, "id");
    let pattern = required(&mut row, "pattern");
    let description = row.text("description").map(|text| (*text).to_owned());
    let literals = row
        .texts("literals")
        .iter()
        .map(|text| (*text.value).to_owned())
        .collect();
    let ignore_case = row.flag("ignore_case").is_some_and(|flag| *flag);
    let before = row
        .count("before", 0..=u64::from(u16::MAX))
        .and_then(|count| usize::try_from(count).ok());
    let entropy = row.number("entropy").map(|number| *number as f32);
    let confidence = row
        .count("confidence", 50..=100)
        .and_then(|count| u8::try_from(count).ok());
    let finds = finds(&mut row);
    let id = id?;
    let rule = SecretRule {
        description: description.unwrap_or_else(|| id.clone()),
        id,
        literals,
        ignore_case,
        pattern: Some(pattern?),
        before: before.unwrap_or_default(),
        names: Vec::new(),
        value: None,
        ordinary_word: false,
        entropy,
        check: None,
        confidence,
        finds: finds?,
    };
    if let Err(error) = rule.check() {
        let (field, reason) = error.fault();
        let name = row.name_of(field);
        row.report()
            .error(row.offset_of(field), format_args!("{name}: {reason}"));
        return None;
    }
    Some(rule)
}

fn finds(row: &mut Section<'_, '_>) -> Option<Finds> {
    let class = row.parsed::<Class>("class", &CLASSES);
    let given = row.text("kind");
    let kind = given.and_then(|text| Kind::ALL.into_iter().find(|kind| kind.as_str() == text.value));
    if let (Some(text), None) = (given, kind) {
        let key = row.name_of("kind");
        let expected = "must be pii, internal_ip or credentials";
        row.report().error(text.offset, format_args!("{key} {expected}"));
    }
    if !row.has("class") && !row.has("kind") {
        return Some(Finds::default());
    }
    let class = match (class, kind) {
        (Some(class), _) => class.value,
        (None, _) if row.has("class") => return None,
        (None, Some(Kind::Pii)) => Class::Pii,
        (None, Some(Kind::InternalIp)) => Class::Internal,
        (None, Some(Kind::Credentials) | None) => Class::Secret,
    };
    if class == Class::Public {
        row.report().error(
            row.offset_of("class"),
            "detect.rules: a rule that finds public data does nothing",
        );
    }
    Some(Finds {
        class,
        kind: kind.or_else(|| class.kind())?,
    })
}

fn required(row: &mut Section<'_, '_>, key: &'static str) -> Option<String> {
    let text = row.text(key);
    let fits = |text: &At<&str>| !text.trim().is_empty() && text.len() <= 4_096;
    match text.filter(fits) {
        Some(text) => Some((*text).to_owned()),
        None => {
            let name = row.name_of(key);
            row.report().error(
                row.offset_of(key),
                format_args!("{name} is needed, up to 4096 bytes"),
            );
            None
        }
    }
}
