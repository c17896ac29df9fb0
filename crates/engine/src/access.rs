//! Who may do what, and to whose sessions: the one table of roles.

use tidegate_core::{Ident, Role};

/// Someone at a wire, known by their token.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Who holds the token.
    pub principal: Ident,
    /// The agent the token is bound to; without one it stands for any agent of its principal.
    pub agent: Option<Ident>,
    /// What the token is good for.
    pub role: Role,
    /// The token's public id, for the record.
    pub token_id: Ident,
}

/// Something that can be done with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Open one.
    Open,
    /// See its state, its manifest, its changes; check a plan.
    Look,
    /// Ask whether a call may pass.
    Call,
    /// Bring a tool's answer or a dataset into it.
    Bring,
    /// Say what the user typed.
    SpeakForOperator,
    /// Start its context anew.
    Reset,
    /// Be given the values behind its stubs and handles, to carry them to a tool.
    Resolve,
    /// List sessions and read what happened in them.
    Browse,
    /// See what waits for a person, and what a person should look at.
    Review,
    /// Approve or deny what waits.
    Decide,
    /// Be shown raw what waits.
    Reveal,
    /// Ask another person for a decision.
    Ask,
    /// Say whether a source is assigned the right class.
    Settle,
}

impl Act {
    /// Every act.
    pub const ALL: [Self; 13] = [
        Self::Open,
        Self::Look,
        Self::Call,
        Self::Bring,
        Self::SpeakForOperator,
        Self::Reset,
        Self::Resolve,
        Self::Browse,
        Self::Review,
        Self::Decide,
        Self::Reveal,
        Self::Ask,
        Self::Settle,
    ];

    /// What it is called in a record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Look => "look",
            Self::Call => "call",
            Self::Bring => "bring",
            Self::SpeakForOperator => "speak-for-operator",
            Self::Reset => "reset",
            Self::Resolve => "resolve",
            Self::Browse => "browse",
            Self::Review => "review",
            Self::Decide => "decide",
            Self::Reveal => "reveal",
            Self::Ask => "ask",
            Self::Settle => "settle",
        }
    }

    /// What it is called in an answer to someone who may not do it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open sessions",
            Self::Look => "see sessions",
            Self::Call => "make calls",
            Self::Bring => "bring data into sessions",
            Self::SpeakForOperator => "say what the user typed",
            Self::Reset => "reset sessions",
            Self::Resolve => "resolve stubs and handles",
            Self::Browse => "list sessions and read their history",
            Self::Review => "see gates and class reviews",
            Self::Decide => "decide about gates",
            Self::Reveal => "be shown raw what a gate is about",
            Self::Ask => "ask for a decision",
            Self::Settle => "settle class reviews",
        }
    }
}

/// How far a role reaches in an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Not at all.
    Nothing,
    /// The sessions issued to this principal and agent.
    Own,
    /// Every session.
    All,
}

/// The table. Every pair of role and act is spelled out; there is no default.
#[must_use]
pub const fn reach(role: Role, act: Act) -> Reach {
    match (role, act) {
        (Role::Agent, Act::Open | Act::Look | Act::Call | Act::Bring) => Reach::Own,
        // What an agent says the user typed may be what a page told it to say.
        (Role::Agent, Act::SpeakForOperator) => Reach::Nothing,
        (Role::Agent | Role::Connector, Act::Reset) => Reach::Nothing,
        // Whoever works for the agent may not see what the agent may not; who carries calls to tools must.
        (Role::Connector, Act::Resolve) => Reach::All,
        (
            Role::Agent | Role::HumanOperator | Role::PiiAuthorizedReviewer | Role::Auditor | Role::Admin,
            Act::Resolve,
        ) => Reach::Nothing,
        // Who works in sessions knows its own; who watches over them sees all, as names and classes.
        (Role::Agent | Role::Connector, Act::Browse) => Reach::Nothing,
        (Role::HumanOperator | Role::PiiAuthorizedReviewer | Role::Auditor | Role::Admin, Act::Browse) => {
            Reach::All
        }
        (Role::Connector, Act::Open | Act::Look | Act::Call | Act::Bring | Act::SpeakForOperator) => {
            Reach::All
        }
        // Who works for the agent sees its gates through its sessions, and decides about none.
        (Role::Agent | Role::Connector, Act::Review | Act::Decide | Act::Reveal | Act::Ask) => Reach::Nothing,
        (
            Role::HumanOperator | Role::PiiAuthorizedReviewer | Role::Admin,
            Act::Review | Act::Decide | Act::Ask,
        ) => Reach::All,
        (Role::Auditor, Act::Review) => Reach::All,
        (Role::Auditor, Act::Decide | Act::Ask) => Reach::Nothing,
        (Role::PiiAuthorizedReviewer, Act::Reveal) => Reach::All,
        (Role::HumanOperator | Role::Auditor | Role::Admin, Act::Reveal) => Reach::Nothing,
        // Classes are the operator's: whoever may see raw personal data need not know where it should stand.
        (Role::HumanOperator | Role::Admin, Act::Settle) => Reach::All,
        (Role::Agent | Role::Connector | Role::PiiAuthorizedReviewer | Role::Auditor, Act::Settle) => {
            Reach::Nothing
        }
        (Role::HumanOperator, Act::Look | Act::SpeakForOperator) => Reach::All,
        (Role::HumanOperator, Act::Open | Act::Call | Act::Bring | Act::Reset) => Reach::Nothing,
        (Role::PiiAuthorizedReviewer | Role::Auditor, Act::Look) => Reach::All,
        (
            Role::PiiAuthorizedReviewer | Role::Auditor,
            Act::Open | Act::Call | Act::Bring | Act::SpeakForOperator | Act::Reset,
        ) => Reach::Nothing,
        (
            Role::Admin,
            Act::Open | Act::Look | Act::Call | Act::Bring | Act::SpeakForOperator | Act::Reset,
        ) => Reach::All,
    }
}

