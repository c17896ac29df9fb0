//! Where a value stands after a name: what separates the two, and where the value ends.

mod sentence;
mod sibling;

use std::ops::Range;

use super::bounds::behind;
use super::exclude::starts_with_any_case;

/// The longest value that an assignment is followed to.
const LONGEST: usize = 512;

/// The most blanks between a name, its separator and its value.
const BLANKS: usize = 24;

/// How a value is joined to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    /// `name = value`, `name: value`, `"name": "value"`, `name := value`, `name => value`.
    Assigned,
    /// `--name value`: a command line.
    Flag,
    /// `f("name", "value")`: two arguments side by side.
    Argument,
    /// `name value`, `name-value`: nothing but a blank or a dash.
    Loose,
    /// `the name for x is value`: a sentence.
    Sentence,
    /// `| name | value |`: two cells of a table.
    Cell,
}

impl Joint {
    /// Whether people tell the value, rather than a program or its configuration.
    pub(super) fn is_told(self) -> bool {
        matches!(self, Self::Sentence | Self::Cell)
    }
}

/// A value and how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub span: Range<usize>,
    pub joint: Joint,
    pub quoted: bool,
}

/// Finds the value that belongs to the name in `name`.
pub(super) fn value_after(text: &[u8], name: &Range<usize>) -> Option<Value> {
    if let Some(at) = sibling::value_start(text, name) {
        return read(text, at, Joint::Assigned);
    }
    let mut at = name.end;
    skip_closing(text, &mut at);
    let closes_quote = matches!(text.get(name.end), Some(b'"' | b'\'')) && at == name.end + 1;
    let blanks = skip_blanks(text, &mut at);
    if let Some(width) = separator(text, at) {
        at += width;
        skip_blanks(text, &mut at);
        return read(text, at, Joint::Assigned);
    }
    if closes_quote && starts_with_any_case(text.get(at..).unwrap_or_default(), b"value=") {
        return read(text, at + b"value=".len(), Joint::Assigned);
    }
    if closes_quote && text.get(at) == Some(&b',') {
        at += 1;
        skip_blanks(text, &mut at);
        return read(text, at, Joint::Argument).filter(|value| value.quoted);
    }
    if blanks > 0 && text.get(at) == Some(&b'|') && opens_cell(text, name.start) {
        at += 1;
        skip_blanks(text, &mut at);
        return read(text, at, Joint::Cell);
    }
    if blanks > 0 {
        if let Some(at) = sentence::value_start(text, at) {
            return read(text, at, Joint::Sentence).map(|value| without_full_stop(text, value));
        }
        let is_flag = text.get(name.start.saturating_sub(2)..name.start) == Some(b"--");
        return read(text, at, if is_flag { Joint::Flag } else { Joint::Loose });
    }
    None
}

/// Reads the value that begins at `at`, quoted or bare.
fn read(text: &[u8], at: usize, joint: Joint) -> Option<Value> {
    let (start, quote) = opening_quote(text, at);
    let rest = text.get(start..text.len().min(start.saturating_add(LONGEST)))?;
    let length = match quote {
        Some(quote) => rest
            .iter()
            .position(|&byte| byte == quote || byte == b'\n' || byte == b'\r'),
        None => rest.iter().position(|&byte| ends_bare(byte)),
    }
    .unwrap_or(rest.len());
    let length = match quote {
        // In a string inside a string the closing quote is escaped, and the escape is no part of the value.
        Some(_) if rest.get(length.wrapping_sub(1)) == Some(&b'\\') => length - 1,
        _ => length,
    };
    (length > 0).then_some(Value {
        span: start..start + length,
        joint,
        quoted: quote.is_some(),
    })
}

/// Whether a cell of a table opens before a place.
fn opens_cell(text: &[u8], start: usize) -> bool {
    behind(text, start, BLANKS).trim_ascii_end().ends_with(b"|")
}

