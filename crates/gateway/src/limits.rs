//! The bounds of every request.

use std::time::Duration;

use tidegate_engine::SessionBounds;

/// How much one request may ask for. Whatever goes over is a typed answer, never unbounded work.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The largest body, in bytes.
    pub body_bytes: usize,
    /// The deepest nesting of JSON.
    pub json_depth: usize,
    /// The most calls in a plan.
    pub plan_calls: usize,
    /// The longest a request may take; streams are exempt.
    pub request_timeout: Duration,
    /// The most connections open at once.
    pub connections: usize,
    /// How long a connection may stay open with no request under way, and how long an answer waits for somebody to read
    /// more of it; a head that takes longer is none.
    pub idle: Duration,
    /// The most label streams open at once.
    pub streams: usize,
    /// The most sessions that there may be, ever: none is forgotten.
    pub sessions: usize,
    /// The most sessions that one user may open in an hour.
    pub sessions_per_hour: usize,
    /// How long a stop waits for requests under way.
    pub drain: Duration,
}

impl Limits {
    /// What serves when nothing is configured.
    pub const STANDARD: Self = Self {
        body_bytes: 8 * 1024 * 1024,
        json_depth: 64,
        plan_calls: 256,
        request_timeout: Duration::from_secs(30),
        connections: 4_096,
        idle: Duration::from_secs(60),
        streams: 1_024,
        sessions: SessionBounds::STANDARD.most,
        sessions_per_hour: SessionBounds::STANDARD.per_hour,
        drain: Duration::from_secs(10),
    };
}
