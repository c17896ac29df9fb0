//! Data on its way through the house, in a type that cannot print it.

use std::fmt;

use crate::Class;

/// Content together with its class. `Debug` shows the class and the length, nothing else; there is no
/// `Display`, so a value cannot slip into a log line or an error by being formatted.
#[derive(Clone, PartialEq, Eq)]
pub struct Confined<T> {
    class: Class,
    content: T,
}

impl<T> Confined<T> {
    /// Puts content behind its class.
    pub const fn new(class: Class, content: T) -> Self {
        Self { class, content }
    }

    /// The class of the content.
    pub const fn class(&self) -> Class {
        self.class
    }

    /// The content itself, for the one who is about to scan, seal or release it.
    pub const fn expose(&self) -> &T {
        &self.content
    }

    /// Takes the content out.
    pub fn into_exposed(self) -> T {
        self.content
    }

    /// The same content at a class at least as high.
    #[must_use]
    pub fn raise(self, class: Class) -> Self {
        Self {
            class: self.class.join(class),
            content: self.content,
        }
    }
}

impl<T: AsRef<[u8]>> fmt::Debug for Confined<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Confined({}, {} bytes)",
            self.class,
            self.content.as_ref().len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_class_and_length_only() {
        let confined = Confined::new(Class::Internal, "canary-value").raise(Class::Pii);
        assert_eq!(format!("{confined:?}"), "Confined(pii, 12 bytes)");
        assert_eq!(confined.raise(Class::Public).class(), Class::Pii);
    }
}
