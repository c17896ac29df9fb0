//! Why a call did not pass, in words an agent can act on. Built from names and classes alone, never from data.

use crate::{Attempt, Class, Doubt, DoubtCause, Fault, Grant, Kinds, Name, Tool, Veiled};

/// The rule that stopped a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Nobody knows the tool.
    UnknownTool,
    /// The control list blocks the tool always.
    ToolBlocked,
    /// The session's label is above the tool's ceiling.
    LabelAboveCeiling,
    /// The call's own arguments are above the tool's ceiling.
    ArgumentsAboveCeiling,
    /// A person must approve this call.
    HumanApproval,
    /// A person looked at this call and denied it.
    DeniedByPerson,
    /// A person must decide before anything passes in this session.
    SessionHalted,
    /// The run has ended.
    SessionEnded,
    /// A guarded argument came from untrusted content alone.
    UntrustedOrigin,
    /// Nobody believed is known to have brought a guarded argument.
    UnknownOrigin,
    /// The authority says this principal may not use the tool.
    NotPermitted,
    /// The authority cannot be asked.
    AuthorityUnreachable,
    /// A stub or handle stands in a call to a tool that is no authorized sink.
    StubOutsideSink,
    /// What a stub or handle stands for is above the tool's ceiling.
    StubAboveCeiling,
    /// A stub or handle was never given to this session, or leads nowhere any more.
    UnknownStub,
    /// Something is wrong with the connection itself.
    Connection(Fault),
}

impl Rule {
    /// Every rule but the faults of connections, which [`Fault::ALL`] lists.
    pub const ALL: [Self; 15] = [
        Self::UnknownTool,
        Self::ToolBlocked,
        Self::LabelAboveCeiling,
        Self::ArgumentsAboveCeiling,
        Self::HumanApproval,
        Self::DeniedByPerson,
        Self::SessionHalted,
        Self::SessionEnded,
        Self::UntrustedOrigin,
        Self::UnknownOrigin,
        Self::NotPermitted,
        Self::AuthorityUnreachable,
        Self::StubOutsideSink,
        Self::StubAboveCeiling,
        Self::UnknownStub,
    ];

    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown-tool",
            Self::ToolBlocked => "tool-blocked",
            Self::LabelAboveCeiling => "label-above-ceiling",
            Self::ArgumentsAboveCeiling => "arguments-above-ceiling",
            Self::HumanApproval => "human-approval",
            Self::DeniedByPerson => "denied-by-person",
            Self::SessionHalted => "session-halted",
            Self::SessionEnded => "session-ended",
            Self::UntrustedOrigin => "untrusted-origin",
            Self::UnknownOrigin => "unknown-origin",
            Self::NotPermitted => "not-permitted",
            Self::AuthorityUnreachable => "authority-unreachable",
            Self::StubOutsideSink => "stub-outside-sink",
            Self::StubAboveCeiling => "stub-above-ceiling",
            Self::UnknownStub => "unknown-stub",
            Self::Connection(fault) => fault.as_str(),
        }
    }
}

/// A refusal: the rule, and the names and classes that it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    rule: Rule,
    tool: Name,
    ceiling: Class,
    label: Class,
    arguments: Class,
    kinds: Kinds,
    argument_kinds: Kinds,
    veiled: Class,
    source: Option<Name>,
    grant: Grant,
    doubt: Option<Doubt>,
}

impl Refusal {
    /// A refusal by a rule that looked at the whole attempt.
    #[must_use]
    pub fn of(rule: Rule, attempt: Attempt<'_>) -> Self {
        let Attempt {
            tool,
            context,
            arguments,
            argument_kinds,
            veiled,
        } = attempt;
        let veiled = match veiled {
            Veiled::Known(class) | Veiled::Mixed(class) => class,
            Veiled::Nothing | Veiled::Unknown => Class::Public,
        };
        let halted_by = context
            .halted()
            .map(|halt| &halt.source)
            .filter(|_| rule == Rule::SessionHalted);
        Self {
            rule,
            tool: tool.name.clone(),
            ceiling: tool.ceiling,
            label: context.label().class(),
            arguments,
            kinds: context.kinds(),
            argument_kinds,
            veiled,
            source: halted_by.or_else(|| context.contamination_source()).cloned(),
            grant: tool.grant,
            doubt: None,
        }
    }

