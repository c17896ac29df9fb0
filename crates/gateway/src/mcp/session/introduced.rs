//! What a client says of itself.
//!
//! Servers are told what it said first, as far as they may have it. It may say something else later, by a second greeting
//! or with each request of the stateless era, and then it is answered as it wishes; a server that is begun anew still hears
//! the first words, since later ones would reach it without a decision.

use crate::mcp::era::{self, Era};
use crate::mcp::object::Object;

/// What is known of a client.
pub(super) struct Introduced {
    /// The era that it speaks now.
    pub(super) era: Era,
    /// The version that it was last greeted in.
    version: Option<&'static str>,
    /// What it can do, as it last said.
    capabilities: Object,
    first: Option<Object>,
}

impl Introduced {
    /// A client that has said nothing.
    pub(super) fn silent() -> Self {
        Self {
            era: Era::Greeted,
            version: None,
            capabilities: Object::default(),
            first: None,
        }
    }

    /// The client greets, with these parameters, and this version is agreed on.
    pub(super) fn greets(&mut self, greeting: Object, version: &'static str) {
        self.version = Some(version);
        self.says(Era::Greeted, greeting);
    }

    /// The client says in a request's `_meta` who it is.
    pub(super) fn stamps(&mut self, meta: &Object) {
        self.says(Era::Stateless, era::greeting_of(meta));
    }

    fn says(&mut self, era: Era, greeting: Object) {
        self.era = era;
        self.capabilities = greeting.object("capabilities").unwrap_or_default();
        self.first.get_or_insert(greeting);
    }

    /// What it said first. What it has not said by then is said too late.
    pub(super) fn first(&mut self) -> Object {
        self.first.get_or_insert_with(era::unnamed).clone()
    }

    /// Whether it can do something, as it last said.
    pub(super) fn can(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }

    /// Whether it knows how to take up a stream that broke off.
    pub(super) fn can_resume(&self) -> bool {
        self.era == Era::Greeted && self.version == Some(era::GREETED)
    }
}
