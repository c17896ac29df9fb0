//! A stream of a session's label changes, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use tidegate_core::Ident;
use tidegate_engine::{Caller, ContextView, Engine};
use tidegate_store::Session;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::wire::StateAnswer;
use crate::auth::{Known, Shown};
use crate::extract::SessionId;
use crate::problem::Problem;
use crate::router::Shared;

/// How often a stream looks for changes made by other gateways on the same state.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The session's state now, then again each time that it changes.
#[utoipa::path(get, path = "/v1/session/{id}/events", tag = "sessions", security(("token" = [])), params(("id" = String, Path, description = "The session's handle")), responses(
    (status = 200, description = "Events named `state`, each with the session's state as JSON", content_type = "text/event-stream", body = StateAnswer),
    (status = "4XX", description = "What is wrong", body = Problem, content_type = "application/problem+json"),
))]
pub(crate) async fn stream(
    State(app): Shared,
    Known(caller): Known,
    shown: Shown,
    SessionId(id): SessionId,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let place = Arc::clone(&app.streams).try_acquire_owned();
    let place = place
        .map_err(|_| Problem::overloaded("too many label streams are open; close one or try again later"))?;
    let changes = app.engine.watch(&caller, &id).await?;
    let watching = Watching {
        engine: Arc::clone(&app.engine),
        caller,
        id,
        changes,
        told: None,
        _place: place,
    };
    let events = stream::unfold(watching, |mut watching| async move {
        let event = watching.next().await?;
        Some((Ok(event), watching))
    });
    Ok(Sse::new(shown.end_with_it(events)).keep_alive(KeepAlive::default()))
}

struct Watching {
    engine: Arc<Engine>,
    caller: Caller,
    id: Ident,
    changes: watch::Receiver<Arc<Session>>,
    told: Option<Arc<Session>>,
    _place: OwnedSemaphorePermit,
}

impl Watching {
    /// Waits for a state that was not told yet. The stream ends when the session cannot be read: a client that
    /// reconnects learns why.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let view = self.engine.watched(&self.caller, &self.id).await.ok()?;
            if self.told.as_ref() != Some(&view.session) {
                self.told = Some(Arc::clone(&view.session));
                return event(view);
            }
            // Either a change here, or time to look for one made elsewhere.
            let _ = tokio::time::timeout(LOOK_EVERY, self.changes.changed()).await;
        }
    }
}

fn event(view: ContextView) -> Option<Event> {
    Event::default()
        .event("state")
        .json_data(StateAnswer::from(view))
        .ok()
}
