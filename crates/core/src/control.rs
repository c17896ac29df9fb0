//! The control list: what is known of each tool, and the strict ends for what is not.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use crate::{Class, Integrity, Name};

/// What a tool's code may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// Reads.
    Read,
    /// Changes something.
    Write,
    /// Reaches outside: this alone makes a tool external.
    Connect,
}

impl Permission {
    /// Every permission.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Connect];

    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Connect => "connect",
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Permission {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL
            .into_iter()
            .find(|permission| permission.as_str().eq_ignore_ascii_case(name));
        found.ok_or("not a permission: expected read, write or connect")
    }
}

/// A set of permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions {
    read: bool,
    write: bool,
    connect: bool,
}

impl Permissions {
    /// No permission.
    pub const NONE: Self = Self {
        read: false,
        write: false,
        connect: false,
    };

    /// Whether a permission is in the set.
    #[must_use]
    pub const fn contains(self, permission: Permission) -> bool {
        match permission {
            Permission::Read => self.read,
            Permission::Write => self.write,
            Permission::Connect => self.connect,
        }
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        let mut set = Self::NONE;
        for permission in permissions {
            match permission {
                Permission::Read => set.read = true,
                Permission::Write => set.write = true,
                Permission::Connect => set.connect = true,
            }
        }
        set
    }
}

/// How much of a person a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// The rules decide alone.
    Auto,
    /// A person approves each call.
    HumanApproval,
    /// Never.
    Blocked,
}

impl Control {
    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::HumanApproval => "human-approval",
            Self::Blocked => "blocked",
        }
    }
}

impl FromStr for Control {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let all = [Self::Auto, Self::HumanApproval, Self::Blocked];
        let found = all.into_iter().find(|control| control.as_str() == name);
        found.ok_or("not a control level: expected auto, human-approval or blocked")
    }
}

/// What somebody declared of a tool; what is `None` takes its default in [`Tool::declared`].
#[derive(Clone, Debug)]
pub struct ToolFacts {
    /// Its name.
    pub name: Name,
    /// What its code may do.
    pub permissions: Permissions,
    /// The class of what it returns.
    pub returns: Option<Class>,
    /// The highest class it may be given.
    pub ceiling: Option<Class>,
    /// Whether it carries what it is given out of the organisation.
    pub external: bool,
    /// Whether stubs and seals may resolve in calls to it.
    pub sink: bool,
    /// How much of a person its calls need.
    pub control: Control,
    /// How far it is believed, and what it guards.
    pub integrity: Integrity,
    /// The argument that names the tool a call is really for, where it is a wrapper around others.
    pub target: Option<String>,
}

impl ToolFacts {
    /// Nothing but a name is declared.
    #[must_use]
    pub const fn named(name: Name) -> Self {
        Self {
            name,
            permissions: Permissions::NONE,
            returns: None,
            ceiling: None,
            external: false,
            sink: false,
            control: Control::Auto,
            integrity: Integrity::UNDECLARED,
            target: None,
        }
    }
}

/// A tool as the rules see it: every question has an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: Name,
    /// What its code may do.
    pub permissions: Permissions,
    /// The class of what it returns.
    pub returns: Class,
    /// The highest class it may be given.
    pub ceiling: Class,
    /// Whether it carries what it is given out of the organisation.
    pub external: bool,
    /// Whether stubs and seals may resolve in calls to it.
    pub sink: bool,
    /// How much of a person its calls need.
    pub control: Control,
    /// How far it is believed, and what it guards.
    pub integrity: Integrity,
    /// The argument that names the tool a call is really for, where it is a wrapper around others.
    pub target: Option<String>,
}

impl Tool {
    /// Fills in what was not declared. External or CONNECT: ceiling public, and what comes back is public. Anything
    /// else may be given everything, and what it returns cannot be classified, so it counts as confidential.
    #[must_use]
    pub fn declared(facts: ToolFacts) -> Self {
        let external = facts.external || facts.permissions.contains(Permission::Connect);
        let (returns, ceiling) = if external {
            (Class::Public, Class::Public)
        } else {
            (Class::UNCLASSIFIED, Class::Secret)
        };
        Self {
            name: facts.name,
            permissions: facts.permissions,
            returns: facts.returns.unwrap_or(returns),
            ceiling: facts.ceiling.unwrap_or(ceiling),
            external,
            sink: facts.sink,
            control: facts.control,
            integrity: facts.integrity,
            target: facts.target,
        }
    }

    /// A tool that exists but that nobody declared: the strict end of both.
    #[must_use]
    pub fn undeclared(name: Name) -> Self {
        let mut tool = Self::declared(ToolFacts::named(name));
        tool.ceiling = Class::Public;
        tool
    }

    /// Whether its answers raise a clean session's label.
    #[must_use]
    pub fn is_internal_source(&self) -> bool {
        self.returns > Class::Public
    }
}

/// Every tool that is known, in the order of declaration.
#[derive(Clone, Debug)]
pub struct ControlList {
    tools: Vec<Tool>,
    by_name: HashMap<Name, usize>,
}

impl ControlList {
    /// A list of tools.
    ///
    /// # Errors
    /// When two tools have one name.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Result<Self, DuplicateTool> {
        let mut list = Self {
            tools: Vec::new(),
            by_name: HashMap::new(),
        };
        for tool in tools {
            if list.by_name.insert(tool.name.clone(), list.tools.len()).is_some() {
                return Err(DuplicateTool(tool.name));
            }
            list.tools.push(tool);
        }
        Ok(list)
    }

    /// The tool of that name, if it is known.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Tool> {
        self.by_name.get(name).and_then(|index| self.tools.get(*index))
    }

    /// Every tool, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter()
    }
}

/// Two tools were declared with one name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool {0:?} is declared twice")]
pub struct DuplicateTool(pub Name);

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str) -> ToolFacts {
        ToolFacts::named(Name::parse(name).unwrap())
    }

    #[test]
    fn defaults_fall_on_the_strict_side() {
        let external = Tool::declared(ToolFacts {
            external: true,
            ..facts("web_search")
        });
        assert_eq!(
            (external.returns, external.ceiling),
            (Class::Public, Class::Public)
        );

        let connects = [Permission::Write, Permission::Connect].into_iter().collect();
        let connect = Tool::declared(ToolFacts {
            permissions: connects,
            ..facts("notify")
        });
        assert!(connect.external);
        assert_eq!(connect.ceiling, Class::Public);

        let declared = Tool::declared(facts("lookup"));
        assert_eq!(
            (declared.returns, declared.ceiling),
            (Class::Confidential, Class::Secret)
        );

        let undeclared = Tool::undeclared(Name::parse("mystery").unwrap());
        assert_eq!(
            (undeclared.returns, undeclared.ceiling),
            (Class::Confidential, Class::Public)
        );
    }

    #[test]
    fn a_declared_ceiling_wins() {
        let tool = Tool::declared(ToolFacts {
            external: true,
            ceiling: Some(Class::Internal),
            ..facts("pr")
        });
        assert_eq!(tool.ceiling, Class::Internal);
    }

    #[test]
    fn one_name_is_declared_once() {
        let twice = ControlList::new([Tool::declared(facts("a")), Tool::declared(facts("a"))]);
        assert_eq!(twice.unwrap_err(), DuplicateTool(Name::parse("a").unwrap()));
    }
}
