//! The one rule that blocks, and the permit that only it can give.

use crate::{Class, ContextState, Control, Doubt, Grant, Kinds, Refusal, Rule, Tool, Veiled};

/// A call that somebody wants to make.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// The tool to be called.
    pub tool: &'a Tool,
    /// The state of the session that wants to call it.
    pub context: &'a ContextState,
    /// The highest class found in the call's own arguments.
    pub arguments: Class,
    /// What was found in them.
    pub argument_kinds: Kinds,
    /// The stubs and handles in them.
    pub veiled: Veiled,
}

/// The answer to an attempt.
#[derive(Debug)]
pub enum Decision {
    /// The call may go on.
    Allow(Permit),
    /// A person must decide first.
    Hold(Refusal),
    /// The call may not go on.
    Deny(Refusal),
}

impl Decision {
    /// The same decision, unless a guarded argument is doubted: what would pass, or wait for a person anyway, is held
    /// for that reason then. A denial stays what it is.
    #[must_use]
    pub fn doubted(self, attempt: Attempt<'_>, doubt: Option<Doubt>) -> Self {
        match (self, doubt) {
            (Self::Allow(_) | Self::Hold(_), Some(doubt)) => Self::Hold(Refusal::doubted(doubt, attempt)),
            (decision @ (Self::Allow(_) | Self::Hold(_) | Self::Deny(_)), _) => decision,
        }
    }

    /// The same decision, but a call that only waited for a person goes on. A denial stays what it is: nobody's word
    /// lifts a ceiling.
    #[must_use]
    pub fn released(self, _approval: &Approval) -> Self {
        match self {
            // INVARIANT (permit from decision): what is held has passed every other check of this very decision.
            Self::Hold(_) => Self::Allow(Permit(Basis::Approved)),
            decision @ (Self::Allow(_) | Self::Deny(_)) => decision,
        }
    }

    /// The same decision, but a call that waited for a person is denied, because one said no.
    #[must_use]
    pub fn denied_by_person(self) -> Self {
        match self {
            Self::Hold(refusal) => Self::Deny(refusal.denied_by_person()),
            decision @ (Self::Allow(_) | Self::Deny(_)) => decision,
        }
    }

    /// The rule that decided, as every wire and file names it.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            Self::Allow(permit) => permit.rule(),
            Self::Hold(refusal) | Self::Deny(refusal) => refusal.rule().as_str(),
        }
    }
}

/// A person's word that one call may go on. Whoever makes one has found it in force where it is kept, and has used it up
/// durably or leaves it for whoever carries the call.
#[derive(Debug)]
pub struct Approval(());

impl Approval {
    /// An approval of this very call.
    #[must_use]
    pub const fn in_force() -> Self {
        Self(())
    }
}

/// Leave to send one thing to one place.
///
/// INVARIANT (permit from decision): the only constructors are in [`decide`] and, for what it held, in
/// [`Decision::released`].
#[derive(Debug)]
pub struct Permit(Basis);

/// What a permit stands on.
#[derive(Clone, Copy, Debug)]
enum Basis {
    WithinCeiling,
    Approved,
}

impl Permit {
    /// What let the call pass.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self.0 {
            Basis::WithinCeiling => "within-ceiling",
            Basis::Approved => "approved",
        }
    }

    /// Spends the permit on what is to be sent.
    pub fn clear<T>(self, subject: T) -> Cleared<T> {
        Cleared(subject)
    }
}

/// Something that a decision let through: what a tool, a destination or a person may be sent.
#[derive(Debug)]
pub struct Cleared<T>(T);

