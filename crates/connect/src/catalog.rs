//! Classes by pattern, for what is named by paths.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use tidegate_core::Class;

/// The classes of paths: the highest of all patterns that match, and a class for what none matches.
///
/// A pattern is also tried without regard to case, but then it can only raise: a file system that does not know case must
/// not be a way around a pattern, nor may one that does be lowered by another name.
#[derive(Clone, Debug)]
pub struct PathClasses {
    exact: GlobSet,
    folded: GlobSet,
    classes: Vec<Class>,
    otherwise: Class,
}

/// A pattern that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a pattern: * stands for any part of a name, ** for any number of names, such as \"hr/**/*.csv\""
)]
pub struct BadPattern;

impl PathClasses {
    /// Patterns and their classes, and the class of everything else.
    ///
    /// # Errors
    /// When a pattern cannot be read.
    pub fn new<'a>(
        patterns: impl IntoIterator<Item = (&'a str, Class)>,
        otherwise: Class,
    ) -> Result<Self, BadPattern> {
        let (mut exact, mut folded) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let mut classes = Vec::new();
        for (pattern, class) in patterns {
            for (set, is_folded) in [(&mut exact, false), (&mut folded, true)] {
                let glob = GlobBuilder::new(pattern.trim_start_matches('/'))
                    .literal_separator(true)
                    .case_insensitive(is_folded)
                    .build();
                set.add(glob.map_err(|_| BadPattern)?);
            }
            classes.push(class);
        }
        Ok(Self {
            exact: exact.build().map_err(|_| BadPattern)?,
            folded: folded.build().map_err(|_| BadPattern)?,
            classes,
            otherwise,
        })
    }

    /// The class of a path.
    #[must_use]
    pub fn of(&self, path: &str) -> Class {
        let path = path.trim_start_matches('/');
        let exact = self.highest(&self.exact, path);
        let class = exact.unwrap_or(self.otherwise);
        self.highest(&self.folded, path)
            .map_or(class, |folded| class.join(folded))
    }

    /// The class that patterns give a path, where one does.
    #[must_use]
    pub fn declared(&self, path: &str) -> Option<Class> {
        self.highest(&self.folded, path.trim_start_matches('/'))
    }

    /// The highest class that any path has.
    #[must_use]
    pub fn most(&self) -> Class {
        self.classes
            .iter()
            .fold(self.otherwise, |most, class| most.join(*class))
    }

    fn highest(&self, set: &GlobSet, path: &str) -> Option<Class> {
        let matched = set.matches(path);
        matched
            .into_iter()
            .filter_map(|index| self.classes.get(index))
            .copied()
            .max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_pattern_counts() {
        let patterns = [
            ("handbook/**", Class::Public),
            ("hr/**", Class::Pii),
            ("**/*.key", Class::Secret),
            ("Open/*", Class::Public),
        ];
        let classes = PathClasses::new(patterns, Class::Confidential).unwrap();
        for (path, expected) in [
            ("handbook/a.md", Class::Public),
            ("handbook/deep/a.md", Class::Public),
            ("handbook/server.key", Class::Secret),
            ("server.KEY", Class::Secret),
            ("HR/list.csv", Class::Pii),
            ("/hr/list.csv", Class::Pii),
            ("open/a", Class::Confidential),
            ("Open/a", Class::Public),
            ("Open/deep/a", Class::Confidential),
            ("other", Class::Confidential),
        ] {
            assert_eq!(classes.of(path), expected, "{path}");
        }
        assert_eq!(classes.most(), Class::Secret);
        assert_eq!(
            PathClasses::new([("a[", Class::Public)], Class::Public).unwrap_err(),
            BadPattern
        );
    }
}
