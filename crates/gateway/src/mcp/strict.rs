//! Reading JSON for inspection, so that what is inspected is what everyone else will read.
//!
//! The bytes are forwarded as they came, and readers differ in which of two members with one name they take. So a text
//! that holds such a pair anywhere is not inspected but refused.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// The value of a text in which no object names a member twice.
///
/// # Errors
/// When one does, when it nests too deep, or when it holds a number that has no value.
pub(crate) fn read(raw: &RawValue) -> Result<Value, Unreadable> {
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    Strict.deserialize(&mut deserializer).map_err(|_| Unreadable)
}

/// The values of a text that is JSON, or a sequence of JSON as logs and bulk requests have it, or that has lines which are.
/// What is no JSON is left out, and so are numbers between texts: there is nothing in them that another spelling hides.
///
/// # Errors
/// As [`read`], of any of the values.
pub(crate) fn read_all(text: &str) -> Result<Vec<Value>, Unreadable> {
    let text = text.trim_start_matches(BYTE_ORDER_MARK);
    let (mut found, rest) = sequence(text);
    found.extend(rest.lines().flat_map(|line| sequence(line).0));
    let spelled = |raw: &&RawValue| raw.get().starts_with(['{', '[', '"']);
    found.into_iter().filter(spelled).map(read).collect()
}

/// Some programs begin every text with it, and readers pass over it.
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// The JSON values that a text begins with, and the rest.
fn sequence(text: &str) -> (Vec<&RawValue>, &str) {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let found = values.by_ref().map_while(Result::ok).collect();
    (found, text.get(values.byte_offset()..).unwrap_or_default())
}

/// A text that readers could understand differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the JSON cannot be inspected: a member occurs twice, it nests too deep, or a number is out of range"
)]
pub(crate) struct Unreadable;

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        if let Some(whole) = whole(value) {
            return Ok(Value::Number(whole.into()));
        }
        let number = Number::from_f64(value).ok_or_else(|| E::custom("a number out of range"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Strict)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(Strict)?;
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom("a member occurs twice"));
            }
        }
        Ok(Value::Object(members))
    }
}

/// From here on a number without a fraction is read as its digits. Shorter ones stay as they were written: nothing that
/// is told by its digits alone has so few, and definitions are pinned in this reading.
const LONG: f64 = 1e9;

/// Every whole number below is one of 64 bits.
const WHOLE: f64 = 9_223_372_036_854_775_808.0;

/// The digits of a number that is written with a point or an exponent, and has no fraction.
#[expect(clippy::cast_possible_truncation, reason = "it is whole, and in range")]
fn whole(value: f64) -> Option<i64> {
    let is_whole = value.fract() == 0.0 && (LONG..WHOLE).contains(&value.abs());
    is_whole.then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn check(text: &str) -> Result<Value, Unreadable> {
        read(serde_json::from_str::<&RawValue>(text).unwrap())
    }

    #[test]
    fn pairs_are_found_at_any_depth() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"x":[{"y":{"a":1,"b":2,"a":3}}]}"#,
            r#"{"\u0061":1,"a":2}"#,
        ] {
            assert_eq!(check(text), Err(Unreadable), "{text}");
        }
        assert!(check(&format!("{}{}", "[".repeat(200), "]".repeat(200))).is_err());
        assert_eq!(
            check(r#"{"a":{"a":1},"b":null}"#),
            Ok(json!({"a": {"a": 1}, "b": null}))
        );
    }

    #[test]
    fn digits_are_read_however_they_are_written() {
        for text in ["4111111111111111", "4.111111111111111e15", "4111111111111111.0"] {
            assert_eq!(check(text).unwrap().to_string(), "4111111111111111", "{text}");
        }
        assert_eq!(
            check("-4.111111111111111E+15").unwrap(),
            json!(-4_111_111_111_111_111_i64)
        );
        for text in ["1.0", "2.5", "4111111111.5", "1e300"] {
            assert!(check(text).unwrap().is_f64(), "{text}");
        }
    }

    #[test]
    fn every_value_of_a_sequence_is_read() {
        for (text, values) in [
            ("", vec![]),
            ("just words, 1 [note]", vec![]),
            ("7 true {\"a\":1}", vec![json!({"a": 1})]),
            ("\u{feff}[1]", vec![json!([1])]),
            (r#""a\u0040b""#, vec![json!("a@b")]),
            (
                "{\"x\":1}\n[2]\r\n{\"y\":\n3}",
                vec![json!({"x": 1}), json!([2]), json!({"y": 3})],
            ),
            (
                "{\"x\":\n1} words\n\nmore\n[2] ...\n[",
                vec![json!({"x": 1}), json!([2])],
            ),
        ] {
            assert_eq!(read_all(text), Ok(values), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for text in [
            r#"{"a":1,"a":2}"#,
            "[1]\n{\"a\":1,\"a\":2}",
            "x\n{\"a\":1,\"a\":2}",
            deep.as_str(),
        ] {
            assert_eq!(read_all(text), Err(Unreadable), "{text}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (-1e20..1e20).prop_map(|number: f64| Value::from(number.trunc())),
            "\\PC{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("\\PC{0,4}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// What the plain reader reads, with long whole numbers spelled out.
    fn with_digits(value: Value) -> Value {
        match value {
            Value::Array(items) => items.into_iter().map(with_digits).collect(),
            Value::Object(members) => members
                .into_iter()
                .map(|(name, value)| (name, with_digits(value)))
                .collect(),
            Value::Number(number) if number.is_f64() => digits(&number).unwrap_or(Value::Number(number)),
            other => other,
        }
    }

    fn digits(number: &Number) -> Option<Value> {
        let written = number.as_f64()?;
        let spelled = format!("{written:.0}");
        let long = spelled.trim_start_matches('-').len() >= 10 && written.fract() == 0.0;
        spelled.parse::<i64>().ok().filter(|_| long).map(Value::from)
    }

    proptest! {
        #[test]
        fn reads_what_the_plain_reader_reads(value in any_json()) {
            let text = value.to_string();
            let plain = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(check(&text).unwrap(), with_digits(plain));
        }
    }
}
