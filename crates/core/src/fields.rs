//! The classes of the parts of a result: what of it enters a context in the clear, and what stays behind.
//!
//! A source declares paths and their classes. A declaration covers what stands at its path and all below it; where
//! several cover one place the highest counts, so that adding a line can only be undone by taking it away. What no line
//! covers counts at the class of the source.

use std::fmt;
use std::str::FromStr;

use crate::Class;

/// The most fields that one source declares.
pub const MAX_FIELDS: usize = 256;
const MAX_BYTES: usize = 500;
const MAX_STEPS: usize = 32;

/// Where in a result a field stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldPattern(Pattern);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Pattern {
    Path(Vec<Step>),
    Column(String),
    Header(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    Name(String),
    Any,
    Deep,
}

/// The text names no field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a field must be names joined by dots, where * stands for any one name or element and ** for any number of them, \
     or column:NAME or header:NAME"
)]
pub struct BadField;

impl FromStr for FieldPattern {
    type Err = BadField;

    fn from_str(text: &str) -> Result<Self, BadField> {
        if text.len() > MAX_BYTES || text.chars().any(char::is_control) {
            return Err(BadField);
        }
        let named = |name: &str| Some(name.trim().to_lowercase()).filter(|name| !name.is_empty());
        if let Some(name) = text.strip_prefix("column:") {
            return named(name)
                .map(|name| Self(Pattern::Column(name)))
                .ok_or(BadField);
        }
        if let Some(name) = text.strip_prefix("header:") {
            return named(name)
                .map(|name| Self(Pattern::Header(name)))
                .ok_or(BadField);
        }
        let text = text.strip_prefix("$.").unwrap_or(text);
        let mut steps = Vec::new();
        for part in text.split('.') {
            read_steps(part, &mut steps)?;
        }
        if steps.len() > MAX_STEPS {
            return Err(BadField);
        }
        Ok(Self(Pattern::Path(steps)))
    }
}

/// One name, `*` or `**`, with what stands in brackets after it: `guests[]`, `guests[*]`, `guests[0]`.
fn read_steps(part: &str, steps: &mut Vec<Step>) -> Result<(), BadField> {
    let (name, mut brackets) = match part.find('[') {
        Some(at) => part.split_at(at),
        None => (part, ""),
    };
    match name {
        "" if brackets.is_empty() => return Err(BadField),
        "" => {}
        "*" => steps.push(Step::Any),
        "**" => steps.push(Step::Deep),
        name if name.contains(['*', ']']) || name.trim() != name => return Err(BadField),
        name => steps.push(Step::Name(name.to_owned())),
    }
    while !brackets.is_empty() {
        let (index, rest) = brackets
            .strip_prefix('[')
            .and_then(|inner| inner.split_once(']'))
            .ok_or(BadField)?;
        match index {
            "" | "*" => steps.push(Step::Any),
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                steps.push(Step::Name(digits.to_owned()));
            }
            _ => return Err(BadField),
        }
        brackets = rest;
    }
    Ok(())
}

impl fmt::Display for FieldPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Pattern::Column(name) => write!(f, "column:{name}"),
            Pattern::Header(name) => write!(f, "header:{name}"),
            Pattern::Path(steps) => {
                for (at, step) in steps.iter().enumerate() {
                    if at > 0 {
                        f.write_str(".")?;
                    }
                    match step {
                        Step::Name(name) => f.write_str(name)?,
                        Step::Any => f.write_str("*")?,
                        Step::Deep => f.write_str("**")?,
                    }
                }
                Ok(())
            }
        }
    }
}

/// The declared fields of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldClasses(Vec<(FieldPattern, Class)>);

impl FieldClasses {
    /// Nothing is declared: the result counts as a whole.
    pub const NONE: Self = Self(Vec::new());

    /// Fields and their classes. Those beyond [`MAX_FIELDS`] are dropped, and then count at the source's class; the
    /// configuration refuses so many.
    pub fn new(fields: impl IntoIterator<Item = (FieldPattern, Class)>) -> Self {
        Self(fields.into_iter().take(MAX_FIELDS).collect())
    }

