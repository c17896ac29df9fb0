//! Counters in Prometheus' format.

use std::fmt;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::pace::Pace;
use crate::router::Shared;

/// Everything that is counted.
pub struct Metrics {
    registry: Registry,
    pub(crate) pace: Pace,
    pub(crate) decisions: Family<DecisionLabels, Counter>,
    pub(crate) rises: Family<RiseLabels, Counter>,
    pub(crate) sessions_opened: Counter,
    pub(crate) resets: Counter,
    pub(crate) halts: Counter,
    pub(crate) model_failures: Family<FailureLabels, Counter>,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Family<RouteLabels, Histogram>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct DecisionLabels {
    pub(crate) decision: &'static str,
    pub(crate) rule: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RiseLabels {
    pub(crate) to: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct FailureLabels {
    pub(crate) reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

/// Upper bounds of the request histogram, in seconds: from a decision in memory to a slow disk.
const SECONDS: [f64; 11] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 10.0,
];

impl Metrics {
    /// Every counter at zero.
    #[must_use]
    pub fn new() -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(SECONDS);
        let mut metrics = Self {
            registry: Registry::with_prefix("tidegate"),
            pace: Pace::new(),
            decisions: Family::default(),
            rises: Family::default(),
            sessions_opened: Counter::default(),
            resets: Counter::default(),
            halts: Counter::default(),
            model_failures: Family::default(),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(seconds),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "decisions",
            "Calls decided, by decision and rule",
            self.decisions.clone(),
        );
        registry.register(
            "label_rises",
            "Labels raised, by the class they rose to",
            self.rises.clone(),
        );
        registry.register("sessions_opened", "Sessions opened", self.sessions_opened.clone());
        registry.register(
            "resets",
            "Sessions started anew by an administrator",
            self.resets.clone(),
        );
        registry.register(
            "http_requests",
            "Requests answered, by route and status",
            self.requests.clone(),
        );
        registry.register(
            "halts",
            "Sessions halted by content that gives orders",
            self.halts.clone(),
        );
        registry.register(
            "model_failures",
            "Texts on which the configured model had no opinion, by reason",
            self.model_failures.clone(),
        );
        let seconds = self.request_seconds.clone();
        registry.register(
            "http_request_seconds",
            "Time to answer a request, by route",
            seconds,
        );
    }

    /// Everything, as Prometheus reads it.
    ///
    /// # Errors
    /// When the text cannot be formatted.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// Counts each request by the route it matched, never by its raw path: a path can hold anything.
pub(crate) async fn observe_request(State(app): Shared, request: Request, next: Next) -> Response {
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or("unmatched", MatchedPath::as_str)
        .to_owned();
    let began = Instant::now();
    let response = next.run(request).await;
    let status = response.status().as_u16();
    let seconds = began.elapsed().as_secs_f64();
    app.metrics
        .request_seconds
        .get_or_create(&RouteLabels { route: route.clone() })
        .observe(seconds);
    app.metrics
        .requests
        .get_or_create(&RequestLabels { route, status })
        .inc();
    response
}
