//! What the caller knows about the session. All of it is optional: without it the score still stands.

use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

/// The shortest tool name that is looked for in every text: shorter ones are ordinary words.
const MIN_TOOL_NAME: usize = 5;

/// The names of tools, prepared once: preparing them costs more than reading a small text does.
pub struct ToolNames {
    names: Vec<String>,
    /// Those that tell by themselves; nothing when they are too many to be looked for at once.
    telling: Option<AhoCorasick>,
}

impl ToolNames {
    /// Prepares the names.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let names: Vec<String> = names.into_iter().collect();
        // Of two names that overlap one is enough. Asked for so little, a few names are looked for in many bytes at once.
        let telling = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(names.iter().filter(|name| name.len() >= MIN_TOOL_NAME));
        Self {
            names,
            telling: telling.ok(),
        }
    }

    /// Where names stand that tell by themselves: anywhere, when that cannot be said.
    pub(super) fn telling(&self, text: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let found = self.telling.as_ref().map(|telling| telling.find_iter(text));
        let anywhere = found.is_none().then_some(0..text.len());
        found
            .into_iter()
            .flatten()
            .map(|found| found.range())
            .chain(anywhere)
    }

    /// Whether there are names that do not.
    pub(super) fn has_short(&self) -> bool {
        self.names.iter().any(|name| name.len() < MIN_TOOL_NAME)
    }

    /// Where any of them stands, by name.
    pub(super) fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        self.names.iter().flat_map(|name| {
            text.match_indices(name.as_str())
                .map(|(start, found)| start..start + found.len())
        })
    }
}

/// Answers whether a session has met a value. The caller compares digests; the detector hands over text and keeps none.
pub trait KnownValues {
    /// Whether this address, link or account number entered the session from a trusted side.
    fn knows(&self, value: &str) -> bool;
}

/// Where a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Surface {
    /// Task data: what a tool, a document, a page or a mail says. The strictest reading, and the one to use when unsure.
    TaskData,
    /// What the operator typed. Requests are expected there; only attempts to override or disguise count.
    OperatorInput,
}

/// What the caller knows about the session.
#[derive(Clone, Copy)]
pub struct InjectionContext<'a> {
    /// The names of the tools this session may call.
    pub tools: Option<&'a ToolNames>,
    /// The values the session has met, if the caller keeps them.
    pub known: Option<&'a dyn KnownValues>,
    /// Where the text comes from.
    pub surface: Surface,
}

impl InjectionContext<'_> {
    /// Nothing is known; the text is task data.
    pub const NONE: Self = Self {
        tools: None,
        known: None,
        surface: Surface::TaskData,
    };
}

impl fmt::Debug for InjectionContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InjectionContext")
            .field("tools", &self.tools.map(|tools| tools.names.len()))
            .field("known", &self.known.is_some())
            .field("surface", &self.surface)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_looked_for_may_stand_anywhere() {
        let names = ToolNames::new(["open_ticket".to_owned(), "ask".to_owned()]);
        let text = b"ask to open_ticket now";
        assert_eq!(names.telling(text).collect::<Vec<_>>(), vec![7..18]);
        assert!(names.has_short());
        let too_many = ToolNames {
            telling: None,
            ..names
        };
        assert_eq!(too_many.telling(text).collect::<Vec<_>>(), vec![0..text.len()]);
        assert_eq!(ToolNames::new([]).telling(text).count(), 0);
    }
}
