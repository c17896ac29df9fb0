//! What a detector reports: which rule fired where, how sure it is, and never the value itself.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use tidegate_core::{Class, Kind};

/// One place in a text where a rule fired. It holds offsets, not bytes, so it is safe to log and to store.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule that fired.
    pub rule: RuleId,
    /// What sort of thing was found.
    pub kind: FindingKind,
    /// The class that the find puts its carrier in.
    pub class: Class,
    /// Where it stands, as byte offsets into the text that was scanned.
    pub span: Range<usize>,
    /// How sure the rule is.
    pub confidence: Confidence,
}

/// A rule's stable name, such as `email` or `aws-access-key-id`. Cheap to clone: findings are made by the thousand.
#[derive(Clone)]
pub struct RuleId(Name);

#[derive(Clone)]
enum Name {
    BuiltIn(&'static str),
    Configured(Arc<str>),
}

impl RuleId {
    /// Names a rule that comes from configuration.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(Name::Configured(name.into()))
    }

    /// Names a rule that is part of the program.
    #[must_use]
    pub const fn built_in(name: &'static str) -> Self {
        Self(Name::BuiltIn(name))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Name::BuiltIn(name) => name,
            Name::Configured(name) => name,
        }
    }
}

impl PartialEq for RuleId {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RuleId {}

impl PartialOrd for RuleId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RuleId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for RuleId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// What sort of thing a rule finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// Data about a person.
    Pii,
    /// The organisation's own names and hosts.
    InternalIp,
    /// Keys, tokens, passwords.
    Credentials,
    /// Text that tries to give the agent orders.
    Injection,
}

impl FindingKind {
    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pii => "pii",
            Self::InternalIp => "internal_ip",
            Self::Credentials => "credentials",
            Self::Injection => "injection",
        }
    }

    /// The kind a session carries after this was found; an injection is about integrity and carries none.
    #[must_use]
    pub const fn contaminates(self) -> Option<Kind> {
        match self {
            Self::Pii => Some(Kind::Pii),
            Self::InternalIp => Some(Kind::InternalIp),
            Self::Credentials => Some(Kind::Credentials),
            Self::Injection => None,
        }
    }
}

impl From<Kind> for FindingKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Pii => Self::Pii,
            Kind::InternalIp => Self::InternalIp,
            Kind::Credentials => Self::Credentials,
        }
    }
}

/// How sure a rule is, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Confidence(u8);

impl Confidence {
    /// As sure as a checksum or an unmistakable prefix can be.
    pub const CERTAIN: Self = Self(100);

    /// A confidence from a percentage; above 100 is 100.
    #[must_use]
    pub const fn percent(percent: u8) -> Self {
        Self(if percent > 100 { 100 } else { percent })
    }

    /// The confidence as a number from 0 to 1.
    #[must_use]
    pub fn as_f32(self) -> f32 {
        f32::from(self.0) / 100.0
    }

    /// The confidence in percent.
    #[must_use]
    pub const fn as_percent(self) -> u8 {
        self.0
    }
}
