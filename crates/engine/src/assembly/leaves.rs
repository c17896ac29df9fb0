//! The values of a JSON text, as places: what is taken out of a structured chunk whose source may not be seen raw.
//!
//! Detectors find what looks like a value they know; in a record of personal data every value counts, also a name that no
//! list has. Found without building a tree, so depth costs nothing, and in a text that is broken too.

use std::ops::Range;

use tidegate_core::Class;
use tidegate_detect::{Confidence, Finding, FindingKind, RuleId};

/// The most bytes of a field's name that become a stub's.
const LONGEST_NAME: usize = 32;

/// Every value that is text, number or truth value, named after its field. Names of fields and `null` are none.
pub(super) fn leaves(text: &str, class: Class) -> Vec<Finding> {
    let mut field = String::new();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = next_token(text, at) {
        let inner = text.get(token.span.clone()).unwrap_or_default();
        at = token.end;
        if token.is_text
            && text
                .get(at..)
                .is_some_and(|rest| rest.trim_start().starts_with(':'))
        {
            field = stub_name(inner);
        } else if !inner.is_empty() && (token.is_text || inner != "null") {
            found.push(Finding {
                rule: RuleId::new(&field),
                kind: FindingKind::Pii,
                class,
                span: token.span,
                confidence: Confidence::percent(100),
            });
        }
    }
    found
}

struct Token {
    /// What it says, without quotes.
    span: Range<usize>,
    /// Where the text goes on.
    end: usize,
    is_text: bool,
}

fn next_token(text: &str, from: usize) -> Option<Token> {
    let is_between = |c: char| c.is_whitespace() || "{}[],:".contains(c);
    let rest = text.get(from..)?;
    let start = from + rest.find(|c| !is_between(c))?;
    let rest = text.get(start..)?;
    if !rest.starts_with('"') {
        let length = rest.find(|c| is_between(c) || c == '"').unwrap_or(rest.len());
        return Some(Token {
            span: start..start + length,
            end: start + length,
            is_text: false,
        });
    }
    let mut is_escaped = false;
    let closing = rest.bytes().enumerate().skip(1).find(|(_, byte)| {
        let closes = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        closes
    });
    // A text without an end goes on to the end.
    let (inner_end, end) = closing.map_or((text.len(), text.len()), |(at, _)| (start + at, start + at + 1));
    Some(Token {
        span: start + 1..inner_end,
        end,
        is_text: true,
    })
}

/// A field's name as a stub shows it. One that is no plain word may itself be a value.
fn stub_name(field: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    if (1..=LONGEST_NAME).contains(&field.len()) && field.bytes().all(is_plain) {
        field.to_owned()
    } else {
        "field".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let found = leaves(text, Class::Pii);
        let found: Vec<_> = found
            .iter()
            .map(|finding| (finding.rule.as_str(), &text[finding.span.clone()]))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn every_value_is_a_leaf_and_no_name() {
        check(
            r#"{"first_name": "Ana", "n": [1, -2.5e3, true, null], "X Y": {"é": "a\"b"}, "empty": ""}"#,
            &[
                ("first_name", "Ana"),
                ("n", "1"),
                ("n", "-2.5e3"),
                ("n", "true"),
                ("field", r#"a\"b"#),
            ],
        );
        check(r#"{"a": "no end"#, &[("a", "no end")]);
        check(
            r#"{"a": 1"b" "c\\":"d"}"#,
            &[("a", "1"), ("a", "b"), ("field", "d")],
        );
        check("", &[]);
    }

    proptest! {
        #[test]
        fn no_text_of_a_value_stays(values in proptest::collection::vec("[a-z0-9 \\\\\"é]{1,12}", 1..6)) {
            let text = serde_json::json!({"list": values, "one": values[0]}).to_string();
            let mut rest = text.clone();
            for finding in leaves(&text, Class::Pii).into_iter().rev() {
                rest.replace_range(finding.span, "");
            }
            let empty: Vec<_> = values.iter().map(|_| "").collect();
            prop_assert_eq!(rest, serde_json::json!({"list": empty, "one": ""}).to_string());
        }

        #[test]
        fn any_text_is_walked(text in "[{}\\[\\]\":,a\\\\ 1é]{0,40}") {
            for finding in leaves(&text, Class::Pii) {
                prop_assert!(text.get(finding.span).is_some());
            }
        }
    }
}
