//! What filters ask about an event.

use std::borrow::Cow;

use serde::Deserialize;
use tidegate_core::Class;

use crate::Event;

/// What filters ask about one event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct About<'a> {
    pub(super) kind: Cow<'a, str>,
    pub(super) class: Option<u8>,
    pub(super) tool: Option<Cow<'a, str>>,
}

impl<'a> About<'a> {
    pub(super) fn of(event: &'a [u8]) -> Self {
        Self::glimpsed(event).unwrap_or_else(|| Self::read(event))
    }

    /// The same of an event that every call leaves. A gateway under load leaves thousands of them in a second, and
    /// reading each in full takes longer than all the rest of indexing it.
    fn glimpsed(event: &'a [u8]) -> Option<Self> {
        let seen: Glimpse<'a> = serde_json::from_slice(event).ok()?;
        let (class, tool) = match seen.kind {
            "context_assembly" => (seen.data_class, None),
            "tool_argument_construction" => (seen.data_class, Some(seen.tool_id?)),
            "decision" => (seen.label, Some(seen.tool?)),
            _ => return None,
        };
        let class: Class = class?.parse().ok()?;
        Some(Self {
            kind: seen.kind.into(),
            class: Some(class.rank()),
            tool: tool.map(Cow::Borrowed),
        })
    }

    fn read(event: &[u8]) -> Self {
        match serde_json::from_slice::<Event>(event) {
            Ok(event) => Self {
                kind: event.type_name().to_owned().into(),
                class: event.class().map(Class::rank),
                tool: event.tool().map(|tool| tool.to_string().into()),
            },
            Err(_) => Self {
                kind: serde_json::from_slice::<Typed>(event)
                    .map_or(Cow::Borrowed(""), |typed| typed.kind.into()),
                class: None,
                tool: None,
            },
        }
    }
}

/// A few members of an event, as far as they are written without escapes.
#[derive(Deserialize)]
struct Glimpse<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    data_class: Option<&'a str>,
    label: Option<&'a str>,
    tool: Option<&'a str>,
    tool_id: Option<&'a str>,
}

/// An event of a type this version does not know still has one.
#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;
    use crate::event::{
        ContextAssembly, Decision, ExitUsed, FieldNames, Origin, ToolArgumentConstruction, Verdict,
    };
    use crate::name::DigestKey;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn events(class: Class) -> [Event; 4] {
        [
            ContextAssembly {
                run_id: name("s"),
                data_class: class,
                source_id: name("files.read"),
                redaction_applied: false,
                chunk_hash: DigestKey::derive(&[1; 32]).digest(b"chunk"),
                origin: Origin::TaskData,
                evidence_pointer: None,
            }
            .into(),
            ToolArgumentConstruction {
                run_id: name("s"),
                tool_id: name("web.post"),
                data_class: class,
                argument_field_names: FieldNames::new(["to", "text"]),
                authorized_sink_verified: false,
            }
            .into(),
            Decision {
                tool: name("web.post"),
                decision: Verdict::Deny,
                rule: name("ceiling"),
                label: class,
                argument_class: Some(Class::Public),
                contamination_source: Some(name("files.read")),
                policy_version: name("v1"),
            }
            .into(),
            ExitUsed {
                run_id: name("s"),
                exit: name("e"),
                rule: name("r"),
                tool: name("t"),
            }
            .into(),
        ]
    }

    #[test]
    fn a_glimpse_sees_what_a_reader_reads() {
        for class in Class::ALL {
            for event in events(class) {
                let text = serde_json::to_vec(&event).unwrap();
                assert_eq!(About::of(&text), About::read(&text), "{}", event.type_name());
                let is_frequent = !matches!(event, Event::ExitUsed(_));
                assert_eq!(About::glimpsed(&text).is_some(), is_frequent);
            }
        }
    }

    #[test]
    fn what_cannot_be_glimpsed_is_read() {
        for text in [
            r#"{"type":"decision"}"#,
            r#"{"type":"decision","tool":"t","label":"unheard-of"}"#,
            r#"{"type":"context_assembly","data_class":"p\u0069i"}"#,
            r#"{"type":"something new","tool":"t"}"#,
            r#"{"tool":"t"}"#,
            "",
        ] {
            let text = text.as_bytes();
            assert_eq!(About::of(text), About::read(text));
        }
    }
}
