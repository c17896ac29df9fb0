//! Bytes in, findings out. Knows nothing of sessions or policy.

mod finding;

pub use finding::{Confidence, Finding, FindingKind, RuleId};