    /// A refusal because a guarded argument is doubted.
    #[must_use]
    pub fn doubted(doubt: Doubt, attempt: Attempt<'_>) -> Self {
        let rule = match doubt.cause {
            DoubtCause::Untrusted { .. } => Rule::UntrustedOrigin,
            DoubtCause::Unknown { .. } | DoubtCause::Forgotten => Rule::UnknownOrigin,
        };
        Self {
            doubt: Some(doubt),
            ..Self::of(rule, attempt)
        }
    }

    /// The same refusal, after a person looked at the call and said no.
    #[must_use]
    pub fn denied_by_person(self) -> Self {
        Self {
            rule: Rule::DeniedByPerson,
            ..self
        }
    }

    /// A refusal of a tool that nobody knows.
    #[must_use]
    pub fn unknown_tool(name: Name) -> Self {
        Self::outside(Rule::UnknownTool, Tool::undeclared(name))
    }

    /// A refusal of a connection that belongs to no session.
    #[must_use]
    pub fn connection(fault: Fault, tool: Tool) -> Self {
        Self::outside(Rule::Connection(fault), tool)
    }

    /// A refusal that no session has a part in.
    fn outside(rule: Rule, tool: Tool) -> Self {
        Self {
            rule,
            ceiling: tool.ceiling,
            tool: tool.name,
            label: Class::Public,
            arguments: Class::Public,
            kinds: Kinds::NONE,
            argument_kinds: Kinds::NONE,
            veiled: Class::Public,
            source: None,
            grant: tool.grant,
            doubt: None,
        }
    }

    /// The rule that stopped the call.
    #[must_use]
    pub const fn rule(&self) -> Rule {
        self.rule
    }

    /// What happened and why.
    #[must_use]
    pub fn reason(&self) -> String {
        let Self {
            tool,
            ceiling,
            label,
            arguments,
            ..
        } = self;
        match self.rule {
            Rule::UnknownTool => {
                format!("tool \"{tool}\" blocked: no tool of that name is in the control list")
            }
            Rule::ToolBlocked => format!("tool \"{tool}\" blocked: the control list never lets it run"),
            Rule::LabelAboveCeiling => format!(
                "tool \"{tool}\" blocked: session context contains {} (from {}); the session is labelled {label} and \
                 this tool may be given at most {ceiling}",
                listed(self.kinds, *label),
                self.source.as_ref().map_or("an earlier call", Name::as_str),
            ),
            Rule::ArgumentsAboveCeiling => format!(
                "tool \"{tool}\" blocked: its arguments contain {}, which is {arguments}; this tool may be given at \
                 most {ceiling}",
                listed(self.argument_kinds, *arguments),
            ),
            Rule::HumanApproval => format!("tool \"{tool}\" held: each call to it needs a person's approval"),
            Rule::DeniedByPerson => {
                format!("tool \"{tool}\" blocked: a person looked at this call and denied it")
            }
            Rule::SessionHalted => format!(
                "tool \"{tool}\" blocked: the session is halted because content from {} tried to give instructions",
                self.source.as_ref().map_or("an earlier call", Name::as_str),
            ),
            Rule::SessionEnded => format!("tool \"{tool}\" blocked: the session has ended"),
            Rule::UntrustedOrigin | Rule::UnknownOrigin => {
                format!("tool \"{tool}\" held: {}", self.doubt_in_words())
            }
            Rule::NotPermitted => format!("tool \"{tool}\" blocked: this agent may not use it"),
            Rule::AuthorityUnreachable => format!(
                "tool \"{tool}\" blocked: the authority that says who may use it cannot be asked{}",
                self.unanswered(),
            ),
            Rule::StubOutsideSink => format!(
                "tool \"{tool}\" blocked: its arguments hold a stub or a handle, and this tool is no authorized sink, so \
                 nothing may be put in its place"
            ),
            Rule::StubAboveCeiling => format!(
                "tool \"{tool}\" blocked: its arguments hold a stub or a handle of {} data; this tool may be given at \
                 most {ceiling}",
                self.veiled,
            ),
            Rule::UnknownStub => format!(
                "tool \"{tool}\" blocked: its arguments hold a stub or a handle that this session was never given, or \
                 whose value is gone"
            ),
            Rule::Connection(fault) => format!("tool \"{tool}\" blocked: {}", fault.reason()),
        }
    }

