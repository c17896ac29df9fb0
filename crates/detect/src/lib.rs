//! Bytes in, findings out. Knows nothing of sessions or policy.
//!
//! A [`Detector`] is built once from a [`DetectorConfig`]. One pass over the bytes finds the places where something
//! could start (literals of every rule family, and byte shapes such as a digit or an `@`), and an exact check
//! (checksum, structure, words nearby) decides at each. Findings hold offsets and names of rules, never a value.

pub mod candidates;
pub mod decode;
mod finding;
pub mod injection;
mod internal;
pub mod normalize;
mod pii;
mod scan;
pub mod secrets;

pub use candidates::RuleDescription;
pub use finding::{Confidence, Finding, FindingKind, RuleId};
pub use scan::{ConfigError, Detector, DetectorConfig, Inspection, Scan};
