//! Bytes in, findings out. Knows nothing of sessions or policy.
//!
//! A [`Detector`] is built once from a [`DetectorConfig`]. One pass over the bytes finds the places where something
//! could start (literals of every rule family, and byte shapes such as a digit or an `@`), and an exact check
//! (checksum, structure, words nearby) decides at each. Findings hold offsets and names of rules, never a value.

pub mod candidates;
pub mod decode;
pub mod exits;
mod finding;
pub mod injection;
mod internal;
mod json;
mod lanes;
mod layer;
pub mod normalize;
mod pii;
pub mod redact;
mod scan;
pub mod secrets;
mod stream;
mod table;
pub mod wide;

pub use candidates::RuleDescription;
pub use finding::{Confidence, Finding, FindingKind, RuleId};
pub use scan::{ConfigError, Detector, DetectorConfig, Inspection, Scan};
pub use stream::StreamScanner;