impl<T> Cleared<T> {
    /// Takes out what was cleared, to send it.
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// A call passes only if whoever makes it may use the tool, max(session label, class found in its arguments) <= the
/// tool's ceiling, the session is not halted and the tool's control level lets it.
#[must_use]
pub fn decide(attempt: Attempt<'_>) -> Decision {
    let Attempt {
        tool,
        context,
        arguments,
        ..
    } = attempt;
    match tool.grant {
        Grant::Given => {}
        Grant::Refused => return Decision::Deny(Refusal::of(Rule::NotPermitted, attempt)),
        Grant::Unanswered(_) => return Decision::Deny(Refusal::of(Rule::AuthorityUnreachable, attempt)),
    }
    if let Some(halt) = context.halted() {
        let rule = if halt.is_end() {
            Rule::SessionEnded
        } else {
            Rule::SessionHalted
        };
        return Decision::Deny(Refusal::of(rule, attempt));
    }
    if tool.control == Control::Blocked {
        return Decision::Deny(Refusal::of(Rule::ToolBlocked, attempt));
    }
    if context.label().class() > tool.ceiling {
        return Decision::Deny(Refusal::of(Rule::LabelAboveCeiling, attempt));
    }
    if arguments > tool.ceiling {
        return Decision::Deny(Refusal::of(Rule::ArgumentsAboveCeiling, attempt));
    }
    if let Some(rule) = refused_veil(tool, attempt.veiled) {
        return Decision::Deny(Refusal::of(rule, attempt));
    }
    match tool.control {
        // INVARIANT (permit from decision): every check above has passed.
        Control::Auto => Decision::Allow(Permit(Basis::WithinCeiling)),
        Control::HumanApproval => Decision::Hold(Refusal::of(Rule::HumanApproval, attempt)),
        Control::Blocked => Decision::Deny(Refusal::of(Rule::ToolBlocked, attempt)),
    }
}

/// What keeps stubs and handles from resolving in a call to this tool. One that nobody was given is no more than its
/// text to a tool that could not resolve it anyway.
fn refused_veil(tool: &Tool, veiled: Veiled) -> Option<Rule> {
    match veiled {
        Veiled::Nothing => None,
        Veiled::Known(_) | Veiled::Mixed(_) if !tool.sink => Some(Rule::StubOutsideSink),
        Veiled::Known(class) => (class > tool.ceiling).then_some(Rule::StubAboveCeiling),
        Veiled::Unknown | Veiled::Mixed(_) => tool.sink.then_some(Rule::UnknownStub),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DoubtCause, Entry, Halt, Moment, Name, ToolFacts};
    use proptest::prelude::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn context_at(class: Class) -> ContextState {
        let mut context = ContextState::clean();
        let kinds = class.kind().into_iter().collect();
        context.admit(Entry {
            class,
            kinds,
            source: name("search_email"),
            at: Moment(0),
        });
        context
    }

    fn tool(ceiling: Class, control: Control) -> Tool {
        let facts = ToolFacts {
            ceiling: Some(ceiling),
            control,
            ..ToolFacts::named(name("web_search"))
        };
        Tool::declared(facts)
    }

    fn verdict(tool: &Tool, context: &ContextState, arguments: Class) -> Decision {
        decide(Attempt {
            tool,
            context,
            arguments,
            argument_kinds: Kinds::NONE,
            veiled: Veiled::Nothing,
        })
    }

    proptest! {
        #[test]
        fn passes_only_under_the_ceiling(label in 0..5u8, arguments in 0..5u8, ceiling in 0..5u8) {
            let context = context_at(Class::from_rank(label).unwrap());
            let tool = tool(Class::from_rank(ceiling).unwrap(), Control::Auto);
            let decision = verdict(&tool, &context, Class::from_rank(arguments).unwrap());
            prop_assert_eq!(matches!(decision, Decision::Allow(_)), label.max(arguments) <= ceiling);
        }
    }

    #[test]
    fn control_levels_never_widen() {
        let clean = ContextState::clean();
        let held = tool(Class::Public, Control::HumanApproval);
        assert!(
            matches!(verdict(&held, &clean, Class::Public), Decision::Hold(r) if r.rule() == Rule::HumanApproval)
        );
        let private = context_at(Class::Pii);
        assert!(
            matches!(verdict(&held, &private, Class::Public), Decision::Deny(r) if r.rule() == Rule::LabelAboveCeiling)
        );
        let blocked = tool(Class::Secret, Control::Blocked);
        assert!(
            matches!(verdict(&blocked, &clean, Class::Public), Decision::Deny(r) if r.rule() == Rule::ToolBlocked)
        );
    }

    #[test]
    fn a_doubt_holds_what_would_pass_and_leaves_a_denial_alone() {
        let doubt = || {
            Some(Doubt {
                argument: "recipient".parse().unwrap(),
                cause: DoubtCause::Untrusted {
                    source: name("read_file"),
                },
            })
        };
        let (clean, private) = (ContextState::clean(), context_at(Class::Pii));
        let cases = [
            (Control::Auto, &clean, Some(Rule::UntrustedOrigin)),
            (Control::HumanApproval, &clean, Some(Rule::UntrustedOrigin)),
            (Control::Blocked, &clean, None),
            (Control::Auto, &private, None),
        ];
        for (control, context, held_by) in cases {
            let tool = tool(Class::Internal, control);
            let attempt = Attempt {
                tool: &tool,
                context,
                arguments: Class::Public,
                argument_kinds: Kinds::NONE,
                veiled: Veiled::Nothing,
            };
            match decide(attempt).doubted(attempt, doubt()) {
                Decision::Hold(refusal) => {
                    assert_eq!(Some(refusal.rule()), held_by);
                    let reason = refusal.reason();
                    assert!(
                        reason.contains("recipient") && reason.contains("read_file"),
                        "{reason}"
                    );
                }
                Decision::Deny(_) => assert_eq!(held_by, None),
                Decision::Allow(_) => panic!("a doubted call passed"),
            }
            let undoubted = decide(attempt).doubted(attempt, None);
            assert!(!matches!(undoubted, Decision::Hold(r) if r.rule() == Rule::UntrustedOrigin));
        }
    }

    #[test]
    fn an_approval_releases_what_is_held_and_lifts_no_ceiling() {
        let (clean, private) = (ContextState::clean(), context_at(Class::Pii));
        let cases = [
            (Control::HumanApproval, &clean, "approved"),
            (Control::Auto, &clean, "within-ceiling"),
            (Control::Blocked, &clean, "tool-blocked"),
            (Control::HumanApproval, &private, "label-above-ceiling"),
        ];
        for (control, context, rule) in cases {
            let tool = tool(Class::Internal, control);
            let decision = verdict(&tool, context, Class::Public).released(&Approval::in_force());
            assert_eq!(decision.rule(), rule);
            let passes = matches!(decision, Decision::Allow(_));
            assert_eq!(passes, rule == "approved" || rule == "within-ceiling");
        }
    }

    #[test]
    fn nothing_passes_in_a_halted_session() {
        let mut halted = ContextState::clean();
        halted.halt(Halt {
            source: name("fetch"),
            at: Moment(0),
        });
        let decision = verdict(&tool(Class::Secret, Control::Auto), &halted, Class::Public);
        assert!(matches!(decision, Decision::Deny(r) if r.rule() == Rule::SessionHalted));
        let mut ended = ContextState::clean();
        ended.halt(Halt {
            source: name(Halt::END),
            at: Moment(0),
        });
        let decision = verdict(&tool(Class::Secret, Control::Auto), &ended, Class::Public);
        assert!(matches!(decision, Decision::Deny(r) if r.rule() == Rule::SessionEnded && !r.retryable()));
    }

    #[test]
    fn nothing_passes_without_leave() {
        for (grant, rule, retryable) in [
            (Grant::Refused, Rule::NotPermitted, false),
            (Grant::Unanswered("it sleeps"), Rule::AuthorityUnreachable, true),
        ] {
            let tool = tool(Class::Secret, Control::Auto).with_grant(grant);
            let decision = verdict(&tool, &ContextState::clean(), Class::Public);
            let Decision::Deny(refusal) = decision else {
                panic!("must be denied")
            };
            assert_eq!((refusal.rule(), refusal.retryable()), (rule, retryable));
            let asleep = matches!(grant, Grant::Unanswered(_));
            assert_eq!(refusal.reason().contains("it sleeps"), asleep);
        }
    }

    #[test]
    fn a_denial_names_class_and_source() {
        let decision = verdict(
            &tool(Class::Public, Control::Auto),
            &context_at(Class::Internal),
            Class::Public,
        );
        let Decision::Deny(refusal) = decision else {
            panic!("must be denied")
        };
        let reason = refusal.reason();
        assert!(
            reason.starts_with(
                "tool \"web_search\" blocked: session context contains internal_ip (from search_email)"
            ),
            "{reason}"
        );
        assert!(reason.contains("internal"), "{reason}");
        assert!(!refusal.retryable());
        assert!(!refusal.remedy().is_empty());
    }
}
