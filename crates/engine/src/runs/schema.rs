//! What a child may answer: declared before it has seen anything, and small enough to count.
//!
//! Every value carries bits, whatever it is called, so a declaration is a promise of at most so many. Free text cannot be
//! declared: it carries whatever its writer has seen.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// One declared value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// True or false.
    Boolean,
    /// A whole number between two others, both included.
    Integer {
        /// The lowest.
        minimum: i64,
        /// The highest.
        maximum: i64,
    },
    /// One of these.
    Enum(Vec<String>),
}

impl Field {
    fn read(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        if let Some(options) = object.get("enum") {
            let options: Option<Vec<_>> = options
                .as_array()?
                .iter()
                .map(|option| option.as_str().map(str::to_owned))
                .collect();
            return (object.len() == 1).then_some(Self::Enum(options?));
        }
        match object.get("type")?.as_str()? {
            "boolean" if object.len() == 1 => Some(Self::Boolean),
            "integer" if object.len() == 3 => Some(Self::Integer {
                minimum: object.get("minimum")?.as_i64()?,
                maximum: object.get("maximum")?.as_i64()?,
            }),
            _ => None,
        }
    }

    fn written(&self) -> Value {
        match self {
            Self::Boolean => json!({"type": "boolean"}),
            Self::Integer { minimum, maximum } => {
                json!({"type": "integer", "minimum": minimum, "maximum": maximum})
            }
            Self::Enum(options) => json!({"enum": options}),
        }
    }

    fn is_sound(&self) -> bool {
        match self {
            Self::Boolean => true,
            Self::Integer { minimum, maximum } => minimum <= maximum,
            Self::Enum(options) => {
                let mut sorted: Vec<_> = options.iter().collect();
                sorted.sort_unstable();
                sorted.dedup();
                let is_short = |option: &String| option.len() <= MOST_OPTION_BYTES;
                sorted.len() == options.len()
                    && (1..=MOST_OPTIONS).contains(&options.len())
                    && options.iter().all(is_short)
            }
        }
    }

    /// How many bits tell its values apart, rounded up.
    fn bits(&self) -> u32 {
        let values = match self {
            Self::Boolean => 2,
            Self::Integer { minimum, maximum } => maximum.abs_diff(*minimum).into(),
            Self::Enum(options) => options.len() as u128,
        };
        let last = match self {
            Self::Integer { .. } => values,
            Self::Boolean | Self::Enum(_) => values.saturating_sub(1),
        };
        u128::BITS - last.leading_zeros()
    }

    fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Boolean, Value::Bool(_)) => true,
            (Self::Integer { minimum, maximum }, Value::Number(number)) => {
                // A fraction or an exponent is another spelling of the same number, and a spelling carries bits.
                number.as_i64().is_some_and(|n| (minimum..=maximum).contains(&&n))
            }
            (Self::Enum(options), Value::String(text)) => options.contains(text),
            (Self::Boolean | Self::Integer { .. } | Self::Enum(_), _) => false,
        }
    }
}

/// Everything a child may answer: all of these values, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerSchema(BTreeMap<String, Field>);

/// Why something declares no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an answer is declared by at most 32 names of 1 to 64 bytes, each with {{\"type\": \"boolean\"}}, {{\"type\": \"integer\", \
     \"minimum\": .., \"maximum\": ..}} or {{\"enum\": [..]}} of at most 256 different texts of at most 64 bytes"
)]
pub struct BadSchema;

const MOST_FIELDS: usize = 32;
const MOST_NAME_BYTES: usize = 64;
const MOST_OPTIONS: usize = 256;
const MOST_OPTION_BYTES: usize = 64;

impl AnswerSchema {
    /// Reads a declaration.
    ///
    /// # Errors
    /// When it is none, or goes beyond its bounds.
    pub fn read(fields: &Map<String, Value>) -> Result<Self, BadSchema> {
        if fields.len() > MOST_FIELDS {
            return Err(BadSchema);
        }
        let mut declared = BTreeMap::new();
        for (name, field) in fields {
            let is_name = (1..=MOST_NAME_BYTES).contains(&name.len());
            let field = Field::read(field).filter(|field| is_name && field.is_sound());
            declared.insert(name.clone(), field.ok_or(BadSchema)?);
        }
        Ok(Self(declared))
    }

