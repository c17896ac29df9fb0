//! Names and values in fields side by side: `{"name": "DB_PASSWORD", "value": "…"}`, `variable "token" { default = "…" }`.

use std::ops::Range;

use super::super::bounds::{ahead, behind};
use super::super::exclude::{ends_with_any_case, starts_with_any_case};

/// The most bytes before a name in which it must turn out to be a value itself.
const BEFORE: usize = 24;

/// The most bytes after a name in which its value must begin.
const AFTER: usize = 160;

/// The most blanks, breaks and braces between two fields.
const GAP: usize = 40;

/// The fields that may stand between a name and its value, such as a type.
const FIELDS: usize = 2;

/// Where the value begins that stands in a field beside the name.
pub(super) fn value_start(text: &[u8], name: &Range<usize>) -> Option<usize> {
    let after = ahead(text, name.end, AFTER);
    // Nothing but the end of its field follows a name that is a value.
    if !matches!(after.first()?, b'"' | b'\'' | b'\\' | b'\n' | b'\r' | b',' | b' ')
        || !is_value(text, name.start)
    {
        return None;
    }
    let mut rest = after;
    for _ in 0..FIELDS {
        rest = next_field(rest)?;
        for field in ["value", "default"] {
            if starts_with_any_case(rest, field.as_bytes())
                && let Some(value) = past_separator(rest.get(field.len()..)?)
            {
                return Some(name.end + after.len() - value.len());
            }
        }
        let end = rest.iter().position(|byte| matches!(byte, b',' | b'\n'))?;
        rest = rest.get(end..)?;
    }
    None
}

/// Whether what stands before a place makes it the value of a field such as `name`, or the name of a variable.
fn is_value(text: &[u8], start: usize) -> bool {
    let before = behind(text, start, BEFORE);
    let quotes = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\'))
            .count()
    };
    let before = before
        .get(..before.len() - quotes(before))
        .unwrap_or_default()
        .trim_ascii_end();
    if ends_with_any_case(before, b"variable") {
        return true;
    }
    let Some((b':' | b'=', label)) = before.split_last() else {
        return false;
    };
    let label = label.trim_ascii_end();
    let label = label.get(..label.len() - quotes(label)).unwrap_or_default();
    ["name", "key"].iter().any(|field| {
        let before = label
            .len()
            .checked_sub(field.len() + 1)
            .and_then(|at| label.get(at));
        ends_with_any_case(label, field.as_bytes()) && !before.is_some_and(u8::is_ascii_alphanumeric)
    })
}

/// From the start of the next field on, past its quote.
fn next_field(rest: &[u8]) -> Option<&[u8]> {
    let between = |byte: &&u8| {
        matches!(
            byte,
            b'"' | b'\'' | b'\\' | b',' | b'{' | b' ' | b'\t' | b'\r' | b'\n'
        )
    };
    let gap = rest.iter().take(GAP).take_while(between).count();
    let skipped = rest.get(..gap)?;
    let parted = skipped.iter().any(|byte| matches!(byte, b',' | b'\n' | b'{'));
    rest.get(gap..).filter(|rest| parted && !rest.is_empty())
}

/// Past the quote, the blanks and the `:` or `=` between a field and its value.
fn past_separator(rest: &[u8]) -> Option<&[u8]> {
    let quotes = rest
        .iter()
        .take(2)
        .take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\'))
        .count();
    let rest = rest.get(quotes..)?.trim_ascii_start();
    let value = rest.strip_prefix(b":").or_else(|| rest.strip_prefix(b"="))?;
    let blanks = value
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    value.get(blanks..)
}

#[cfg(test)]
mod tests {
    use super::value_start;

    fn check(text: &str, expected: Option<&str>) {
        let start = text.find("NAME").unwrap();
        let value = value_start(text.as_bytes(), &(start..start + 4));
        assert_eq!(value.map(|at| &text[at..]), expected, "{text}");
    }

    #[test]
    fn values_beside_names() {
        check("- name: NAME\n  value: \"X\"", Some("\"X\""));
        check("- name: NAME\r\n  value: X", Some("X"));
        check(r#"{"name":"NAME","value":"X"}"#, Some(r#""X"}"#));
        check(r#"{\"Key\": \"NAME\", \"Value\": \"X\"}"#, Some(r#"\"X\"}"#));
        check(
            "variable \"NAME\" {\n  type = string\n  default = \"X\"",
            Some("\"X\""),
        );
        check("- name: NAME\n  valueFrom:\n    secretKeyRef: x", None);
        check("- rename: NAME\n  value: X", None);
        check("NAME\n  value: X", None);
        check("name: NAME value: X", None);
        check("name: NAME\na: 1\nb: 2\nvalue: X", None);
        check("name: NAME", None);
    }
}
