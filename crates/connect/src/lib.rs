//! Connectors: databases, directories and web APIs that are read on the spot and know the class of what they return.
//!
//! A connector is a source inside the gateway. It offers tools; a call to one takes arguments that a decision has cleared
//! and gives back what was found together with what the catalog says of it: the class, the classes of its parts and the
//! dataset it belongs to. It releases nothing itself: whoever called lets the result in like that of any other tool. What
//! cannot be done is told in the connector's own words; no text of a database or a server is repeated in an error.

mod bounds;
mod catalog;
mod failure;
pub mod files;
mod http;
mod https;
mod offer;
pub mod openapi;
pub mod sql;

use async_trait::async_trait;
use serde_json::Value;
use tidegate_core::{Class, Cleared, FieldClasses, Name};

pub use bounds::Bounds;
pub use catalog::{BadPattern, PathClasses};
pub use failure::{Failure, Touched};
pub use https::{Connecting, HttpsClient, connecting, https_client};
pub use offer::Offer;

/// A source that is read on the spot.
#[async_trait]
pub trait Connector: Send + Sync {
    /// What it is called: the first part of its tools' names.
    fn name(&self) -> &str;

    /// The tools that it offers.
    fn offers(&self) -> &[Offer];

    /// Whether its tools' words come from somebody else, who might change them.
    fn speaks_for_others(&self) -> bool {
        false
    }

    /// Calls one of its tools, by the name in its offer.
    ///
    /// # Errors
    /// When the call is not understood, refused or not answered. The words are for the agent and hold no data.
    async fn call(&self, tool: &str, arguments: Cleared<Value>) -> Result<Brought, Failure>;
}

/// What a call brought, and what the catalog says of it.
#[derive(Clone, PartialEq)]
pub struct Brought {
    /// What was found.
    pub content: Value,
    /// The class of whatever `fields` does not name.
    pub class: Class,
    /// The classes of its parts.
    pub fields: FieldClasses,
    /// The dataset that it is from: `sql:crm`, `file:docs`, `api:pets`.
    pub dataset: Name,
}

impl std::fmt::Debug for Brought {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Brought({} from {})", self.class, self.dataset)
    }
}
