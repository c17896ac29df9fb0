//! How a rule family takes part in the one pass over the bytes.
//!
//! A family names the literals without which none of its rules can hold. One shared automaton finds all literals of
//! all families at once and calls [`RuleFamily::verify`] where one stands; the family then decides by an anchored
//! check. Each hit is judged by itself, from a bounded window around it: that is what makes time linear and lets
//! a stream be cut anywhere without losing or inventing a finding.

use std::ops::Range;

use crate::{Finding, RuleId};

/// The most bytes before a literal that a verification may look at.
pub const LOOK_BEHIND: usize = 512;

/// The most bytes after the start of a literal that a verification may look at, and the longest finding.
pub const LOOK_AHEAD: usize = 16 * 1024;

/// The shortest literal the shared pass accepts: shorter ones stand everywhere and cost more than they find.
pub const MIN_LITERAL: usize = 3;

/// Whether ASCII case matters for a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// The bytes as written.
    Exact,
    /// `A-Z` and `a-z` are the same.
    Ignore,
}

/// Where a literal counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stands {
    /// Wherever its bytes are.
    Anywhere,
    /// Where a word starts: a letter or digit after something else, a letter after a digit, a hump of camelCase, or what
    /// follows an escape. Elsewhere it may be reported all the same.
    AtWordStart,
    /// Where it is all the letters of a word and one of these stands beside it; also after an escape, and in runs of letters so
    /// long that words may have been glued together. Elsewhere it may be reported all the same.
    AsWord(Vec<Beside>),
}

/// What stands beside a word, over any blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beside {
    /// It does not matter.
    Anything,
    /// Another word before it, by its end.
    Before(Near),
    /// Another word after it, by its beginning.
    After(Near),
}

/// The bytes of a neighbouring word that are nearest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// A letter or digit in any case.
    pub first: u8,
    /// What comes behind it: a letter or digit in any case, or any byte that is neither for whatever is neither. Nothing when
    /// anything may come.
    pub second: Option<u8>,
}

/// Bytes that must be present for some rule of a family to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// The bytes to look for, at least [`MIN_LITERAL`] of them.
    pub bytes: Vec<u8>,
    /// Whether ASCII case matters.
    pub case: Case,
    /// Where it counts: a literal at the start of a word costs next to nothing to look for.
    pub stands: Stands,
    /// The family's own number for what to check; given back in [`Hit::tag`].
    pub tag: u32,
}

impl Literal {
    /// A literal that must stand as written.
    #[must_use]
    pub fn exact(bytes: impl Into<Vec<u8>>, tag: u32) -> Self {
        Self {
            bytes: bytes.into(),
            case: Case::Exact,
            stands: Stands::Anywhere,
            tag,
        }
    }

    /// A literal in any ASCII case.
    #[must_use]
    pub fn any_case(bytes: impl Into<Vec<u8>>, tag: u32) -> Self {
        Self {
            bytes: bytes.into(),
            case: Case::Ignore,
            stands: Stands::Anywhere,
            tag,
        }
    }

    /// The same literal, as a word beside one of these. A literal that has other bytes than ASCII letters counts wherever a word starts.
    #[must_use]
    pub fn as_word(self, beside: Vec<Beside>) -> Self {
        let letters = self.bytes.iter().all(u8::is_ascii_alphabetic) && self.case == Case::Ignore;
        let stands = match letters {
            true => Stands::AsWord(beside),
            false => Stands::AtWordStart,
        };
        Self { stands, ..self }
    }

    /// The same literal, where a word starts.
    #[must_use]
    pub fn at_word_start(self) -> Self {
        Self {
            stands: Stands::AtWordStart,
            ..self
        }
    }
}

/// A place where a literal stands. Overlapping literals are all reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Where the literal stands in the text.
    pub at: Range<usize>,
    /// The [`Literal::tag`] it was registered with.
    pub tag: u32,
}

/// A set of rules that shares the pass over the bytes.
pub trait RuleFamily: Send + Sync {
    /// Every literal of every rule, asked once when the detector is built. Several literals may share a tag and
    /// several tags may share a literal.
    fn literals(&self) -> Vec<Literal>;

    /// Decides about one hit and pushes what holds. Must look no further than [`LOOK_BEHIND`] bytes before the
    /// literal's start and [`LOOK_AHEAD`] after it, must not depend on other hits, and must not panic on any bytes.
    /// The same finding may be pushed for several hits: equal ones are merged.
    fn verify(&self, text: &[u8], hit: &Hit, found: &mut Vec<Finding>);

    /// What each rule looks for, in words.
    fn rules(&self) -> Vec<RuleDescription>;
}

/// A rule in words, for `explain`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleDescription {
    /// The rule's stable name.
    pub rule: RuleId,
    /// What is looked for, in one sentence.
    pub looks_for: String,
    /// What is checked before the rule fires (checksum, context words, entropy), in one sentence.
    pub verified_by: String,
}
