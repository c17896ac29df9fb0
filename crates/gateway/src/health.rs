//! Whether the gateway lives, whether it can decide, and what it has counted.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;
use crate::router::Shared;

/// The process runs.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, description = "The process runs")))]
pub(crate) async fn live() -> &'static str {
    "ok\n"
}

/// Decisions can be made now: the store can be read and written, and the authority answers.
#[utoipa::path(get, path = "/readyz", tag = "operation", responses(
    (status = 200, description = "Decisions can be made"),
    (status = 503, description = "The store or the authority cannot be used: every call is denied", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn ready(State(app): Shared) -> Result<&'static str, Problem> {
    app.engine.ready().await?;
    Ok("ready\n")
}

/// Counters in Prometheus' text format.
#[utoipa::path(get, path = "/metrics", tag = "operation", responses((status = 200, description = "Prometheus text")))]
pub(crate) async fn metrics(State(app): Shared) -> Response {
    match app.metrics.encode() {
        Ok(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
