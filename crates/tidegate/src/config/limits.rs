//! `[limits]`: nothing is without bound.

use std::ops::RangeInclusive;

use super::walk::Section;

/// The bounds of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The largest request body.
    pub(crate) body_bytes: usize,
    /// How deep JSON may nest.
    pub(crate) json_depth: usize,
    /// How many sessions may be open.
    pub(crate) sessions: usize,
    /// How many calls a plan may have.
    pub(crate) plan_calls: usize,
}

/// Reads the section; what is not said takes its default.
pub(super) fn read(root: &mut Section<'_, '_>) -> Limits {
    let mut section = root.section("limits");
    let mut bound = |key, default: usize, range: RangeInclusive<u64>| {
        let read = section.as_mut().and_then(|section| section.count(key, range));
        read.and_then(|count| usize::try_from(count).ok())
            .unwrap_or(default)
    };
    Limits {
        body_bytes: bound("body_bytes", 8 << 20, 1_024..=256 << 20),
        json_depth: bound("json_depth", 64, 4..=128),
        sessions: bound("sessions", 1_000_000, 1..=100_000_000),
        plan_calls: bound("plan_calls", 256, 1..=4_096),
    }
}
