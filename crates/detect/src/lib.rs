//! Bytes in, findings out. Knows nothing of sessions or policy.

pub mod candidates;
mod finding;
pub mod secrets;

pub use candidates::RuleDescription;
pub use finding::{Confidence, Finding, FindingKind, RuleId};