    /// The most bits that an answer can carry: the sum of what its values can.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.0.values().map(Field::bits).sum()
    }

    /// Whether these are the declared values, each within its bounds, and nothing else.
    #[must_use]
    pub fn takes(&self, values: &Map<String, Value>) -> bool {
        let fits =
            |(name, field): (&String, &Field)| values.get(name).is_some_and(|value| field.takes(value));
        self.0.len() == values.len() && self.0.iter().all(fits)
    }

    pub(super) fn written(&self) -> Vec<u8> {
        let fields = self.0.iter().map(|(name, field)| (name.clone(), field.written()));
        Value::Object(fields.collect()).to_string().into_bytes()
    }

    pub(super) fn restored(bytes: &[u8]) -> Option<Self> {
        let value: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        Self::read(&value).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(value: Value) -> Result<AnswerSchema, BadSchema> {
        AnswerSchema::read(value.as_object().unwrap())
    }

    #[test]
    fn bits_are_counted_upwards() {
        for (declared, bits) in [
            (json!({}), 0),
            (json!({"a": {"type": "boolean"}}), 1),
            (json!({"a": {"enum": ["only"]}}), 0),
            (json!({"a": {"enum": ["x", "y", "z"]}}), 2),
            (json!({"a": {"type": "integer", "minimum": 0, "maximum": 255}}), 8),
            (json!({"a": {"type": "integer", "minimum": 0, "maximum": 256}}), 9),
            (json!({"a": {"type": "integer", "minimum": 7, "maximum": 7}}), 0),
            (
                json!({"a": {"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX}}),
                64,
            ),
            (json!({"a": {"type": "boolean"}, "b": {"enum": ["x", "y"]}}), 2),
        ] {
            let read = schema(declared.clone()).unwrap();
            assert_eq!(read.bits(), bits, "{declared}");
            assert_eq!(AnswerSchema::restored(&read.written()), Some(read));
        }
    }

    #[test]
    fn free_text_cannot_be_declared() {
        let many: Vec<_> = (0..300).map(|n| n.to_string()).collect();
        for bad in [
            json!({"a": {"type": "string"}}),
            json!({"a": {"type": "number", "minimum": 0, "maximum": 1}}),
            json!({"a": {"type": "integer"}}),
            json!({"a": {"type": "integer", "minimum": 2, "maximum": 1}}),
            json!({"a": {"type": "integer", "minimum": 0.5, "maximum": 1}}),
            json!({"a": {"enum": []}}),
            json!({"a": {"enum": ["x", "x"]}}),
            json!({"a": {"enum": [1, 2]}}),
            json!({"a": {"enum": many}}),
            json!({"a": {"enum": ["y".repeat(65)]}}),
            json!({"a": {"enum": ["y"], "type": "string"}}),
            json!({"": {"type": "boolean"}}),
            json!({"a": "boolean"}),
        ] {
            assert_eq!(schema(bad.clone()), Err(BadSchema), "{bad}");
        }
    }

    #[test]
    fn only_declared_values_are_taken() {
        let declared = schema(json!({
            "ok": {"type": "boolean"}, "n": {"type": "integer", "minimum": -1, "maximum": 3}, "e": {"enum": ["x", "y"]},
        }))
        .unwrap();
        let takes = |value: Value| declared.takes(value.as_object().unwrap());
        assert!(takes(json!({"ok": true, "n": -1, "e": "y"})));
        for bad in [
            json!({"ok": true, "n": -1}),
            json!({"ok": true, "n": -1, "e": "y", "more": "text"}),
            json!({"ok": "true", "n": -1, "e": "y"}),
            json!({"ok": true, "n": 4, "e": "y"}),
            json!({"ok": true, "n": 1.0, "e": "y"}),
            json!({"ok": true, "n": 1, "e": "Y"}),
            json!({"ok": null, "n": 1, "e": "y"}),
        ] {
            assert!(!takes(bad.clone()), "{bad}");
        }
    }

    proptest::proptest! {
        /// A declaration of so many bits tells at most so many answers apart.
        #[test]
        fn bits_bound_the_answers(low in -20i64..20, width in 0i64..40, options in 1usize..9, flag in proptest::bool::ANY) {
            let names: Vec<_> = (0..options).map(|n| format!("o{n}")).collect();
            let mut fields = json!({"n": {"type": "integer", "minimum": low, "maximum": low + width}, "e": {"enum": names}});
            if flag {
                fields["b"] = json!({"type": "boolean"});
            }
            let bits = schema(fields).unwrap().bits();
            let answers = (width as u64 + 1) * options as u64 * if flag { 2 } else { 1 };
            proptest::prop_assert!(answers <= 1 << bits);
        }
    }
}
