//! What an authority says of a tool: whether this agent may use it, and the two facts that the authority keeps.

/// Whether an agent may use a tool at all, whatever its session holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grant {
    /// It may.
    Given,
    /// It may not.
    Refused,
    /// Nobody who could say so answered. The words are for people, and fixed: they hold nothing of the question.
    Unanswered(&'static str),
}

impl Grant {
    /// The one of two that gives less.
    pub(crate) const fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Refused, _) | (_, Self::Refused) => Self::Refused,
            (Self::Unanswered(why), _) | (_, Self::Unanswered(why)) => Self::Unanswered(why),
            (Self::Given, Self::Given) => Self::Given,
        }
    }
}

/// What an authority says of a tool as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tags {
    /// Whether it carries what it is given out of the organisation.
    pub external: bool,
    /// Whether it returns what is not public.
    pub internal_source: bool,
}
