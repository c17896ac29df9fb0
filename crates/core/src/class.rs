//! The one total order of data classes, and the kinds of sensitive data that put a session in one.

use std::fmt;
use std::str::FromStr;

/// How far data may travel. One total order; labels join by maximum.
///
/// There is no `Default`: a class is declared, found, or [`Class::UNCLASSIFIED`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// Published on purpose.
    Public,
    /// Shared inside the organisation.
    Internal,
    /// Bounded by contract, policy or regulation.
    Confidential,
    /// Identifies a natural person.
    Pii,
    /// A credential: whoever holds it can act.
    Secret,
}

impl Class {
    /// Every class, lowest first.
    pub const ALL: [Self; 5] = [
        Self::Public,
        Self::Internal,
        Self::Confidential,
        Self::Pii,
        Self::Secret,
    ];

    /// What cannot be classified counts as this.
    pub const UNCLASSIFIED: Self = Self::Confidential;

    /// The higher of two classes.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        self.max(other)
    }

    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Internal => "internal",
            Self::Confidential => "confidential",
            Self::Pii => "pii",
            Self::Secret => "secret",
        }
    }

    /// The position in the order, lowest first: what stores write.
    #[must_use]
    pub const fn rank(self) -> u8 {
        self as u8
    }

    /// The class at a position, if there is one.
    #[must_use]
    pub fn from_rank(rank: u8) -> Option<Self> {
        Self::ALL.get(usize::from(rank)).copied()
    }

    /// What kind of sensitive data a class stands for when nothing more exact is known.
    #[must_use]
    pub const fn kind(self) -> Option<Kind> {
        match self {
            Self::Public => None,
            Self::Internal | Self::Confidential => Some(Kind::InternalIp),
            Self::Pii => Some(Kind::Pii),
            Self::Secret => Some(Kind::Credentials),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Class {
    type Err = UnknownClass;

    fn from_str(name: &str) -> Result<Self, UnknownClass> {
        match name {
            "public" => Ok(Self::Public),
            "internal" => Ok(Self::Internal),
            "confidential" | "restricted" => Ok(Self::Confidential),
            "pii" => Ok(Self::Pii),
            "secret" => Ok(Self::Secret),
            _ => Err(UnknownClass),
        }
    }
}

/// The text names no class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a class: expected public, internal, confidential (or restricted), pii or secret")]
pub struct UnknownClass;

/// What sort of sensitive data entered a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Data about a person.
    Pii,
    /// The organisation's own knowledge.
    InternalIp,
    /// Keys, tokens, passwords.
    Credentials,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Pii, Self::InternalIp, Self::Credentials];

    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pii => "pii",
            Self::InternalIp => "internal_ip",
            Self::Credentials => "credentials",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Pii => 1,
            Self::InternalIp => 2,
            Self::Credentials => 4,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A set of kinds; it only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

impl Kinds {
    /// No kind at all.
    pub const NONE: Self = Self(0);

    /// This set and one more kind.
    #[must_use]
    pub const fn with(self, kind: Kind) -> Self {
        Self(self.0 | kind.bit())
    }

    /// Everything in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a kind is in the set.
    #[must_use]
    pub const fn contains(self, kind: Kind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds in the set, in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }

    /// The set as stores write it.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set a store wrote; bits that mean nothing are dropped.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 7)
    }
}

impl FromIterator<Kind> for Kinds {
    fn from_iter<I: IntoIterator<Item = Kind>>(kinds: I) -> Self {
        kinds.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_class() -> impl Strategy<Value = Class> {
        (0..5u8).prop_map(|rank| Class::from_rank(rank).unwrap())
    }

    proptest! {
        #[test]
        fn join_is_a_semilattice(a in any_class(), b in any_class(), c in any_class()) {
            prop_assert_eq!(a.join(b), b.join(a));
            prop_assert_eq!(a.join(b).join(c), a.join(b.join(c)));
            prop_assert_eq!(a.join(a), a);
            prop_assert_eq!(Class::Public.join(a), a);
            prop_assert_eq!(a <= b, a.join(b) == b);
        }
    }

    #[test]
    fn every_name_and_rank_reads_back() {
        for class in Class::ALL {
            assert_eq!(class.as_str().parse(), Ok(class));
            assert_eq!(Class::from_rank(class.rank()), Some(class));
        }
        assert_eq!("restricted".parse(), Ok(Class::Confidential));
        assert_eq!("Public".parse::<Class>(), Err(UnknownClass));
        assert_eq!(Class::from_rank(5), None);
    }

    #[test]
    fn kinds_only_grow() {
        let kinds = Kinds::NONE
            .with(Kind::Pii)
            .union(Kinds::NONE.with(Kind::Credentials));
        assert_eq!(kinds.iter().collect::<Vec<_>>(), [Kind::Pii, Kind::Credentials]);
        assert_eq!(Kinds::from_bits(kinds.bits() | 0x80), kinds);
    }
}
