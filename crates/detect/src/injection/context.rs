//! What the caller knows about the session. All of it is optional: without it the score still stands.

use std::fmt;

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
    pub tool_names: &'a [&'a str],
    /// The values the session has met, if the caller keeps them.
    pub known: Option<&'a dyn KnownValues>,
    /// Where the text comes from.
    pub surface: Surface,
}

impl InjectionContext<'_> {
    /// Nothing is known; the text is task data.
    pub const NONE: Self = Self {
        tool_names: &[],
        known: None,
        surface: Surface::TaskData,
    };
}

impl fmt::Debug for InjectionContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InjectionContext")
            .field("tool_names", &self.tool_names.len())
            .field("known", &self.known.is_some())
            .field("surface", &self.surface)
            .finish()
    }
}
