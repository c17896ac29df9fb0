//! What travels through the engine: JSON that cannot print.

use std::fmt;

use serde_json::Value;

use crate::written::written;

/// A call's arguments or a tool's answer. `Debug` shows its shape's name only; there is no `Display`.
#[derive(Clone, PartialEq)]
pub struct Payload(Value);

impl Payload {
    /// Takes content in.
    #[must_use]
    pub const fn new(value: Value) -> Self {
        Self(value)
    }

    /// The content itself, for the one who is about to scan or release it.
    #[must_use]
    pub const fn expose(&self) -> &Value {
        &self.0
    }

    /// The content as text to look into, and whether that is JSON: a plain string is looked at as it reads.
    pub(crate) fn text(&self) -> (Vec<u8>, bool) {
        text_of(&self.0)
    }

    /// The content as one text: a string as it reads, anything else as JSON.
    pub(crate) fn into_text(self) -> String {
        match self.0 {
            Value::String(text) => text,
            value => value.to_string(),
        }
    }

    /// The names of the fields at the top, never their values.
    pub(crate) fn field_names(&self) -> impl Iterator<Item = &str> {
        self.0
            .as_object()
            .into_iter()
            .flat_map(|object| object.keys().map(String::as_str))
    }

    /// Takes the content out.
    #[must_use]
    pub fn into_exposed(self) -> Value {
        self.0
    }
}

/// A value as text to look into, and whether that is JSON.
pub(crate) fn text_of(value: &Value) -> (Vec<u8>, bool) {
    match value {
        Value::String(text) => (text.clone().into_bytes(), false),
        value => (written(value), true),
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match &self.0 {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        write!(f, "Payload({shape})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_content() {
        let payload = Payload::new(serde_json::json!({"canary-key": "canary-value"}));
        assert_eq!(format!("{payload:?}"), "Payload(an object)");
    }
}
