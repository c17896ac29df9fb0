//! Sample values in the schema of a tool.
//!
//! A definition shows what a value may look like: what a form is filled with, what a person may say. Such a request is
//! made by nobody. What still counts there is everything that does harm whoever says it: an override, a role, and a
//! request that names where money or data should go. A text without types is no schema and has no samples, and a value
//! that does not end is none.

use std::ops::Range;

use super::class::{Class, ClassSet};
use super::pattern::Pattern;

/// The members of a schema that hold samples, as they are written before their value.
const MEMBERS: [&str; 6] = [
    "\"default\"",
    "\"example\"",
    "\"examples\"",
    "\"placeholder\"",
    "\"const\"",
    "\"enum\"",
];

/// Whether a pattern finds a request that a sample may make.
pub(super) fn may_ask(pattern: &Pattern) -> bool {
    let targets =
        ClassSet::from(Class::Address) | Class::Link.into() | Class::Account.into() | Class::Money.into();
    matches!(pattern.family(), "plain" | "value" | "task")
        && !pattern.steps.iter().any(|step| step.classes.meets(targets))
}

/// A member that every part of a schema has.
const TYPE: &str = "\"type\"";

/// Where samples stand in a text. It may begin anywhere, also in a string, so members are known by their look.
pub(super) fn samples(text: &str) -> Vec<Range<usize>> {
    let mut samples: Vec<Range<usize>> = Vec::new();
    let mut typed = false;
    for (at, _) in text.match_indices('"') {
        let inside = samples.last().is_some_and(|last| at < last.end);
        let escaped = text.get(..at).is_some_and(|before| before.ends_with('\\'));
        if inside || escaped {
            continue;
        }
        let named = text.get(at..).unwrap_or_default();
        typed |= named.starts_with(TYPE) && value_start(text, at + TYPE.len()).is_some();
        if let Some(member) = MEMBERS.iter().find(|member| named.starts_with(**member)) {
            samples.extend(value_after(text, at + member.len()));
        }
    }
    if typed { samples } else { Vec::new() }
}

/// Where the value stands after a name and its colon.
fn value_start(text: &str, named: usize) -> Option<usize> {
    let rest = text.get(named..)?.trim_start().strip_prefix(':')?.trim_start();
    Some(text.len() - rest.len())
}

/// The string or list that stands after a name and its colon.
fn value_after(text: &str, named: usize) -> Option<Range<usize>> {
    let start = value_start(text, named)?;
    let end = match text.as_bytes().get(start)? {
        b'"' => string_end(text, start)?,
        b'[' => list_end(text, start)?,
        _ => return None,
    };
    Some(start..end)
}

/// The end of the string that begins at a quote, which the closing quote belongs to.
fn string_end(text: &str, start: usize) -> Option<usize> {
    let mut escaped = false;
    let rest = text.get(start + 1..)?;
    for (offset, byte) in rest.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return Some(start + offset + 2),
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

/// The end of the list that begins at a bracket; brackets in its strings do not count.
fn list_end(text: &str, start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => {
                at = string_end(text, at)?;
                continue;
            }
            b'[' => depth += 1,
            b']' if depth <= 1 => return Some(at + 1),
            b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn samples_are_the_values_of_their_members() {
        for (text, wanted) in [
            (
                r#"{"type": "string", "default": "Please open it"}"#,
                vec![r#""Please open it""#],
            ),
            (
                r#"{"examples":["a ] b", ["c"]], "type": 1}"#,
                vec![r#"["a ] b", ["c"]]"#],
            ),
            (
                r#"{"enum":["default", "x"], "const": "y", "type":0}"#,
                vec![r#"["default", "x"]"#, r#""y""#],
            ),
            (r#"{"type": "x", "default": 3, "description": "Please"}"#, vec![]),
            (
                r#"{"type": "x", "description": "the \"default\": \"Please\""}"#,
                vec![],
            ),
            (r#"{"default": "no schema"}"#, vec![]),
            (r#"{"default": "\"type\": is said, not named"}"#, vec![]),
            (r#"{"type": "x", "default": "cut off"#, vec![]),
            (r#"{"type": "x", "examples": ["cut off""#, vec![]),
            (
                r#"end of a text","type":"x"},"m":{"default":"Please"}"#,
                vec![r#""Please""#],
            ),
        ] {
            let found: Vec<_> = samples(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, wanted, "{text}");
        }
    }

    proptest! {
        #[test]
        fn samples_lie_in_the_text_in_order(text in r#"("default"|"examples"|"type"|"x"|:|\[|\]|"|\\|,| |é){0,40}"#) {
            let mut end = 0;
            for sample in samples(&text) {
                prop_assert!(sample.start >= end && text.get(sample.clone()).is_some());
                end = sample.end;
            }
        }
    }
}
