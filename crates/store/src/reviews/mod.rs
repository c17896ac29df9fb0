//! Class reviews: whether a source is assigned the right class is a question to a person, and nothing waits for the answer.
//!
//! A review is one row with names and classes in it and no value of any call. One is open for each source and cause; what comes
//! again while it is open is counted. How a review changes is written here once, as functions of the review alone; a backend's
//! part is to make one such step whole and durable.

mod contract;

use std::fmt;
use std::str::FromStr;

use tidegate_core::{Class, Ident, Moment, Name, Role};

pub use contract::{OpenReviewError, OpenedReview, ReviewQuery, ReviewStore, Reviewed};

/// Why somebody should look at the class of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReviewCause {
    /// A server offers a tool that nobody has looked at.
    NewTool,
    /// A tool describes itself otherwise than before.
    ChangedTool,
    /// The catalog has a connector that nobody has looked at.
    NewConnector,
    /// Data above what may be given was on its way out.
    PiiLeakRisk,
}

impl ReviewCause {
    /// Every cause.
    pub const ALL: [Self; 4] = [
        Self::NewTool,
        Self::ChangedTool,
        Self::NewConnector,
        Self::PiiLeakRisk,
    ];

    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NewTool => "new_tool",
            Self::ChangedTool => "changed_tool",
            Self::NewConnector => "new_connector",
            Self::PiiLeakRisk => "pii_leak_risk",
        }
    }

    /// Whether it happens to a source once. What is settled is not new again.
    #[must_use]
    pub const fn is_once(self) -> bool {
        match self {
            Self::NewTool | Self::NewConnector => true,
            Self::ChangedTool | Self::PiiLeakRisk => false,
        }
    }
}

impl fmt::Display for ReviewCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ReviewCause {
    type Err = UnknownReviewWord;

    fn from_str(name: &str) -> Result<Self, UnknownReviewWord> {
        let mut all = Self::ALL.into_iter();
        all.find(|cause| cause.as_str() == name).ok_or(UnknownReviewWord)
    }
}

/// What a person found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReviewVerdict {
    /// The class and the ceiling are as they should be.
    AssignedRight,
    /// They were not, and the operator changed the configuration.
    Changed,
}

impl ReviewVerdict {
    /// Every verdict.
    pub const ALL: [Self; 2] = [Self::AssignedRight, Self::Changed];

    /// The name used on every wire and in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AssignedRight => "assigned-right",
            Self::Changed => "changed",
        }
    }
}

impl fmt::Display for ReviewVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ReviewVerdict {
    type Err = UnknownReviewWord;

    fn from_str(name: &str) -> Result<Self, UnknownReviewWord> {
        let mut all = Self::ALL.into_iter();
        all.find(|verdict| verdict.as_str() == name)
            .ok_or(UnknownReviewWord)
    }
}

/// The text names no cause or verdict of a class review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a word of class reviews")]
pub struct UnknownReviewWord;

/// What a source is assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The class of what it returns.
    pub class: Class,
    /// The highest class that it may be given.
    pub ceiling: Class,
}

/// How a review was settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Who settled it.
    pub by: Ident,
    /// In which role.
    pub role: Role,
    /// What they found.
    pub verdict: ReviewVerdict,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Moment,
}

/// A source whose class somebody should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassReview {
    /// Its id.
    pub id: Ident,
    /// The source: a tool, a connector, a destination, or one word for what callers name themselves.
    pub source: Name,
    /// Why it was opened.
    pub cause: ReviewCause,
    /// What the source was assigned when it was opened; nothing when nobody assigned it anything.
    pub assigned: Option<Assignment>,
    /// Since when it is open.
    pub opened_at: Moment,
    /// When the cause was last seen.
    pub seen_at: Moment,
    /// How often the cause was seen.
    pub seen: u32,
    /// How it was settled; open until it was.
    pub settled: Option<Settlement>,
    /// Its place in the order of opening, given by the store.
    pub place: i64,
}

/// Why a review was not settled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettleError {
    /// There is no such review.
    #[error("there is no class review with this id")]
    NoReview,
    /// Somebody settled it before.
    #[error("the class review is settled already")]
    Settled,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] crate::StoreError),
}

impl ClassReview {
    /// Takes a person's verdict. The first one counts.
    ///
    /// # Errors
    /// When it is settled already.
    pub fn settle(&mut self, settlement: Settlement) -> Result<(), SettleError> {
        if self.settled.is_some() {
            return Err(SettleError::Settled);
        }
        self.settled = Some(settlement);
        Ok(())
    }

    /// `open` or `settled`.
    #[must_use]
    pub const fn state(&self) -> &'static str {
        match self.settled {
            None => "open",
            Some(_) => "settled",
        }
    }
}