    /// Whether nothing is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields of either of two sources that return this class at most, where nobody knows which of them it is: those
    /// of both where they are the same, else only those that raise.
    pub(crate) fn or(self, other: &Self, returns: Class) -> Self {
        if self == *other {
            return self;
        }
        let mut raising: Vec<_> = self.0.into_iter().chain(other.0.iter().cloned()).collect();
        raising.retain(|(_, class)| *class > returns);
        // Not cut to `MAX_FIELDS`: a field that is dropped would count for less.
        Self(raising)
    }

    /// Every field and its class.
    pub fn iter(&self) -> impl Iterator<Item = (&FieldPattern, Class)> {
        self.0.iter().map(|(pattern, class)| (pattern, *class))
    }

    /// The class of a column of a table, or of a header, where one of that name is declared. Case does not matter.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<Class> {
        self.highest(|pattern| matches!(pattern, Pattern::Column(column) if is_named(column, name)))
    }

    /// The class of a header, where one of that name is declared. Case does not matter.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<Class> {
        self.highest(|pattern| matches!(pattern, Pattern::Header(header) if is_named(header, name)))
    }

    /// Whether any column is declared.
    #[must_use]
    pub fn has_columns(&self) -> bool {
        self.0
            .iter()
            .any(|(field, _)| matches!(field.0, Pattern::Column(_)))
    }

    /// Whether any header is declared.
    #[must_use]
    pub fn has_headers(&self) -> bool {
        self.0
            .iter()
            .any(|(field, _)| matches!(field.0, Pattern::Header(_)))
    }

    fn highest(&self, is_meant: impl Fn(&Pattern) -> bool) -> Option<Class> {
        let meant = self.0.iter().filter(|(field, _)| is_meant(&field.0));
        meant.map(|(_, class)| *class).max()
    }

    /// The root of a result.
    #[must_use]
    pub fn root(&self) -> FieldCursor<'_> {
        let states = (0..self.0.len()).map(|field| (field, 0)).collect();
        let mut root = FieldCursor {
            fields: self,
            states,
            class: None,
        };
        root.settle();
        root
    }
}

fn is_named(declared: &str, name: &str) -> bool {
    declared == name.trim().to_lowercase()
}

/// A place in a result, and what is declared of it.
#[derive(Clone, Debug)]
pub struct FieldCursor<'a> {
    fields: &'a FieldClasses,
    /// Declarations that may still be met further down, each with the steps of it that are behind.
    states: Vec<(usize, usize)>,
    class: Option<Class>,
}

