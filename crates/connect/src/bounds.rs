//! How much one call may cost.

use std::time::Duration;

/// The most that one call gives back and takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The most rows, files or entries.
    pub rows: usize,
    /// The most bytes of content.
    pub bytes: usize,
    /// How long it may take.
    pub timeout: Duration,
    /// The most calls at once; others wait.
    pub at_once: usize,
}

impl Bounds {
    /// What serves when nothing is configured.
    pub const STANDARD: Self = Self {
        rows: 1_000,
        bytes: 1 << 20,
        timeout: Duration::from_secs(10),
        at_once: 8,
    };
}
