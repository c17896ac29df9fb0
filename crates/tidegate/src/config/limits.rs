//! `[limits]`: nothing is without bound.

use std::ops::RangeInclusive;
use std::time::Duration;

use tidegate_gateway::Limits;

use super::walk::Section;

/// Reads the section; what is not said takes its default.
pub(super) fn read(root: &mut Section<'_, '_>) -> Limits {
    let mut section = root.section("limits");
    let mut read =
        |key, range: RangeInclusive<u64>| section.as_mut().and_then(|section| section.count(key, range));
    let mut limits = Limits::STANDARD;
    for (key, range, bound) in [
        ("body_bytes", 1_024..=256 << 20, &mut limits.body_bytes),
        ("json_depth", 4..=120, &mut limits.json_depth),
        ("plan_calls", 1..=4_096, &mut limits.plan_calls),
        ("connections", 1..=100_000, &mut limits.connections),
        ("streams", 1..=100_000, &mut limits.streams),
        ("sessions", 1..=1_000_000_000, &mut limits.sessions),
        (
            "sessions_per_hour",
            1..=1_000_000_000,
            &mut limits.sessions_per_hour,
        ),
    ] {
        if let Some(count) = read(key, range).and_then(|count| usize::try_from(count).ok()) {
            *bound = count;
        }
    }
    for (key, range, bound) in [
        ("request_timeout_ms", 100..=600_000, &mut limits.request_timeout),
        ("idle_ms", 100..=3_600_000, &mut limits.idle),
        ("drain_ms", 0..=600_000, &mut limits.drain),
    ] {
        if let Some(millis) = read(key, range) {
            *bound = Duration::from_millis(millis);
        }
    }
    limits
}