    fn unanswered(&self) -> String {
        match self.grant {
            Grant::Unanswered(why) => format!(": {why}"),
            Grant::Given | Grant::Refused => String::new(),
        }
    }

    fn doubt_in_words(&self) -> String {
        let Some(Doubt { argument, cause }) = &self.doubt else {
            return "it cannot be told where a guarded argument came from".to_owned();
        };
        match cause {
            DoubtCause::Untrusted { source } => format!(
                "its argument {argument} holds a value that came from {source}, which is untrusted, and from nobody \
                 trusted before"
            ),
            DoubtCause::Unknown { source } => format!(
                "its argument {argument} holds a value that neither the user nor a trusted source brought, and \
                 untrusted content (from {source}) is in the session"
            ),
            DoubtCause::Forgotten => format!(
                "it cannot be told where the value in its argument {argument} came from: more entered the session \
                 than is remembered"
            ),
        }
    }

    /// What to do instead.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self.rule {
            Rule::UnknownTool => {
                "call one of the tools in the session's manifest, or ask an administrator to declare this one"
            }
            Rule::ToolBlocked => "do this step without the tool, or hand it to a person",
            Rule::LabelAboveCeiling => {
                "go on with tools whose ceiling covers the session's label (see the manifest), or do this step in a new \
                 session before any internal tool is called"
            }
            Rule::ArgumentsAboveCeiling => {
                "call it again without the sensitive values, or use a tool with a higher ceiling"
            }
            Rule::HumanApproval => "wait for a person to approve this call, or go on with other steps",
            Rule::DeniedByPerson => {
                "do this step in another way, or tell the user that it was denied; the same call stays denied for now"
            }
            Rule::SessionHalted => {
                "stop and tell the user; a person must review the session before it goes on"
            }
            Rule::SessionEnded => "open a new session",
            Rule::UntrustedOrigin | Rule::UnknownOrigin => {
                "wait for a person to approve this call, or have the user name the value themselves"
            }
            Rule::NotPermitted => "use another tool, or ask an administrator for the permission",
            Rule::AuthorityUnreachable => "wait a moment and try again; if it goes on, tell an administrator",
            Rule::StubOutsideSink | Rule::StubAboveCeiling => {
                "call it without the stub, or use a tool that is an authorized sink with a sufficient ceiling"
            }
            Rule::UnknownStub => {
                "use the stubs and handles of this session as they were written, or call the tool that gave it again; \
                 where the text itself is meant, write {literal:NAME_1} for {NAME_1}"
            }
            Rule::Connection(fault) => fault.remedy(),
        }
    }

    /// Whether the same agent may succeed later, or with other arguments, in this session.
    #[must_use]
    pub const fn retryable(&self) -> bool {
        match self.rule {
            Rule::ArgumentsAboveCeiling
            | Rule::HumanApproval
            | Rule::SessionHalted
            | Rule::UntrustedOrigin
            | Rule::UnknownOrigin
            | Rule::AuthorityUnreachable
            | Rule::StubOutsideSink
            | Rule::StubAboveCeiling
            | Rule::UnknownStub => true,
            Rule::UnknownTool
            | Rule::ToolBlocked
            | Rule::DeniedByPerson
            | Rule::LabelAboveCeiling
            | Rule::SessionEnded
            | Rule::NotPermitted => false,
            Rule::Connection(fault) => fault.retryable(),
        }
    }
}

fn listed(kinds: Kinds, class: Class) -> String {
    let kinds: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
    if kinds.is_empty() {
        format!("{class} data")
    } else {
        kinds.join(", ")
    }
}
