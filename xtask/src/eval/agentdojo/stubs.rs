//! What an agent has in hand where a value was withheld from it: the stub that stands for it.
//!
//! The traces were recorded with everything in the clear, so their later calls hold values. An agent behind the gateway
//! never saw those that were withheld and passes on what it saw in their place; so does the replay.

use serde_json::Value;

/// The shortest value that is put back as its stub wherever it stands in a longer text.
const TELLING: usize = 4;

/// The stubs that a session was given, with the values they stand for.
#[derive(Default)]
pub(super) struct Stubs(Vec<(String, String)>);

impl Stubs {
    /// Compares what a tool returned with what the agent saw of it.
    pub(super) fn learn(&mut self, returned: &Value, seen: &Value) {
        match (returned, seen) {
            (Value::Array(returned), Value::Array(seen)) => {
                for (returned, seen) in returned.iter().zip(seen) {
                    self.learn(returned, seen);
                }
            }
            (Value::Object(returned), Value::Object(seen)) => {
                for (name, returned) in returned {
                    self.learn(returned, seen.get(name).unwrap_or(&Value::Null));
                }
            }
            (Value::String(value), Value::String(stub)) if value != stub => {
                self.keep(value.clone(), stub.clone());
            }
            (Value::Number(value), Value::String(stub)) => self.keep(value.to_string(), stub.clone()),
            _ => {}
        }
    }

    fn keep(&mut self, value: String, stub: String) {
        let is_stub = stub.starts_with('{') && stub.ends_with('}') && !stub.contains(char::is_whitespace);
        if is_stub && !self.0.iter().any(|(known, _)| *known == value) {
            self.0.push((value, stub));
            self.0.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        }
    }

    /// A call's arguments as the agent would write them.
    pub(super) fn put_into(&self, arguments: &Value) -> Value {
        match arguments {
            Value::Null | Value::Bool(_) => arguments.clone(),
            Value::Number(number) => {
                let text = number.to_string();
                let known = self.0.iter().find(|(value, _)| *value == text);
                known.map_or_else(|| arguments.clone(), |(_, stub)| Value::String(stub.clone()))
            }
            Value::String(text) => Value::String(self.put_into_text(text)),
            Value::Array(items) => items.iter().map(|item| self.put_into(item)).collect(),
            Value::Object(fields) => {
                let put = |(name, value): (&String, &Value)| (name.clone(), self.put_into(value));
                Value::Object(fields.iter().map(put).collect())
            }
        }
    }

    fn put_into_text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, stub) in &self.0 {
            if text == *value {
                return stub.clone();
            }
            if value.len() >= TELLING {
                text = text.replace(value, stub);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_agent_passes_on_what_it_saw() {
        let mut stubs = Stubs::default();
        stubs.learn(
            &json!([{"card": "4237-4252", "name": "Emma", "n": 17}]),
            &json!([{"card": "{CARD_1}", "name": "Emma", "n": "{ID_1}"}]),
        );
        let arguments = json!({"body": "Emma, 4237-4252", "to": ["4237-4252"], "n": 17});
        let expected = json!({"body": "Emma, {CARD_1}", "to": ["{CARD_1}"], "n": "{ID_1}"});
        assert_eq!(stubs.put_into(&arguments), expected);
    }
}