/// Whether a role reads the whole record, the gateway's own chain with it.
#[must_use]
pub const fn may_audit(role: Role) -> bool {
    match role {
        Role::Auditor | Role::Admin => true,
        Role::Agent | Role::Connector | Role::HumanOperator | Role::PiiAuthorizedReviewer => false,
    }
}

impl Caller {
    /// Whether a session issued to this user and agent is the caller's own.
    #[must_use]
    pub fn owns(&self, user: &Ident, agent: &Ident) -> bool {
        self.principal == *user && self.agent.as_ref().is_none_or(|bound| bound == agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_administrator_resets() {
        for role in Role::ALL {
            let expected = if role == Role::Admin {
                Reach::All
            } else {
                Reach::Nothing
            };
            assert_eq!(reach(role, Act::Reset), expected, "{role}");
        }
    }

    #[test]
    fn gates_are_decided_by_people_and_shown_raw_to_few() {
        for role in Role::ALL {
            let decides = matches!(
                role,
                Role::HumanOperator | Role::PiiAuthorizedReviewer | Role::Admin
            );
            let all = |may: bool| if may { Reach::All } else { Reach::Nothing };
            assert_eq!(reach(role, Act::Decide), all(decides), "{role}");
            assert_eq!(reach(role, Act::Ask), all(decides), "{role}");
            assert_eq!(
                reach(role, Act::Review),
                all(decides || role == Role::Auditor),
                "{role}"
            );
            assert_eq!(
                reach(role, Act::Reveal),
                all(role == Role::PiiAuthorizedReviewer),
                "{role}"
            );
        }
    }

    #[test]
    fn classes_are_settled_by_operators() {
        for role in Role::ALL {
            let settles = matches!(role, Role::HumanOperator | Role::Admin);
            let expected = if settles { Reach::All } else { Reach::Nothing };
            assert_eq!(reach(role, Act::Settle), expected, "{role}");
        }
    }

    #[test]
    fn an_agent_does_not_speak_for_the_operator() {
        for role in Role::ALL {
            let speaks = matches!(role, Role::Connector | Role::HumanOperator | Role::Admin);
            let expected = if speaks { Reach::All } else { Reach::Nothing };
            assert_eq!(reach(role, Act::SpeakForOperator), expected, "{role}");
        }
    }

    #[test]
    fn only_people_browse() {
        for role in Role::ALL {
            let works = matches!(role, Role::Agent | Role::Connector);
            let expected = if works { Reach::Nothing } else { Reach::All };
            assert_eq!(reach(role, Act::Browse), expected, "{role}");
        }
    }

    #[test]
    fn a_bound_token_owns_only_its_agents_sessions() {
        let ident = |text| Ident::parse(text).unwrap();
        let bound = Caller {
            principal: ident("alice"),
            agent: Some(ident("bot")),
            role: Role::Agent,
            token_id: ident("tok"),
        };
        assert!(bound.owns(&ident("alice"), &ident("bot")));
        assert!(!bound.owns(&ident("alice"), &ident("other")));
        assert!(!bound.owns(&ident("bob"), &ident("bot")));
        let unbound = Caller { agent: None, ..bound };
        assert!(unbound.owns(&ident("alice"), &ident("other")));
        assert!(!unbound.owns(&ident("bob"), &ident("other")));
    }
}
