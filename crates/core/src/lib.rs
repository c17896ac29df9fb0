//! What is true without any I/O: classes, the ratchet, the control list, decisions, plans and manifests.
//!
//! Everything here is a pure function of its arguments: no clock, no store, no wire. That is what lets one
//! rule serve every wire, and what lets property tests drive it with millions of cases.

mod class;
mod content;
mod ident;
mod label;
mod role;

pub use class::{Class, Kind, Kinds, UnknownClass};
pub use content::Confined;
pub use ident::{BadIdent, Ident};
pub use label::Label;
pub use role::{Role, UnknownRole};
