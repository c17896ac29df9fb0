//! What the operator decided: the control list, what stands beside it, and the version of both.

use std::fmt::{self, Write};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tidegate_core::{ControlList, Name, Permission, Tool};
use tidegate_ledger::PublicDigest;

use crate::egress::{Destination, Destinations, Target};

/// The control list in force, with a version that changes when it does.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Every known tool.
    pub control: ControlList,
    /// Which version of it this is.
    pub version: PolicyVersion,
    pub(crate) digest: PublicDigest,
    /// What else the rules see, in one spelling.
    beside: String,
    /// Where connections may lead, where there are any.
    destinations: Option<Arc<Destinations>>,
}

impl Policy {
    /// The policy of a control list. Its version is computed from what the rules see, so that a change of comments
    /// or order of keys in a file is no change of policy.
    #[must_use]
    pub fn new(control: ControlList) -> Self {
        Self::of(control, String::new())
    }

    /// The same policy with destinations for connections.
    #[must_use]
    pub fn with_destinations(self, destinations: &Destinations) -> Self {
        Self {
            destinations: Some(Arc::new(destinations.clone())),
            ..self.and(&destinations.canonical())
        }
    }

    /// The same policy with what detection was told and what is let through although a rule fires, in one spelling.
    /// Only its digest is ever recorded.
    #[must_use]
    pub fn with_detection(self, told: &str) -> Self {
        self.and(&format!("detect {told}\n"))
    }

    /// The same policy with another view of the tools.
    #[must_use]
    pub fn with_control(&self, control: ControlList) -> Self {
        Self {
            destinations: self.destinations.clone(),
            ..Self::of(control, self.beside.clone())
        }
    }

    /// The destination that a rise is put down to by this name.
    pub(crate) fn destination_called(&self, name: &Name) -> Option<&Destination> {
        let target = name.as_str().strip_prefix("egress:")?;
        let target = Target::parse(target, None).ok()?;
        Some(self.destinations.as_ref()?.find(&target.host))
    }

    fn and(self, beside: &str) -> Self {
        Self {
            destinations: self.destinations,
            ..Self::of(self.control, self.beside + beside)
        }
    }

    fn of(control: ControlList, beside: String) -> Self {
        let tools = control.iter().map(canonical);
        let canonical: String = tools.chain([beside.clone()]).collect();
        let hash = Sha256::digest(canonical.as_bytes());
        let version = hash.iter().take(6).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Self {
            control,
            version: PolicyVersion(version),
            digest: PublicDigest::of(canonical.as_bytes()),
            beside,
            destinations: None,
        }
    }
}

fn canonical(tool: &Tool) -> String {
    let permissions = Permission::ALL.map(|permission| u8::from(tool.permissions.contains(permission)));
    let (returns, ceiling, control) = (tool.returns, tool.ceiling, tool.control.as_str());
    let mut text = format!(
        "{:?} {permissions:?} {returns} {ceiling} {} {} {control} {} {} {} {:?}",
        tool.name, tool.external, tool.sink, tool.integrity, tool.seal, tool.keeps_secrets, tool.target
    );
    for (field, class) in tool.fields.iter() {
        let _ = write!(text, " {:?} {class}", field.to_string());
    }
    text.push('\n');
    text
}

/// A short digest of a policy, so that a record can say which one decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyVersion(String);

impl PolicyVersion {
    /// The version as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PolicyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::{Class, ToolFacts};

    #[test]
    fn the_version_changes_with_what_the_rules_see() {
        let policy = |ceiling| {
            let facts = ToolFacts {
                ceiling,
                ..ToolFacts::named(Name::parse("a").unwrap())
            };
            Policy::new(ControlList::new([Tool::declared(facts)]).unwrap())
        };
        let undeclared_is_secret = policy(None);
        assert_eq!(undeclared_is_secret.version, policy(Some(Class::Secret)).version);
        assert_ne!(undeclared_is_secret.version, policy(Some(Class::Public)).version);
    }

    #[test]
    fn another_view_of_the_tools_keeps_what_stands_beside_them() {
        let nothing = || ControlList::new([]).unwrap();
        let strict = Policy::new(nothing()).with_detection("no exits");
        let lax = Policy::new(nothing()).with_detection("an exit");
        assert_ne!(strict.version, lax.version);
        assert_eq!(strict.with_control(nothing()).version, strict.version);
        assert_ne!(strict.with_control(nothing()).version, lax.version);
    }
}
