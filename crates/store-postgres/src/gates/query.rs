//! The statements for gates. One for each way of listing, so that each is planned for its own index.

use tidegate_store::{GateQuery, Listed};

use crate::query::Query;

/// A statement about gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateStatement {
    Find,
    Latest,
    Overdue,
    LeftOpen,
    Changed,
    Tick,
    List(State, Narrowed),
    Open,
    Change,
}

/// Which gates are listed, by state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Decided,
    All,
}

/// Which gates are listed, by what they are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Narrowed {
    No,
    Kind,
    Session,
    Both,
}

macro_rules! gates {
    ($rest:literal) => {
        concat!(
            "SELECT id, kind, session, of_user, agent, asked_by, owner, binding, tool, class, rule, policy, document, evidence, \
             opened_at, expires_at, needed, state, approvals, ended_by, ended_reason, ended_at, place, tick FROM gate WHERE ",
            $rest
        )
    };
}

impl GateStatement {
    /// Every statement.
    pub(crate) const ALL: [Query; 20] = [
        Query::Gate(Self::Find),
        Query::Gate(Self::Latest),
        Query::Gate(Self::Overdue),
        Query::Gate(Self::LeftOpen),
        Query::Gate(Self::Changed),
        Query::Gate(Self::Tick),
        Query::Gate(Self::List(State::Open, Narrowed::No)),
        Query::Gate(Self::List(State::Open, Narrowed::Kind)),
        Query::Gate(Self::List(State::Open, Narrowed::Session)),
        Query::Gate(Self::List(State::Open, Narrowed::Both)),
        Query::Gate(Self::List(State::Decided, Narrowed::No)),
        Query::Gate(Self::List(State::Decided, Narrowed::Kind)),
        Query::Gate(Self::List(State::Decided, Narrowed::Session)),
        Query::Gate(Self::List(State::Decided, Narrowed::Both)),
        Query::Gate(Self::List(State::All, Narrowed::No)),
        Query::Gate(Self::List(State::All, Narrowed::Kind)),
        Query::Gate(Self::List(State::All, Narrowed::Session)),
        Query::Gate(Self::List(State::All, Narrowed::Both)),
        Query::Gate(Self::Open),
        Query::Gate(Self::Change),
    ];

    /// The statement that answers a question.
    pub(super) const fn of(query: &GateQuery) -> Self {
        let state = match query.listed {
            Listed::Open => State::Open,
            Listed::Decided => State::Decided,
            Listed::All => State::All,
        };
        let narrowed = match (query.kind.is_some(), query.session.is_some()) {
            (false, false) => Narrowed::No,
            (true, false) => Narrowed::Kind,
            (false, true) => Narrowed::Session,
            (true, true) => Narrowed::Both,
        };
        Self::List(state, narrowed)
    }

    pub(crate) const fn sql(self) -> &'static str {
        match self {
            Self::Find => gates!("id = $1"),
            Self::Latest => gates!("binding = $1 ORDER BY place DESC LIMIT 1"),
            Self::Overdue => {
                gates!("state IN ('open', 'approved') AND expires_at <= $1 ORDER BY expires_at LIMIT $2")
            }
            Self::LeftOpen => gates!("state = 'open' AND owner = $1 ORDER BY place LIMIT $2"),
            Self::Changed => gates!("tick > $1 ORDER BY tick LIMIT $2"),
            Self::Tick => "SELECT tick FROM gate_clock",
            Self::List(State::Open, narrowed) => open_list(narrowed),
            Self::List(State::Decided, narrowed) => decided_list(narrowed),
            Self::List(State::All, narrowed) => whole_list(narrowed),
            Self::Open => {
                "SELECT verdict, its_place, its_tick, known FROM open_gate($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
                 $13, $14, $15, $16, $17, $18, $19, $20)"
            }
            Self::Change => {
                "SELECT verdict, its_tick FROM change_gate($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
            }
        }
    }
}

const fn open_list(narrowed: Narrowed) -> &'static str {
    match narrowed {
        Narrowed::No => {
            gates!("state = 'open' AND place > $1 AND expires_at > $3 ORDER BY place LIMIT $2")
        }
        Narrowed::Kind => {
            gates!("state = 'open' AND place > $1 AND expires_at > $3 AND kind = $4 ORDER BY place LIMIT $2")
        }
        Narrowed::Session => gates!(
            "state = 'open' AND place > $1 AND expires_at > $3 AND session = $4 ORDER BY place LIMIT $2"
        ),
        Narrowed::Both => gates!(
            "state = 'open' AND place > $1 AND expires_at > $3 AND session = $4 AND kind = $5 ORDER BY place LIMIT $2"
        ),
    }
}

const fn decided_list(narrowed: Narrowed) -> &'static str {
    match narrowed {
        Narrowed::No => gates!("state <> 'open' AND place < $1 ORDER BY place DESC LIMIT $2"),
        Narrowed::Kind => gates!("state <> 'open' AND place < $1 AND kind = $3 ORDER BY place DESC LIMIT $2"),
        Narrowed::Session => {
            gates!("state <> 'open' AND place < $1 AND session = $3 ORDER BY place DESC LIMIT $2")
        }
        Narrowed::Both => {
            gates!(
                "state <> 'open' AND place < $1 AND session = $3 AND kind = $4 ORDER BY place DESC LIMIT $2"
            )
        }
    }
}

const fn whole_list(narrowed: Narrowed) -> &'static str {
    match narrowed {
        Narrowed::No => gates!("place < $1 ORDER BY place DESC LIMIT $2"),
        Narrowed::Kind => gates!("place < $1 AND kind = $3 ORDER BY place DESC LIMIT $2"),
        Narrowed::Session => gates!("place < $1 AND session = $3 ORDER BY place DESC LIMIT $2"),
        Narrowed::Both => gates!("place < $1 AND session = $3 AND kind = $4 ORDER BY place DESC LIMIT $2"),
    }
}
