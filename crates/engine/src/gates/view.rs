//! What may be seen of a gate, and by whom.
//!
//! With a gate itself only names, types and lengths are kept: no value, not even one that no detector knows. Whoever looks at one
//! gate is shown what their role may see of its content, from the evidence vault: values above it are stubs, and out of a session
//! whose label is above it nothing but names, types and lengths, because an agent may have copied what no detector knows.

use serde_json::{Map, Value, json};
use tidegate_core::{Class, Moment, Name};
use tidegate_detect::Finding;
use tidegate_detect::redact::Redactor;
use tidegate_store::{Gate, GateState};

use super::words;
use crate::{Engine, Interrupted, Payload};

/// The highest class of what may stand in a person's own words.
const IN_WORDS: Class = Class::Internal;

/// The most characters of one text that are shown.
const MOST_CHARS: usize = 2_000;
/// The most members or items that are shown in one place.
const MOST_ITEMS: usize = 100;
/// The deepest that is shown.
const MOST_DEPTH: usize = 12;
/// The most bytes that are shown of one gate.
const MOST_BYTES: usize = 32 * 1024;

/// The rule that marks what merely reads like a stub; for a reviewer the stub itself says more.
const LOOKALIKE: &str = "stub-lookalike";

/// A gate as somebody may see it.
#[derive(Clone, Debug)]
pub struct GateView {
    /// The gate.
    pub gate: Gate,
    /// Where it stands now.
    pub state: GateState,
    /// The session's label when it was opened.
    pub label: Class,
    /// Why it was opened.
    pub reason: String,
    /// What somebody who asked for it wrote, where somebody did.
    pub note: Option<String>,
    /// What it is about: names, types and lengths, or what whoever looks may see.
    pub arguments: Value,
    /// Which rules found what class in it, each with how often.
    pub findings: Value,
    /// In plain words, to the agent.
    pub for_agent: String,
    /// In plain words, to the person who decides.
    pub for_person: String,
}

/// What is kept of a gate beside its columns.
pub(super) struct Kept<'a> {
    pub(super) label: Class,
    pub(super) reason: &'a str,
    pub(super) note: Option<&'a str>,
    pub(super) arguments: Value,
    pub(super) findings: &'a [Finding],
}

impl Kept<'_> {
    /// As the store keeps it.
    pub(super) fn written(self) -> String {
        json!({
            "label": self.label.as_str(),
            "reason": self.reason,
            "note": self.note,
            "arguments": self.arguments,
            "findings": counted(self.findings),
        })
        .to_string()
    }
}

impl GateView {
    /// A gate as it is kept.
    pub(super) fn of(gate: Gate, at: Moment) -> Self {
        let document: Value = serde_json::from_str(&gate.document).unwrap_or_default();
        let text = |name: &str| document.get(name).and_then(Value::as_str);
        // What cannot be read is taken for the strictest.
        let label = text("label")
            .and_then(|text| text.parse().ok())
            .unwrap_or(Class::Secret);
        let state = gate.standing(at);
        Self {
            state,
            label,
            reason: text("reason").unwrap_or_default().to_owned(),
            note: text("note").map(str::to_owned),
            arguments: document.get("arguments").cloned().unwrap_or_default(),
            findings: document.get("findings").cloned().unwrap_or_default(),
            for_agent: words::for_agent(&gate, state),
            for_person: words::for_person(&gate, label),
            gate,
        }
    }
}

impl Engine {
    /// What is kept of content with a gate, and what was found in it.
    pub(super) async fn outlined(
        &self,
        source: &Name,
        content: &Payload,
    ) -> Result<(Value, Vec<Finding>), Interrupted> {
        let found = self.inspector.arguments(source, content).await?;
        Ok((self.outline(content), found.findings))
    }

    /// Content as somebody with this clearance may see it, out of a session with this label.
    pub(super) async fn redacted(
        &self,
        source: &Name,
        content: &Payload,
        label: Class,
        clearance: Class,
    ) -> Result<Value, Interrupted> {
        if label > clearance {
            return Ok(self.outline(content));
        }
        let found = self.inspector.arguments(source, content).await?;
        let shown = without(content, &found.findings, clearance)?;
        Ok(fitting(clipped(shown, 0)))
    }

    fn outline(&self, content: &Payload) -> Value {
        // A name may be a value in disguise: what a rule knows, and what is no name, is not repeated.
        let is_name = |key: &str| tidegate_ledger::Name::parse(key).is_ok() && self.inspector.is_plain(key);
        fitting(shape(content.expose(), 0, &is_name))
    }

    /// A person's own words, without what a rule knows for a value.
    pub(super) fn plain_words(&self, words: &str) -> Result<String, Interrupted> {
        let name = Name::parse("reason").map_err(|_| Interrupted)?;
        let found = self
            .inspector
            .again(Some(&name), &Value::String(words.to_owned()))
            .0;
        let payload = Payload::new(Value::String(words.to_owned()));
        Ok(without(&payload, &found.findings, IN_WORDS)?
            .as_str()
            .unwrap_or_default()
            .to_owned())
    }
}

