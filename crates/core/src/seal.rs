//! When a result is withheld behind a handle, and what enters the context in place of it.

use std::fmt;
use std::str::FromStr;

use crate::{Class, Tool};

/// When a tool's result is sealed. An agent that asks for a seal always gets it: it sees less then, never more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealRule {
    /// Every result.
    Always,
    /// A result above this class.
    Above(Class),
    /// Only when the agent asks.
    OnRequest,
}

impl SealRule {
    /// Whether a result of this class is sealed.
    #[must_use]
    pub fn seals(self, class: Class, requested: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Above(limit) => requested || class > limit,
            Self::OnRequest => requested,
        }
    }

    /// The one of two that seals more.
    pub(crate) fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Always, _) | (_, Self::Always) => Self::Always,
            (Self::Above(one), Self::Above(other)) => Self::Above(one.min(other)),
            (Self::Above(limit), Self::OnRequest) | (Self::OnRequest, Self::Above(limit)) => {
                Self::Above(limit)
            }
            (Self::OnRequest, Self::OnRequest) => Self::OnRequest,
        }
    }
}

impl fmt::Display for SealRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.pad("always"),
            Self::Above(class) => write!(f, "above:{class}"),
            Self::OnRequest => f.pad("on-request"),
        }
    }
}

impl FromStr for SealRule {
    type Err = BadSeal;

    fn from_str(text: &str) -> Result<Self, BadSeal> {
        match text {
            "always" => Ok(Self::Always),
            "on-request" => Ok(Self::OnRequest),
            _ => {
                let class = text.strip_prefix("above:").ok_or(BadSeal)?;
                class.parse().map(Self::Above).map_err(|_| BadSeal)
            }
        }
    }
}

/// The text says not when to seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a rule for sealing: expected always, on-request or above:CLASS")]
pub struct BadSeal;

/// The highest class that ever enters a context raw: what is above it enters as a stub.
pub const MAX_RAW: Class = Class::Confidential;

/// What stubs and handles stand in a call's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Veiled {
    /// None.
    Nothing,
    /// Those of this session; the highest class of what they stand for.
    Known(Class),
    /// One that this session was never given, or that leads nowhere any more.
    Unknown,
    /// Both; the highest class of what is known.
    Mixed(Class),
}

impl Tool {
    /// The class of what enters the context in the clear when nothing more is found in it: what calling the tool does
    /// to a label. A sealed result enters not at all; of one that is split by field, the cleared fields do.
    #[must_use]
    pub fn enters(&self) -> Class {
        if self.seal.seals(self.returns, false) {
            return Class::Public;
        }
        if self.fields.is_empty() {
            return self.returns;
        }
        let declared = self.fields.iter().map(|(_, class)| class);
        declared
            .chain([self.returns])
            .filter(|class| *class <= MAX_RAW)
            .fold(Class::Public, Class::join)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FieldClasses, Name, ToolFacts};

    #[test]
    fn rules_read_back_and_nothing_else_does() {
        for text in ["always", "on-request", "above:internal", "above:public"] {
            assert_eq!(text.parse::<SealRule>().unwrap().to_string(), text);
        }
        for bad in ["", "never", "above", "above:", "above:all", "Always"] {
            assert_eq!(bad.parse::<SealRule>(), Err(BadSeal), "{bad}");
        }
    }

    #[test]
    fn what_enters_is_what_is_cleared() {
        let enters = |returns, seal: &str, fields: &[(&str, Class)]| {
            Tool::declared(ToolFacts {
                returns: Some(returns),
                seal: seal.parse().unwrap(),
                fields: FieldClasses::new(fields.iter().map(|(path, class)| (path.parse().unwrap(), *class))),
                ..ToolFacts::named(Name::parse("source").unwrap())
            })
            .enters()
        };
        let split = [("guest.name", Class::Pii), ("dates.*", Class::Internal)];
        assert_eq!(enters(Class::Pii, "on-request", &[]), Class::Pii);
        assert_eq!(enters(Class::Pii, "always", &[]), Class::Public);
        assert_eq!(enters(Class::Pii, "above:internal", &[]), Class::Public);
        assert_eq!(enters(Class::Internal, "above:internal", &[]), Class::Internal);
        assert_eq!(enters(Class::Pii, "on-request", &split), Class::Internal);
        assert_eq!(
            enters(Class::Confidential, "on-request", &[("a", Class::Public)]),
            Class::Confidential
        );
    }
}
