//! What a stub looks like, and how it is turned back.

use std::fmt;
use std::ops::Range;

use crate::RuleId;

/// Ends the name of a stub that stands for a bare JSON number, and is therefore written in quotes.
const BARE: &str = "_NUM";
const LONGEST: usize = 80;

/// A name for a value: `{EMAIL_1}`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Stub {
    name: String,
    number: u32,
}

impl Stub {
    pub(super) fn new(name: String, number: u32) -> Self {
        Self { name, number }
    }

    /// Reads a stub as it stands in a text, with its braces.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if length_at(bytes) != Some(bytes.len()) {
            return None;
        }
        let (name, number) = text.strip_prefix('{')?.strip_suffix('}')?.rsplit_once('_')?;
        Some(Self {
            name: name.to_owned(),
            number: number.parse().ok()?,
        })
    }

    /// The part before the number: `EMAIL`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number: which of the session's values of this name.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The stub as the redactor writes it: with quotes if it stands for a bare number.
    pub(super) fn written(&self) -> String {
        if self.name.ends_with(BARE) {
            format!("\"{self}\"")
        } else {
            self.to_string()
        }
    }
}

impl fmt::Display for Stub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}_{}}}", self.name, self.number)
    }
}

impl fmt::Debug for Stub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Puts values back in the place of stubs. `resolve` says what a stub stands for; a stub it does not know stays.
/// Values are not looked into for further stubs.
pub fn restore(text: &[u8], mut resolve: impl FnMut(&Stub) -> Option<Vec<u8>>) -> Vec<u8> {
    let mut restored = Vec::with_capacity(text.len());
    let mut at = 0;
    for span in lookalikes(text) {
        let stub = text
            .get(span.clone())
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .and_then(Stub::parse);
        let Some(stub) = stub else { continue };
        let Some(value) = resolve(&stub) else { continue };
        let quoted = stub.name.ends_with(BARE)
            && span.start > at
            && text.get(span.start - 1) == Some(&b'"')
            && text.get(span.end) == Some(&b'"');
        let (start, end) = if quoted {
            (span.start - 1, span.end + 1)
        } else {
            (span.start, span.end)
        };
        restored.extend_from_slice(text.get(at..start).unwrap_or_default());
        restored.extend_from_slice(&value);
        at = end;
    }
    restored.extend_from_slice(text.get(at..).unwrap_or_default());
    restored
}

/// The name of stubs for a rule's values.
pub(super) fn name_for(rule: &RuleId, bare: bool) -> String {
    let is_name = |letter: char| letter.is_ascii_alphanumeric();
    let mut name: String = rule
        .as_str()
        .chars()
        .take(48)
        .map(|letter| {
            if is_name(letter) {
                letter.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect();
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        name.insert(0, 'X');
    }
    if bare {
        name.push_str(BARE);
    }
    name
}

/// Everything in a text that reads like a stub.
pub(super) fn lookalikes(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    memchr::memchr_iter(b'{', text)
        .filter_map(|at| length_at(text.get(at..).unwrap_or_default()).map(|length| at..at + length))
}

/// The length of the stub that starts a text, if one does.
fn length_at(text: &[u8]) -> Option<usize> {
    let body = text.strip_prefix(b"{")?;
    let length = body
        .iter()
        .take(LONGEST)
        .take_while(|byte| is_part(**byte))
        .count();
    let name = body.get(..length)?;
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let numbered =
        (1..=9).contains(&digits) && length > digits + 1 && name.get(length - digits - 1) == Some(&b'_');
    let named = name.first().is_some_and(u8::is_ascii_uppercase);
    (numbered && named && body.get(length) == Some(&b'}')).then_some(length + 2)
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stubs_read_back() {
        for text in ["{EMAIL_1}", "{US_SSN_12}", "{CREDIT_CARD_NUM_3}"] {
            assert_eq!(Stub::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "EMAIL_1",
            "{email_1}",
            "{EMAIL}",
            "{_1}",
            "{EMAIL_1",
            "{EMAIL_}",
            "{EMAIL_1234567890}",
            "{}",
        ] {
            assert_eq!(Stub::parse(text), None, "{text}");
        }
    }
}
