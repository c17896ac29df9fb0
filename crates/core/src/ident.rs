//! Names that come from outside: users, agents, sessions, tools, datasets.

use std::fmt;
use std::sync::Arc;

/// A name that is safe to log, to show and to use as one path component.
///
/// INVARIANT (ident stays inside): 1 to 128 of `A-Z a-z 0-9 . _ - : @ +`, not starting with a dot. So no name can
/// be `..`, hold a separator, a NUL or a control character, or hide a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ident(Arc<str>);

impl Ident {
    /// The most characters a name may have.
    pub const MAX_LEN: usize = 128;

    /// Reads a name from outside.
    ///
    /// # Errors
    /// When the text is empty, too long, starts with a dot, or holds a character outside the set.
    pub fn parse(text: &str) -> Result<Self, BadIdent> {
        if text.is_empty() {
            return Err(BadIdent::Empty);
        }
        if text.len() > Self::MAX_LEN {
            return Err(BadIdent::TooLong);
        }
        if text.starts_with('.') {
            return Err(BadIdent::LeadingDot);
        }
        // INVARIANT (ident stays inside): the set holds no path separator on any system.
        if !text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-:@+".contains(&b))
        {
            return Err(BadIdent::Character);
        }
        Ok(Self(text.into()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::borrow::Borrow<str> for Ident {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// What a tool or a dataset is called. Wider than [`Ident`], since it never becomes a path: 1 to 200 bytes of
/// printable text with no control or invisible formatting characters, so it cannot forge a log line or hide.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// The most bytes a name may have.
    pub const MAX_LEN: usize = 200;

    /// Reads a name from outside.
    ///
    /// # Errors
    /// When the text is blank, too long, or holds a character that does not print.
    pub fn parse(text: &str) -> Result<Self, BadIdent> {
        if text.trim().is_empty() {
            return Err(BadIdent::Empty);
        }
        if text.len() > Self::MAX_LEN {
            return Err(BadIdent::TooLong);
        }
        if text.chars().any(is_unprintable) {
            return Err(BadIdent::Character);
        }
        Ok(Self(text.into()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

impl From<&Ident> for Name {
    fn from(ident: &Ident) -> Self {
        Self(ident.0.clone())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Why a text is no name. The text itself is not repeated: it may hold anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadIdent {
    /// Nothing was given.
    #[error("a name must not be empty")]
    Empty,
    /// More than [`Ident::MAX_LEN`] or [`Name::MAX_LEN`] bytes.
    #[error(
        "the name is too long (128 characters for users, agents and sessions; 200 for tools and datasets)"
    )]
    TooLong,
    /// It would be hidden, or climb.
    #[error("a name must not start with a dot")]
    LeadingDot,
    /// A character outside the set.
    #[error(
        "the name holds a character that is not allowed (users, agents and sessions: letters, digits and . _ - : @ +; \
         tools and datasets: printable text)"
    )]
    Character,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_are_refused() {
        for (text, why) in [
            ("", BadIdent::Empty),
            ("..", BadIdent::LeadingDot),
            (".private_data", BadIdent::LeadingDot),
            ("a/../b", BadIdent::Character),
            ("a\\b", BadIdent::Character),
            ("a\0b", BadIdent::Character),
            ("a b", BadIdent::Character),
            ("é", BadIdent::Character),
        ] {
            assert_eq!(Ident::parse(text), Err(why), "{text:?}");
        }
        assert_eq!(Ident::parse(&"x".repeat(129)), Err(BadIdent::TooLong));
    }

    #[test]
    fn names_of_tools_print_as_they_are() {
        for good in [
            "search_email",
            "crm/lookup",
            "sql:patients",
            "Q4 projections",
            "données",
        ] {
            assert_eq!(Name::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "  ",
            "a\nb",
            "a\u{202e}b",
            "zero\u{200b}width",
            "tag\u{e0041}",
        ] {
            assert!(Name::parse(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn ident_stays_inside(text in "\\PC{0,140}") {
            if let Ok(name) = Ident::parse(&text) {
                let base = std::path::Path::new("/base");
                let joined = base.join(name.as_str());
                prop_assert_eq!(joined.parent(), Some(base));
                prop_assert_eq!(joined.components().count(), 3);
            }
        }
    }
}