/// Content with stubs in place of everything above a clearance. Stubs that stand in it stay.
fn without(content: &Payload, findings: &[Finding], clearance: Class) -> Result<Value, Interrupted> {
    let (text, is_json) = content.text();
    let above: Vec<_> = findings
        .iter()
        .filter(|finding| finding.class > clearance)
        .cloned()
        .collect();
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|_| Interrupted)?;
    let mut redactor = Redactor::new(key);
    let redacted = match is_json {
        true => redactor.redact_json(&text, &above),
        false => redactor.redact(&text, &above),
    };
    let redacted = redacted.map_err(|_| Interrupted)?;
    let mut shown = Vec::with_capacity(redacted.text.len());
    let mut from = 0;
    for replacement in redacted.replacements {
        if replacement.rule.as_str() != LOOKALIKE {
            continue;
        }
        let before = redacted.text.get(from..replacement.span.start);
        shown.extend_from_slice(before.unwrap_or_default());
        shown.extend_from_slice(&replacement.value.into_exposed());
        from = replacement.span.end;
    }
    shown.extend_from_slice(redacted.text.get(from..).unwrap_or_default());
    match is_json {
        true => serde_json::from_slice(&shown).map_err(|_| Interrupted),
        false => Ok(Value::String(String::from_utf8_lossy(&shown).into_owned())),
    }
}

/// Names, types and lengths.
fn shape(value: &Value, depth: usize, is_name: &impl Fn(&str) -> bool) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Bool(_) => "(yes or no)".into(),
        Value::Number(_) => "(a number)".into(),
        Value::String(text) => format!("(text of {} characters)", text.chars().count()).into(),
        Value::Array(_) | Value::Object(_) if depth >= MOST_DEPTH => "(more)".into(),
        Value::Array(items) => {
            let shown = items.iter().take(MOST_ITEMS);
            shown.map(|item| shape(item, depth + 1, is_name)).collect()
        }
        Value::Object(members) => {
            let mut shown = Map::new();
            for (number, (key, member)) in members.iter().take(MOST_ITEMS).enumerate() {
                let key = match is_name(key) {
                    true => key.clone(),
                    false => format!("(name {})", number + 1),
                };
                shown.insert(key, shape(member, depth + 1, is_name));
            }
            Value::Object(shown)
        }
    }
}

/// The same with what is too long cut off, and said so.
fn clipped(value: Value, depth: usize) -> Value {
    match value {
        Value::String(text) => clipped_text(&text).into(),
        Value::Array(_) | Value::Object(_) if depth >= MOST_DEPTH => "(more)".into(),
        Value::Array(items) => {
            let more = items.len().saturating_sub(MOST_ITEMS);
            let shown = items.into_iter().take(MOST_ITEMS);
            let mut shown: Vec<_> = shown.map(|item| clipped(item, depth + 1)).collect();
            if more > 0 {
                shown.push(format!("(and {more} more)").into());
            }
            Value::Array(shown)
        }
        Value::Object(members) => {
            let more = members.len().saturating_sub(MOST_ITEMS);
            let shown = members.into_iter().take(MOST_ITEMS);
            let mut shown: Map<_, _> = shown
                .map(|(key, member)| (clipped_text(&key), clipped(member, depth + 1)))
                .collect();
            if more > 0 {
                shown.insert("(more)".to_owned(), more.into());
            }
            Value::Object(shown)
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

fn clipped_text(text: &str) -> String {
    let length = text.chars().count();
    if length <= MOST_CHARS {
        return text.to_owned();
    }
    let shown: String = text.chars().take(MOST_CHARS).collect();
    format!("{shown}… (and {} more characters)", length - MOST_CHARS)
}

/// What is more than anyone reads is told by its size alone.
fn fitting(value: Value) -> Value {
    let size = value.to_string().len();
    match size <= MOST_BYTES {
        true => value,
        false => format!("({size} bytes, too much to show here)").into(),
    }
}

/// How often each rule fired, with its class.
fn counted(findings: &[Finding]) -> Value {
    let mut counts: Vec<(&str, &'static str, &'static str, usize)> = Vec::new();
    for finding in findings {
        let rule = finding.rule.as_str();
        if let Some((.., count)) = counts.iter_mut().find(|(known, ..)| *known == rule) {
            *count += 1;
        } else if counts.len() < MOST_ITEMS {
            counts.push((rule, finding.kind.as_str(), finding.class.as_str(), 1));
        }
    }
    let listed = counts.into_iter().map(
        |(rule, kind, class, count)| json!({"rule": rule, "kind": kind, "class": class, "count": count}),
    );
    listed.collect()
}
