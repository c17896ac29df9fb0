//! A stream of what happens at the gates, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use tidegate_engine::GateFeed;
use tokio::sync::OwnedSemaphorePermit;

use super::gate_wire::GateAnswer;
use crate::auth::{Known, Shown};
use crate::problem::Problem;
use crate::router::Shared;

/// Each change of a gate from now on, or after the one that `Last-Event-ID` names.
#[utoipa::path(get, path = "/v1/gates/events", operation_id = "stream_gates", tag = "gates", security(("token" = [])), params(("last-event-id" = Option<String>, Header, description = "The id of the last event that was heard")), responses(
    (status = 200, description = "Events named `opened`, `approval`, `decided`, `spent` and `expired`, each with the gate as JSON", content_type = "text/event-stream", body = GateAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn stream(
    State(app): Shared,
    Known(caller): Known,
    shown: Shown,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let place = Arc::clone(&app.streams).try_acquire_owned();
    let place =
        place.map_err(|_| Problem::overloaded("too many streams are open; close one or try again later"))?;
    let heard = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let heard = heard.and_then(|id| id.parse().ok());
    let feed = app.engine.follow_gates(&caller, heard).await?;
    let events = stream::unfold((feed, place), next);
    Ok(Sse::new(shown.end_with_it(events)).keep_alive(KeepAlive::default()))
}

/// The stream ends when the gates cannot be read: a client that reconnects learns why, and misses nothing.
async fn next(
    (mut feed, place): (GateFeed, OwnedSemaphorePermit),
) -> Option<(Result<Event, Infallible>, (GateFeed, OwnedSemaphorePermit))> {
    let (name, view) = feed.next().await.ok()?;
    let id = view.gate.tick.to_string();
    let event = Event::default()
        .event(name)
        .id(id)
        .json_data(GateAnswer::from(view))
        .ok()?;
    Some((Ok(event), (feed, place)))
}
