//! How far what a tool returns is believed, and which of its arguments must not come from what is not believed.
//!
//! This is about integrity: whose word a value is. It is apart from confidentiality on purpose: nothing here raises,
//! lowers or replaces a label, and a call that the label stops is stopped whatever is said here.

use std::fmt;
use std::str::FromStr;

use crate::Name;

/// Whether others than the operator can write what a source returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Nobody outside can: its values may be acted on.
    Trusted,
    /// Somebody outside can: a mail, a page, a review, a file that was sent.
    Untrusted,
}

impl Trust {
    /// The name used in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
        }
    }
}

impl FromStr for Trust {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = [Self::Trusted, Self::Untrusted]
            .into_iter()
            .find(|trust| trust.as_str() == name);
        found.ok_or("not a degree of trust: expected trusted or untrusted")
    }
}

/// What becomes of a guarded value that nobody is known to have brought, once untrusted content is in the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The call is held: the value may be untrusted content in a form that is not recognised.
    Hold,
    /// The call passes: only what is recognised is held.
    Allow,
}

impl Unknown {
    /// The name used in every file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Allow => "allow",
        }
    }
}

impl FromStr for Unknown {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = [Self::Hold, Self::Allow]
            .into_iter()
            .find(|unknown| unknown.as_str() == name);
        found.ok_or("expected hold or allow")
    }
}

/// What is declared of a tool's integrity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integrity {
    /// Whether what it returns is believed.
    pub trust: Trust,
    /// The parts of an untrusted result that are believed all the same.
    pub trusted_fields: Vec<FieldPath>,
    /// The arguments that must not come from untrusted content alone.
    pub guard: Vec<FieldPath>,
    /// What becomes of guarded values that nobody is known to have brought.
    pub unknown: Unknown,
}

impl Integrity {
    /// Nothing was declared: not believed, and nothing guarded.
    pub const UNDECLARED: Self = Self {
        trust: Trust::Untrusted,
        trusted_fields: Vec::new(),
        guard: Vec::new(),
        unknown: Unknown::Hold,
    };

    /// Whether any of the result is believed.
    #[must_use]
    pub fn is_believed(&self) -> bool {
        self.trust == Trust::Trusted || !self.trusted_fields.is_empty()
    }

    /// Whether a part of the result is believed.
    #[must_use]
    pub fn believes(&self, place: &[Step<'_>]) -> bool {
        self.trust == Trust::Trusted || self.trusted_fields.iter().any(|path| path.covers(place))
    }

    /// The guard over a part of the arguments, if one stands there.
    #[must_use]
    pub fn guard_over(&self, place: &[Step<'_>]) -> Option<&FieldPath> {
        self.guard.iter().find(|path| path.covers(place))
    }
}

impl fmt::Display for Integrity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trust, unknown) = (self.trust.as_str(), self.unknown.as_str());
        write!(f, "{trust} {:?} {:?} {unknown}", self.trusted_fields, self.guard)
    }
}

/// One step into a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Into the field of that name.
    Key(&'a str),
    /// Into an item of an array.
    Item,
}

/// Parts of a JSON value: names joined by dots, where `*` stands for any one name. It names everything below as well, and
/// steps into arrays need not be written.
#[derive(Clone, PartialEq, Eq)]
pub struct FieldPath(String);

impl FieldPath {
    /// The longest path.
    const MAX_LEN: usize = 500;

    /// Whether a place is named by this path.
    #[must_use]
    pub fn covers(&self, place: &[Step<'_>]) -> bool {
        let pattern: Vec<&str> = self.0.split('.').collect();
        covers(&pattern, place)
    }
}

fn covers(pattern: &[&str], place: &[Step<'_>]) -> bool {
    let Some((wanted, rest)) = pattern.split_first() else {
        return true;
    };
    match place.split_first() {
        None => false,
        Some((Step::Key(key), below)) => (*wanted == "*" || wanted == key) && covers(rest, below),
        Some((Step::Item, below)) => covers(pattern, below) || (*wanted == "*" && covers(rest, below)),
    }
}

impl FromStr for FieldPath {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_step = |step: &str| step == "*" || (Name::parse(step).is_ok() && !step.contains('*'));
        if text.len() <= Self::MAX_LEN && text.split('.').count() <= 32 && text.split('.').all(is_step) {
            Ok(Self(text.to_owned()))
        } else {
            Err("not a path: expected names joined by dots, where * stands for any one name")
        }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Why a guarded argument is not believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The guard that stands over the argument.
    pub argument: FieldPath,
    /// What is doubted.
    pub cause: DoubtCause,
}

/// What is doubted of a guarded value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoubtCause {
    /// It came from an untrusted source and from nobody else before.
    Untrusted {
        /// The source.
        source: Name,
    },
    /// Nobody is known to have brought it, and untrusted content is in the session.
    Unknown {
        /// The first untrusted source that brought something.
        source: Name,
    },
    /// It cannot be told where it came from, because not everything that entered the session is remembered.
    Forgotten,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_part_and_everything_below() {
        use Step::{Item, Key};
        let cases: [(&str, &[Step<'_>], bool); 12] = [
            ("recipient", &[Key("recipient")], true),
            ("recipient", &[Key("recipients")], false),
            ("recipients", &[Key("recipients"), Item], true),
            ("recipients", &[Key("recipients"), Item, Key("address")], true),
            ("recipients.*", &[Key("recipients"), Item], true),
            ("recipients.*", &[Key("recipients")], false),
            ("to.address", &[Key("to"), Item, Key("address")], true),
            ("to.address", &[Key("to"), Item, Key("name")], false),
            ("*.address", &[Item, Key("address")], true),
            ("*.address", &[Item, Key("x"), Key("address")], true),
            ("*", &[Key("anything"), Key("below")], true),
            ("*", &[], false),
        ];
        for (pattern, place, expected) in cases {
            let path: FieldPath = pattern.parse().unwrap();
            assert_eq!(path.covers(place), expected, "{pattern} {place:?}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", ".", "a..b", "a*", "a.\u{7}", &"a.".repeat(40)] {
            assert!(text.parse::<FieldPath>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn nothing_is_believed_undeclared() {
        assert!(!Integrity::UNDECLARED.is_believed());
        assert!(!Integrity::UNDECLARED.believes(&[Step::Key("iban")]));
        let partly = Integrity {
            trusted_fields: vec!["*.iban".parse().unwrap()],
            ..Integrity::UNDECLARED
        };
        assert!(partly.is_believed());
        assert!(partly.believes(&[Step::Item, Step::Key("iban")]));
        assert!(!partly.believes(&[Step::Item, Step::Key("subject")]));
    }
}
