//! `[detect]`: what the organisation knows that no general pattern can: its names, its own rules, its exceptions.

use tidegate_core::{Class, ControlList, Kind, Name};

use super::tools::CLASSES;
use super::walk::{At, Section};

/// The largest program that one rule's pattern may compile to.
const PATTERN_BYTES: usize = 1 << 20;

/// What detection is told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Detect {
    /// Domains of the organisation; each covers its subdomains.
    pub(crate) internal_domains: Vec<String>,
    /// Host names of the organisation; `*` stands for any characters.
    pub(crate) internal_hosts: Vec<String>,
    /// Project and product names that are not public.
    pub(crate) code_names: Vec<String>,
    /// From which score on, 0 to 1, content counts as an injection; `None` leaves it to the detector.
    pub(crate) injection_threshold: Option<f64>,
    /// What is let through although a rule fires.
    pub(crate) exits: Vec<Exit>,
    /// The organisation's own rules.
    pub(crate) rules: Vec<DetectRule>,
}

/// A narrow exception to one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    /// The rule that shall not count.
    pub(crate) rule: String,
    /// Where.
    pub(crate) scope: ExitScope,
    /// Why, for the record.
    pub(crate) reason: String,
}

/// How far an exit reaches. There is none for everything: switching a rule off is not an exception to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExitScope {
    /// In one tool's results and arguments.
    Tool(Name),
    /// For one value, by its SHA-256, everywhere.
    Value([u8; 32]),
    /// For one value in one tool.
    ToolValue(Name, [u8; 32]),
}

/// A rule of the organisation's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DetectRule {
    /// What findings call it.
    pub(crate) id: String,
    /// A regular expression that is known to compile.
    pub(crate) pattern: String,
    /// The class of what it finds.
    pub(crate) class: Class,
    /// The kind of what it finds.
    pub(crate) kind: Kind,
}

/// Reads the section; absent means that nothing is known.
pub(super) fn read(root: &mut Section<'_, '_>, control: Option<&ControlList>) -> Detect {
    let Some(mut section) = root.section("detect") else {
        return Detect {
            internal_domains: Vec::new(),
            internal_hosts: Vec::new(),
            code_names: Vec::new(),
            injection_threshold: None,
            exits: Vec::new(),
            rules: Vec::new(),
        };
    };
    if !section.is_empty() {
        section.report().warn(
            section.offset,
            "[detect] is checked, but this version does not act on it yet",
        );
    }
    Detect {
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
        injection_threshold: threshold(&mut section),
        exits: section
            .rows("exits")
            .into_iter()
            .filter_map(|row| exit(row, control))
            .collect(),
        rules: rules(&mut section),
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
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_host(text: &str) -> bool {
    let inner = text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-_.*".contains(&b));
    // A pattern of stars alone would make every name internal.
    inner && text.len() <= 253 && text.bytes().filter(u8::is_ascii_alphanumeric).count() >= 2
}

fn is_code_name(text: &str) -> bool {
    text.trim().len() >= 3 && Name::parse(text).is_ok()
}

fn threshold(section: &mut Section<'_, '_>) -> Option<f64> {
    let At { value, offset } = section.number("injection_threshold")?;
    if !(value > 0.0 && value <= 1.0) {
        let name = section.name_of("injection_threshold");
        section
            .report()
            .error(offset, format_args!("{name} must be above 0 and at most 1"));
    }
    Some(value)
}

fn exit(mut row: Section<'_, '_>, control: Option<&ControlList>) -> Option<Exit> {
    let rule = required(&mut row, "rule");
    let reason = required(&mut row, "reason");
    let tool = row.text("tool").and_then(|name| known_tool(&row, name, control));
    let value = row.text("value_sha256").and_then(|text| digest(&row, text));
    let scope = match (tool, value) {
        (Some(tool), None) => Some(ExitScope::Tool(tool)),
        (None, Some(value)) => Some(ExitScope::Value(value)),
        (Some(tool), Some(value)) => Some(ExitScope::ToolValue(tool, value)),
        (None, None) => {
            if !row.has("tool") && !row.has("value_sha256") {
                row.report().error(
                    row.offset,
                    "an exit must be narrow: name a tool, a value_sha256, or both",
                );
            }
            None
        }
    };
    Some(Exit {
        rule: rule?,
        scope: scope?,
        reason: reason?,
    })
}

fn known_tool(row: &Section<'_, '_>, name: At<&str>, control: Option<&ControlList>) -> Option<Name> {
    let found = control
        .and_then(|list| list.find(&name))
        .map(|tool| tool.name.clone());
    if found.is_none() {
        let key = row.name_of("tool");
        row.report().error(
            name.offset,
            format_args!("{key} names no tool that is declared here"),
        );
    }
    found
}

fn digest(row: &Section<'_, '_>, text: At<&str>) -> Option<[u8; 32]> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let hex = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
    let digest = bytes.filter(|_| hex).and_then(|bytes| bytes.try_into().ok());
    if digest.is_none() {
        let key = row.name_of("value_sha256");
        row.report()
            .error(text.offset, format_args!("{key} must be 64 hexadecimal digits"));
    }
    digest
}

fn rules(section: &mut Section<'_, '_>) -> Vec<DetectRule> {
    let mut rules: Vec<DetectRule> = Vec::new();
    for row in section.rows("rules") {
        let (report, offset) = (row.report(), row.offset);
        let Some(rule) = rule(row) else { continue };
        if rules.iter().any(|known| known.id == rule.id) {
            report.error(offset, "detect.rules: two rules have one id");
        }
        rules.push(rule);
    }
    rules
}

fn rule(mut row: Section<'_, '_>) -> Option<DetectRule> {
    let id = required(&mut row, "id");
    let pattern_at = row.offset_of("pattern");
    let pattern = required(&mut row, "pattern").filter(|pattern| {
        let compiled = regex::RegexBuilder::new(pattern)
            .size_limit(PATTERN_BYTES)
            .build();
        let matches_nothing_much = compiled.as_ref().is_ok_and(|regex| regex.is_match(""));
        if compiled.is_err() || matches_nothing_much {
            let key = row.name_of("pattern");
            let wanted = "a regular expression of moderate size that does not match the empty text";
            row.report()
                .error(pattern_at, format_args!("{key} must be {wanted}"));
        }
        compiled.is_ok()
    });
    let class = row.parsed::<Class>("class", &CLASSES);
    let kind = row.text("kind").and_then(|text| {
        let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == text.value);
        if kind.is_none() {
            let key = row.name_of("kind");
            row.report().error(
                text.offset,
                format_args!("{key} must be pii, internal_ip or credentials"),
            );
        }
        kind
    });
    if !row.has("class") {
        row.report()
            .error(row.offset, "detect.rules: each rule needs a class");
    }
    let class = class?.value;
    if class == Class::Public {
        row.report().error(
            row.offset_of("class"),
            "detect.rules: a rule that finds public data does nothing",
        );
    }
    Some(DetectRule {
        id: id?,
        pattern: pattern?,
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
