//! The control list: what is known of each tool, and the strict ends for what is not.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use crate::{Class, FieldClasses, Grant, Integrity, Name, SealRule, Tags};

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

    /// What is in either set.
    pub(crate) const fn union(self, other: Self) -> Self {
        Self {
            read: self.read || other.read,
            write: self.write || other.write,
            connect: self.connect || other.connect,
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

    /// The one of two that lets less pass.
    pub(crate) const fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Blocked, _) | (_, Self::Blocked) => Self::Blocked,
            (Self::HumanApproval, _) | (_, Self::HumanApproval) => Self::HumanApproval,
            (Self::Auto, Self::Auto) => Self::Auto,
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
    /// The classes of the parts of what it returns.
    pub fields: FieldClasses,
    /// When what it returns is withheld behind a handle.
    pub seal: SealRule,
    /// Whether secrets out of what it returns may be kept on disk.
    pub keeps_secrets: bool,
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
            fields: FieldClasses::NONE,
            seal: SealRule::OnRequest,
            keeps_secrets: false,
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
    /// Whether whoever asks may use it at all. A control list gives everybody leave; an authority may not.
    pub grant: Grant,
    /// The classes that somebody stated, as against those that follow from the other facts.
    pub stated: Stated,
    /// How far it is believed, and what it guards.
    pub integrity: Integrity,
    /// The classes of the parts of what it returns.
    pub fields: FieldClasses,
    /// When what it returns is withheld behind a handle.
    pub seal: SealRule,
    /// Whether secrets out of what it returns may be kept on disk.
    pub keeps_secrets: bool,
    /// The argument that names the tool a call is really for, where it is a wrapper around others.
    pub target: Option<String>,
}

/// What was stated of a tool, so that its other answers can be worked out anew when a fact changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The class of what it returns.
    pub returns: Option<Class>,
    /// The highest class it may be given.
    pub ceiling: Option<Class>,
}

impl Tool {
    /// Fills in what was not declared. External or CONNECT: ceiling public, and what comes back is public. Anything
    /// else may be given everything, and what it returns cannot be classified, so it counts as confidential.
    #[must_use]
    pub fn declared(facts: ToolFacts) -> Self {
        let external = facts.external || facts.permissions.contains(Permission::Connect);
        let (returns, ceiling) = unstated(external);
        Self {
            name: facts.name,
            permissions: facts.permissions,
            returns: facts.returns.unwrap_or(returns),
            ceiling: facts.ceiling.unwrap_or(ceiling),
            external,
            sink: facts.sink,
            control: facts.control,
            grant: Grant::Given,
            stated: Stated {
                returns: facts.returns,
                ceiling: facts.ceiling,
            },
            integrity: facts.integrity,
            fields: facts.fields,
            seal: facts.seal,
            keeps_secrets: facts.keeps_secrets,
            target: facts.target,
        }
    }

    /// A tool that exists but that nobody declared: the strict end of both.
    #[must_use]
    pub fn undeclared(name: Name) -> Self {
        let mut tool = Self::declared(ToolFacts::named(name));
        tool.ceiling = Class::Public;
        // Neither end gives way to a tag: nobody looked at this tool.
        tool.stated = Stated {
            returns: Some(tool.returns),
            ceiling: Some(tool.ceiling),
        };
        tool
    }

    /// The same tool where an authority keeps the two facts. It alone says what is external, but for a tool that
    /// connects; an internal source returns `internal` at least. A stated class is never lowered by a missing tag.
    #[must_use]
    pub fn tagged(&self, tags: Tags) -> Self {
        let external = tags.external || self.permissions.contains(Permission::Connect);
        let (returns, ceiling) = unstated(external);
        let floor = if tags.internal_source {
            Class::Internal
        } else {
            Class::Public
        };
        Self {
            external,
            returns: self.stated.returns.unwrap_or(returns).join(floor),
            ceiling: self.stated.ceiling.unwrap_or(ceiling),
            ..self.clone()
        }
    }

    /// The tags that say of this tool what is known of it already.
    #[must_use]
    pub fn tags(&self) -> Tags {
        Tags {
            external: self.external,
            internal_source: self.is_internal_source(),
        }
    }

    /// The same tool as somebody sees it who was given this answer.
    #[must_use]
    pub fn with_grant(mut self, grant: Grant) -> Self {
        self.grant = grant;
        self
    }

    /// Whether its answers raise a clean session's label.
    #[must_use]
    pub fn is_internal_source(&self) -> bool {
        self.returns > Class::Public
    }
}

/// What a tool returns and may be given where nobody stated it.
const fn unstated(external: bool) -> (Class, Class) {
    if external {
        (Class::Public, Class::Public)
    } else {
        (Class::UNCLASSIFIED, Class::Secret)
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

    /// The same list with each tool seen anew. A tool keeps its name and its place.
    #[must_use]
    pub fn map(&self, mut seen: impl FnMut(&Tool) -> Tool) -> Self {
        let renamed = |tool: &Tool| Tool {
            name: tool.name.clone(),
            ..seen(tool)
        };
        Self {
            tools: self.tools.iter().map(renamed).collect(),
            by_name: self.by_name.clone(),
        }
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
    use proptest::prelude::*;

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

    fn any_class() -> impl Strategy<Value = Option<Class>> {
        proptest::option::of((0..5u8).prop_map(|rank| Class::from_rank(rank).unwrap()))
    }

    proptest! {
        #[test]
        fn a_tool_tagged_with_what_is_known_of_it_stays_as_it_is(
            returns in any_class(), ceiling in any_class(), external: bool, connects: bool
        ) {
            let permissions = connects.then_some(Permission::Connect).into_iter().collect();
            let tool = Tool::declared(ToolFacts { returns, ceiling, external, permissions, ..facts("t") });
            prop_assert_eq!(tool.tagged(tool.tags()), tool);
            let undeclared = Tool::undeclared(Name::parse("t").unwrap());
            prop_assert_eq!(undeclared.tagged(undeclared.tags()), undeclared);
        }

        #[test]
        fn a_source_tag_only_raises_and_an_external_tag_only_lowers_the_ceiling(
            returns in any_class(), ceiling in any_class(), external: bool, internal_source: bool
        ) {
            let tool = Tool::declared(ToolFacts { returns, ceiling, ..facts("t") });
            let tagged = |external, internal_source| tool.tagged(Tags { external, internal_source });
            prop_assert!(tagged(external, true).returns >= tagged(external, false).returns);
            prop_assert!(tagged(external, true).returns >= Class::Internal);
            prop_assert!(tagged(true, internal_source).ceiling <= tagged(false, internal_source).ceiling);
            prop_assert!(returns.is_none_or(|stated| tagged(external, internal_source).returns >= stated));
        }
    }

    #[test]
    fn a_tag_does_not_loosen_a_tool_that_nobody_declared() {
        let undeclared = Tool::undeclared(Name::parse("mystery").unwrap());
        let tagged = undeclared.tagged(Tags {
            external: true,
            internal_source: true,
        });
        assert_eq!(
            (tagged.returns, tagged.ceiling),
            (Class::Confidential, Class::Public)
        );
    }

    #[test]
    fn one_name_is_declared_once() {
        let twice = ControlList::new([Tool::declared(facts("a")), Tool::declared(facts("a"))]);
        assert_eq!(twice.unwrap_err(), DuplicateTool(Name::parse("a").unwrap()));
    }
}
