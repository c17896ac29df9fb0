//! The texts in a JSON value, each with its place.

use serde_json::Value;
use tidegate_core::Step;

/// A text in a JSON value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leaf<'a> {
    /// A text, or a number as it is written.
    Value(&'a str),
    /// The name of a field. Its place is that of the object which has the field.
    Name(&'a str),
}

impl<'a> Leaf<'a> {
    pub(super) const fn text(self) -> &'a str {
        match self {
            Self::Value(text) | Self::Name(text) => text,
        }
    }
}

/// Visits every text and number, and every name of a field, with the place where it stands. What a server wrapped for the
/// wire (its structured result, a text that is JSON) is visited as what it holds, from its own root.
pub(super) fn visit(value: &Value, visit: &mut dyn FnMut(&[Step<'_>], Leaf<'_>)) {
    walk(value, &mut Vec::new(), visit);
}

fn walk<'v>(value: &'v Value, place: &mut Vec<Step<'v>>, visit: &mut dyn FnMut(&[Step<'_>], Leaf<'_>)) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => visit(place, Leaf::Value(&number.to_string())),
        Value::String(text) => match wrapped(text, place) {
            Some(inner) => walk(&inner, &mut Vec::new(), visit),
            None => visit(place, Leaf::Value(text)),
        },
        Value::Array(items) => {
            place.push(Step::Item);
            for item in items {
                walk(item, place, visit);
            }
            place.pop();
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                if place.is_empty() && name == "structuredContent" {
                    walk(value, &mut Vec::new(), visit);
                    continue;
                }
                visit(place, Leaf::Name(name));
                place.push(Step::Key(name));
                walk(value, place, visit);
                place.pop();
            }
        }
    }
}

/// The value in a text that stands for a whole result.
fn wrapped(text: &str, place: &[Step<'_>]) -> Option<Value> {
    let is_whole = matches!(place, [] | [Step::Key("content"), Step::Item, Step::Key("text")]);
    let looks = text.trim_start().starts_with(['{', '[']);
    (is_whole && looks)
        .then(|| serde_json::from_str(text).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tidegate_core::FieldPath;

    #[test]
    fn a_result_is_the_same_however_it_is_wrapped() {
        let result = json!([{"iban": "GB1", "note": "x"}]);
        let path: FieldPath = "*.iban".parse().unwrap();
        let wrappings = [
            result.clone(),
            json!(result.to_string()),
            json!({"content": [{"type": "text", "text": result.to_string()}]}),
            json!({"structuredContent": result}),
        ];
        for content in wrappings {
            let mut found = Vec::new();
            visit(&content, &mut |place, leaf| {
                if path.covers(place) {
                    found.push(leaf.text().to_owned());
                }
            });
            assert_eq!(found, ["GB1"], "{content}");
        }
    }
}