impl FieldCursor<'_> {
    /// The member or element of that name below this place.
    #[must_use]
    pub fn descend(&self, name: &str) -> Self {
        let mut below = Self {
            fields: self.fields,
            states: Vec::with_capacity(self.states.len()),
            class: self.class,
        };
        for &(field, at) in &self.states {
            match self.step(field, at) {
                Some(Step::Name(wanted)) if wanted == name => below.states.push((field, at + 1)),
                Some(Step::Any) => below.states.push((field, at + 1)),
                Some(Step::Deep) => below.states.push((field, at)),
                Some(Step::Name(_)) | None => {}
            }
        }
        below.settle();
        below
    }

    /// The class declared for this place; `None` where nothing covers it.
    #[must_use]
    pub const fn class(&self) -> Option<Class> {
        self.class
    }

    /// Whether something further down may be declared otherwise.
    #[must_use]
    pub fn may_differ_below(&self) -> bool {
        !self.states.is_empty()
    }

    fn step(&self, field: usize, at: usize) -> Option<&Step> {
        match self.fields.0.get(field) {
            Some((FieldPattern(Pattern::Path(steps)), _)) => steps.get(at),
            _ => None,
        }
    }

    /// Takes up what is met here, and what `**` lets be met without a step.
    fn settle(&mut self) {
        let mut waiting = std::mem::take(&mut self.states);
        while let Some((field, at)) = waiting.pop() {
            if self.states.contains(&(field, at)) {
                continue;
            }
            let Some((FieldPattern(Pattern::Path(steps)), class)) = self.fields.0.get(field) else {
                continue;
            };
            match steps.get(at) {
                None => self.class = Some(self.class.map_or(*class, |known| known.join(*class))),
                Some(Step::Deep) => {
                    self.states.push((field, at));
                    waiting.push((field, at + 1));
                }
                Some(Step::Name(_) | Step::Any) => self.states.push((field, at)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fields(declared: &[(&str, Class)]) -> FieldClasses {
        FieldClasses::new(
            declared
                .iter()
                .map(|(text, class)| (text.parse().unwrap(), *class)),
        )
    }

    fn class_at(fields: &FieldClasses, path: &str) -> Option<Class> {
        let mut place = fields.root();
        for step in path.split('/').filter(|step| !step.is_empty()) {
            place = place.descend(step);
        }
        place.class()
    }

    #[test]
    fn the_highest_of_what_covers_a_place_counts() {
        let declared = fields(&[
            ("guest.name", Class::Pii),
            ("dates.*", Class::Public),
            ("guests[].email", Class::Pii),
            ("**.token", Class::Secret),
            ("notes", Class::Internal),
            ("notes.private", Class::Confidential),
        ]);
        for (path, class) in [
            ("guest/name", Some(Class::Pii)),
            ("guest/name/first", Some(Class::Pii)),
            ("guest/other", None),
            ("guest", None),
            ("dates/from", Some(Class::Public)),
            ("dates", None),
            ("guests/0/email", Some(Class::Pii)),
            ("guests/x/email", Some(Class::Pii)),
            ("guests/email", None),
            ("token", Some(Class::Secret)),
            ("a/b/c/token", Some(Class::Secret)),
            ("dates/token", Some(Class::Secret)),
            ("notes/any", Some(Class::Internal)),
            ("notes/private", Some(Class::Confidential)),
        ] {
            assert_eq!(class_at(&declared, path), class, "{path}");
        }
    }

    #[test]
    fn columns_and_headers_are_named_in_any_case() {
        let declared = fields(&[
            ("column:E-Mail", Class::Pii),
            ("header:Set-Cookie", Class::Secret),
        ]);
        assert_eq!(declared.column(" e-mail"), Some(Class::Pii));
        assert_eq!(declared.header("SET-COOKIE"), Some(Class::Secret));
        assert_eq!(
            (declared.column("set-cookie"), declared.header("e-mail")),
            (None, None)
        );
        assert!(!declared.root().may_differ_below());
    }

    #[test]
    fn what_is_no_field_is_refused() {
        for bad in [
            "", ".", "a..b", "a.", "a*b", "a]", "a[", "a[x]", "column:", "header: ", " a", "a\u{7}",
        ] {
            assert_eq!(bad.parse::<FieldPattern>(), Err(BadField), "{bad}");
        }
        for good in [
            "a",
            "$.a.b",
            "[0].a",
            "[]",
            "a[][3]",
            "**",
            "*.x",
            "größe",
            "first name",
        ] {
            assert!(good.parse::<FieldPattern>().is_ok(), "{good}");
        }
    }

    proptest! {
        /// The matcher against the plain definition: try every way to spread a path over the steps.
        #[test]
        fn a_place_is_covered_as_the_plain_definition_says(
            pattern in proptest::collection::vec(prop_oneof!["a", "b", Just("*".to_owned()), Just("**".to_owned())], 1..5),
            path in proptest::collection::vec("[ab]", 0..6),
        ) {
            fn meets(pattern: &[String], path: &[String]) -> bool {
                match pattern.split_first() {
                    None => true,
                    Some((step, rest)) if step == "**" => (0..=path.len()).any(|n| meets(rest, &path[n..])),
                    Some((step, rest)) => path
                        .split_first()
                        .is_some_and(|(name, below)| (step == "*" || step == name) && meets(rest, below)),
                }
            }
            let declared = fields(&[(&pattern.join("."), Class::Pii)]);
            prop_assert_eq!(class_at(&declared, &path.join("/")).is_some(), meets(&pattern, &path));
        }
    }
}
