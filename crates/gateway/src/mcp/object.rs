//! A JSON object whose members stay as they were written.
//!
//! A gateway that reads a message into types and writes it anew loses what the types do not know. Here only the members
//! that a rule asks for are looked into; the others keep their bytes, and the members their order.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// A JSON text that was found to be well-formed.
pub(crate) type Raw = Box<RawValue>;

/// So many members are few.
const FEW: usize = 16;

/// An object, member by member. A name that occurs twice is refused when it is read: two readers could take a
/// different one of the two.
#[derive(Clone, Default)]
pub(crate) struct Object(Vec<(String, Raw)>);

impl Object {
    /// Reads an object; anything else is `None`.
    pub(crate) fn read(raw: &RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// A member.
    pub(crate) fn get(&self, name: &str) -> Option<&RawValue> {
        let found = self.0.iter().find(|(member, _)| member == name);
        found.map(|(_, value)| &**value)
    }

    /// A member that is a string.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name)
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// A member that is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        self.get(name).and_then(Self::read)
    }

    /// A member that is a list.
    pub(crate) fn list(&self, name: &str) -> Option<Vec<Raw>> {
        self.get(name)
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// Puts a value where the member stands, or at the end.
    pub(crate) fn set(&mut self, name: &str, value: Raw) {
        match self.0.iter_mut().find(|(member, _)| member == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// The object with one more member.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Serialize) -> Self {
        self.set(name, raw(&value));
        self
    }

    /// Takes a member out.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Raw> {
        let at = self.0.iter().position(|(member, _)| member == name)?;
        Some(self.0.remove(at).1)
    }

    /// The object as JSON text.
    pub(crate) fn to_raw(&self) -> Raw {
        raw(self)
    }

    /// The object as JSON text, put together from its members' own texts in one go.
    pub(crate) fn to_text(&self) -> String {
        let room = |(name, value): &(String, Raw)| name.len() + value.get().len() + 8;
        let mut text = String::with_capacity(self.0.iter().map(room).sum::<usize>() + 2);
        let mut between = "{";
        for (name, value) in &self.0 {
            text.extend([between, raw(name).get(), ":", value.get()]);
            between = ",";
        }
        if self.0.is_empty() {
            text.push_str(between);
        }
        text.push('}');
        text
    }

    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members, in order.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), &**value))
    }
}

/// Any value as JSON text. What cannot be written (a map with keys that are not text) becomes null.
pub(crate) fn raw(value: &impl Serialize) -> Raw {
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let (mut members, mut names): (Vec<(String, Raw)>, _) = (Vec::new(), HashSet::new());
        while let Some((name, value)) = map.next_entry::<String, Raw>()? {
            // A few names are compared sooner than they are put in order; many are not.
            let is_known = if members.len() < FEW {
                members.iter().any(|(other, _)| *other == name)
            } else {
                if names.is_empty() {
                    names.extend(members.iter().map(|(other, _)| other.clone()));
                }
                !names.insert(name.clone())
            };
            if is_known {
                return Err(A::Error::custom("a member occurs twice"));
            }
            members.push((name, value));
        }
        Ok(Object(members))
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({} members)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_touched_keeps_its_bytes() {
        let text = r#"{"z":1.0e400,"a":{"k":[1, 2]},"name":"x","n":12345678901234567890123}"#;
        let mut object: Object = serde_json::from_str(text).unwrap();
        assert_eq!(object.to_raw().get(), text);
        object.set("name", raw(&"y"));
        assert_eq!(object.to_raw().get(), text.replace("\"x\"", "\"y\""));
    }

    #[test]
    fn a_name_that_occurs_twice_is_refused() {
        assert!(serde_json::from_str::<Object>(r#"{"name":"a","name":"b"}"#).is_err());
        for (first, again) in [(0, 1), (0, 15), (0, 40), (14, 15), (15, 16), (16, 17), (20, 40)] {
            let name = |index: usize| if index == again { first } else { index };
            let members: Vec<_> = (0..50).map(|index| format!("\"m{}\":1", name(index))).collect();
            let text = format!("{{{}}}", members.join(","));
            assert!(serde_json::from_str::<Object>(&text).is_err(), "{first} {again}");
        }
    }

    #[test]
    fn a_text_is_what_a_value_is() {
        for text in [
            "{}",
            r#"{"a":1}"#,
            r#"{"a\"\n\u0001":"x","b":[1, 2],"":{}}"#,
            r#"{"ä":"\u00e4"}"#,
        ] {
            let object: Object = serde_json::from_str(text).unwrap();
            assert_eq!(object.to_text(), object.to_raw().get());
        }
    }

    #[test]
    fn debug_shows_no_content() {
        let object = Object::default().with("canary", "canary");
        assert!(!format!("{object:?}").contains("canary"));
    }
}