/// The point that ends a sentence is no part of its last word.
fn without_full_stop(text: &[u8], value: Value) -> Value {
    let ends = text
        .get(value.span.clone())
        .is_some_and(|bytes| bytes.ends_with(b"."));
    let end = value.span.end - usize::from(ends && !value.quoted);
    Value {
        span: value.span.start..end,
        ..value
    }
}

/// Where a value begins behind its opening quote, escaped or prefixed as some languages do, and the quote.
fn opening_quote(text: &[u8], at: usize) -> (usize, Option<u8>) {
    match text
        .get(at..text.len().min(at.saturating_add(3)))
        .unwrap_or_default()
    {
        [quote @ (b'"' | b'\'' | b'`'), ..] => (at + 1, Some(*quote)),
        [
            b'\\' | b'@' | b'b' | b'r' | b'f' | b'u' | b'L' | b'$',
            quote @ (b'"' | b'\''),
            ..,
        ] => (at + 2, Some(*quote)),
        [b'\\', b'\\', quote @ (b'"' | b'\'')] => (at + 3, Some(*quote)),
        _ => (at, None),
    }
}

/// Skips what closes a quoted or bracketed name.
fn skip_closing(text: &[u8], at: &mut usize) {
    let start = *at;
    while *at < start + 3 && matches!(text.get(*at), Some(b'"' | b'\'' | b'`' | b']' | b')' | b'\\')) {
        *at += 1;
    }
}

fn skip_blanks(text: &[u8], at: &mut usize) -> usize {
    let start = *at;
    while *at < start + BLANKS && matches!(text.get(*at), Some(b' ' | b'\t')) {
        *at += 1;
    }
    *at - start
}

/// The width of the separator at `at`, if one stands there.
fn separator(text: &[u8], at: usize) -> Option<usize> {
    match text
        .get(at..text.len().min(at.saturating_add(3)))
        .unwrap_or_default()
    {
        [b'=', b'=', b'='] | [b':', b':', b'='] => Some(3),
        [b':' | b'=' | b'?' | b'!', b'=', ..] | [b'=', b'>', ..] | [b'|', b'|', ..] => Some(2),
        [b'%', b'3', b'D' | b'd'] => Some(3),
        // The colon of Chinese and Japanese text.
        [0xef, 0xbc, 0x9a] => Some(3),
        [b':', b':', ..] => None,
        [b':' | b'=' | b'>', ..] => Some(1),
        _ => None,
    }
}

fn ends_bare(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b',' | b';' | b'&' | b'|')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, expected: Option<(&str, Joint)>) {
        let start = text.find(name).unwrap();
        let value = value_after(text.as_bytes(), &(start..start + name.len()));
        let got = value.map(|value| (&text[value.span], value.joint));
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn separators_and_quotes() {
        check("name=value", "name", Some(("value", Joint::Assigned)));
        check("name : value,", "name", Some(("value", Joint::Assigned)));
        check(
            r#""name": "a value","#,
            "name",
            Some(("a value", Joint::Assigned)),
        );
        check(
            r#"{\"name\":\"value\"}"#,
            "name",
            Some(("value", Joint::Assigned)),
        );
        check("name => 'value'", "name", Some(("value", Joint::Assigned)));
        check("name := `value`", "name", Some(("value", Joint::Assigned)));
        check("--name value", "name", Some(("value", Joint::Flag)));
        check(
            r#"env("name", "value")"#,
            "name",
            Some(("value", Joint::Argument)),
        );
        check("name value", "name", Some(("value", Joint::Loose)));
        check(
            r#"<add key="name" value="value" />"#,
            "name",
            Some(("value", Joint::Assigned)),
        );
        check("<name>value</name>", "name", Some(("value", Joint::Assigned)));
        check("name", "name", None);
        check("name::value", "name", None);
        check("name=\nvalue", "name", None);
        check("name=\"\"", "name", None);
    }
}
