//! Bytes in, findings out. Knows nothing of sessions or policy.

pub mod candidates;
pub mod decode;
mod finding;
pub mod injection;
pub mod normalize;

pub use candidates::RuleDescription;
pub use finding::{Confidence, Finding, FindingKind, RuleId};
