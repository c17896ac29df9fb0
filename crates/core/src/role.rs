//! Who may do what at the gateway.

use std::fmt;
use std::str::FromStr;

/// The role a token carries. There is no default and no order: each grant is spelled out where it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Works in its own sessions.
    Agent,
    /// Fetches data for agents and tags their sessions.
    Connector,
    /// Reviews what is held; sees up to confidential.
    HumanOperator,
    /// Reviews what is held; may be shown personal data.
    PiiAuthorizedReviewer,
    /// Reads the record.
    Auditor,
    /// Configures, and is the only one who resets a label.
    Admin,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 6] = [
        Self::Agent,
        Self::Connector,
        Self::HumanOperator,
        Self::PiiAuthorizedReviewer,
        Self::Auditor,
        Self::Admin,
    ];

    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Connector => "connector",
            Self::HumanOperator => "human-operator",
            Self::PiiAuthorizedReviewer => "pii-authorized-reviewer",
            Self::Auditor => "auditor",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        Self::ALL
            .into_iter()
            .find(|role| role.as_str() == name)
            .ok_or(UnknownRole)
    }
}

/// The text names no role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a role: expected agent, connector, human-operator, pii-authorized-reviewer, auditor or admin")]
pub struct UnknownRole;
