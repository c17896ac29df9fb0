//! What the gateway shows of its work: counters, the decision log, traces. Names and classes only, never content.

mod decision_log;
mod metrics;
mod observer;
mod pace;
mod samples;
mod traces;

pub use decision_log::{DecisionLog, LogTarget};
pub use metrics::Metrics;
pub(crate) use metrics::observe_request;
pub use observer::Telemetry;
pub(crate) use pace::Minute;
pub(crate) use samples::samples;
pub use traces::{TraceError, Traces};
