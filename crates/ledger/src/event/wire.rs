//! How the domain's types are spelled in a record. The types themselves know nothing of files.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

/// A type of the domain that is written as its name.
trait Spelled: Copy {
    fn spell(self) -> &'static str;
    fn read(name: &str) -> Option<Self>;
}

impl Spelled for tidegate_core::Class {
    fn spell(self) -> &'static str {
        self.as_str()
    }
    fn read(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

impl Spelled for tidegate_core::Role {
    fn spell(self) -> &'static str {
        self.as_str()
    }
    fn read(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

pub(super) mod spelled {
    use super::{Deserialize as _, Deserializer, Serializer, Spelled};
    use serde::de::Error as _;

    #[expect(private_bounds, reason = "only this module's types are spelled")]
    pub(in super::super) fn serialize<T: Spelled, S: Serializer>(value: &T, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(value.spell())
    }

    #[expect(private_bounds, reason = "only this module's types are spelled")]
    pub(in super::super) fn deserialize<'de, T: Spelled, D: Deserializer<'de>>(d: D) -> Result<T, D::Error> {
        let name = String::deserialize(d)?;
        T::read(&name).ok_or_else(|| D::Error::custom("unknown name"))
    }
}

pub(super) mod optional {
    use super::{Deserialize as _, Deserializer, Serializer, Spelled};
    use serde::de::Error as _;

    #[expect(private_bounds, reason = "only this module's types are spelled")]
    pub(in super::super) fn serialize<T: Spelled, S: Serializer>(
        value: &Option<T>,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => s.serialize_str(value.spell()),
            None => s.serialize_none(),
        }
    }

    #[expect(private_bounds, reason = "only this module's types are spelled")]
    pub(in super::super) fn deserialize<'de, T: Spelled, D: Deserializer<'de>>(
        d: D,
    ) -> Result<Option<T>, D::Error> {
        let Some(name) = Option::<String>::deserialize(d)? else {
            return Ok(None);
        };
        T::read(&name)
            .map(Some)
            .ok_or_else(|| D::Error::custom("unknown name"))
    }
}

pub(super) mod kinds {
    use super::{Deserialize as _, Deserializer, Serializer};
    use serde::de::Error as _;
    use tidegate_core::{Kind, Kinds};

    pub(in super::super) fn serialize<S: Serializer>(kinds: &Kinds, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(kinds.iter().map(Kind::as_str))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Kinds, D::Error> {
        let named = |name: String| Kind::ALL.into_iter().find(|kind| kind.as_str() == name);
        let kinds: Option<Kinds> = Vec::<String>::deserialize(d)?.into_iter().map(named).collect();
        kinds.ok_or_else(|| D::Error::custom("unknown kind"))
    }
}

/// A text that must be exactly this one.
pub(super) fn exactly<'de, D: Deserializer<'de>>(d: D, expected: &'static str) -> Result<(), D::Error> {
    if String::deserialize(d)? == expected {
        Ok(())
    } else {
        Err(D::Error::custom("unexpected text"))
    }
}
