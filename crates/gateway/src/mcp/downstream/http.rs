//! A client over HTTP: one POST for each message, and a stream for what belongs to no request.
//!
//! An answer that comes alone is sent as JSON. Where something comes before it, or it takes long, it is sent as a stream
//! of events, which a client of the greeted era can take up again. In that era a client that goes away does not stop a
//! call at once: it may come back for the answer, and only after a while nobody is waited for any more. In the stateless
//! era going away takes the request back.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::Stream as Events;
use futures_util::stream;
use serde_json::value::RawValue;
use tidegate_engine::Caller;
use tokio::sync::mpsc;

use super::belonging::{SESSION, check_place, json_type, named_session, refuse, refuse_to, session_of};
use super::carried::Carried;
use super::lingering::Lingering;
use super::streams::{Reader, Stream};
use crate::auth::{Known, Shown};
use crate::mcp::Mcp;
use crate::mcp::era::{self, Era};
use crate::mcp::message::{Message, code};
use crate::mcp::outlet::{Outgoing, Outlet};
use crate::mcp::session::Session;
use crate::router::{App, Shared};

const LAST_EVENT: &str = "last-event-id";

/// How long an answer may take before the stream for it is opened, so that nothing on the way gives up.
const STREAM_AFTER: Duration = Duration::from_secs(5);

/// How soon a client whose stream broke off may take it up again.
const RETRY: Duration = Duration::from_secs(1);

/// Takes a message.
pub(crate) async fn post(
    State(app): Shared,
    Known(caller): Known,
    shown: Shown,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mcp = match ready(&app, &headers) {
        Ok(mcp) => mcp,
        Err(refusal) => return *refusal,
    };
    let Ok(text) = std::str::from_utf8(&body) else {
        return refuse(StatusCode::BAD_REQUEST, code::PARSE, "the body is not UTF-8");
    };
    let message = match Message::read(text) {
        Ok(message) => message,
        Err(bad) => {
            let reason = bad.to_string();
            return refuse_to(bad.id(), StatusCode::BAD_REQUEST, bad.code(), &reason);
        }
    };
    take(&mcp, &caller, shown, &headers, message).await
}

async fn take(
    mcp: &Arc<Mcp>,
    caller: &Caller,
    shown: Shown,
    headers: &HeaderMap,
    message: Message,
) -> Response {
    let session = match session_of(mcp, caller, headers, &message).await {
        Ok(session) => session,
        Err(refusal) => return *refusal,
    };
    match message {
        Message::Notification(told) => {
            session.told(told).await;
            StatusCode::ACCEPTED.into_response()
        }
        Message::Response(answer) => {
            session.answered(answer);
            StatusCode::ACCEPTED.into_response()
        }
        Message::Request(request) => {
            let era = era::of(&request);
            let greets = era == Era::Greeted && request.method() == "initialize";
            let (outlet, outgoing) = Outlet::new();
            let work = Carried::new(Arc::clone(&session).handle(request, outlet));
            let mut response = answer(&session, shown, era, outgoing, work).await;
            if greets && let Ok(id) = HeaderValue::from_str(session.id.as_str()) {
                response.headers_mut().insert(SESSION, id);
            }
            response
        }
    }
}

/// Opens the stream for what belongs to no request, or takes up one that broke off.
pub(crate) async fn get(
    State(app): Shared,
    Known(caller): Known,
    shown: Shown,
    headers: HeaderMap,
) -> Response {
    let session =
        ready(&app, &headers).and_then(|mcp| named_session(&mcp, &caller, &headers, RawValue::NULL.get()));
    let session = match session {
        Ok(session) => session,
        Err(refusal) => return *refusal,
    };
    let Ok(place) = Arc::clone(&app.streams).try_acquire_owned() else {
        return refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            code::OVERLOADED,
            "too many streams are open",
        );
    };
    let broken = headers.get(LAST_EVENT).and_then(|id| id.to_str().ok());
    if let Some((stream, event)) = broken.and_then(|id| session.streams.of(id)) {
        return events(shown, resumable(stream, event));
    }
    let (outlet, outgoing) = Outlet::new();
    let kept = session.ways.open_general(outlet.clone());
    tokio::spawn(async move {
        for message in kept {
            outlet.send(&message).await;
        }
    });
    let general = stream::unfold((outgoing, place), |(mut outgoing, place)| async move {
        let message = outgoing.recv().await?;
        Some((event(message.into_line()), (outgoing, place)))
    });
    events(shown, general)
}

/// Ends a session's conversations.
pub(crate) async fn delete(State(app): Shared, Known(caller): Known, headers: HeaderMap) -> Response {
    let ended = ready(&app, &headers).and_then(|mcp| {
        let session = named_session(&mcp, &caller, &headers, RawValue::NULL.get())?;
        mcp.close(&session.id);
        Ok(())
    });
    match ended {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(refusal) => *refusal,
    }
}

/// The gateway, where there is one and the request may reach it.
fn ready(app: &App, headers: &HeaderMap) -> Result<Arc<Mcp>, Box<Response>> {
    let Some(mcp) = app.mcp.clone() else {
        return Err(Box::new(refuse(
            StatusCode::NOT_FOUND,
            code::INVALID_REQUEST,
            "no MCP servers are configured",
        )));
    };
    check_place(&mcp.options.hosts, headers)?;
    Ok(mcp)
}

/// The answer to a request: as JSON when it comes alone and soon, as a stream otherwise.
async fn answer(
    session: &Session,
    shown: Shown,
    era: Era,
    outgoing: mpsc::Receiver<Outgoing>,
    mut work: Carried,
) -> Response {
    let linger = match era {
        Era::Greeted => session.abandon_after(),
        Era::Stateless => Duration::ZERO,
    };
    let mut outgoing = Lingering::new(outgoing, linger);
    let first = async {
        tokio::select! {
            biased;
            () = &mut work => outgoing.recv().await,
            message = outgoing.recv() => message,
        }
    };
    let first = match tokio::time::timeout(STREAM_AFTER, first).await {
        Ok(Some(Outgoing::Answer { line, code })) => {
            return (status(era, code), json_type(), line).into_response();
        }
        Ok(None) => return StatusCode::ACCEPTED.into_response(),
        Ok(Some(message)) => Some(message),
        Err(_) => None,
    };
    // What is left of the work goes on beside the stream.
    drop(work);
    if session.can_resume() {
        let stream = session.streams.begin(first, outgoing);
        let readable = resumable(Arc::clone(&stream), 0);
        let id = stream.name(0);
        // The first event says nothing but its name, so that a stream that breaks at once can be taken up too.
        let named = Event::default().id(id).retry(RETRY).data("");
        let named = stream::iter([Ok::<_, Infallible>(named)]);
        return events(shown, futures_util::StreamExt::chain(named, readable));
    }
    let answering = stream::unfold(
        (first, outgoing, false),
        |(first, mut outgoing, over)| async move {
            if over {
                return None;
            }
            let message = match first {
                Some(message) => message,
                None => outgoing.recv().await?,
            };
            let over = matches!(message, Outgoing::Answer { .. });
            Some((event(message.into_line()), (None, outgoing, over)))
        },
    );
    events(shown, answering)
}

/// In the stateless era the status says what programs on the way can act on.
const fn status(era: Era, code: Option<i32>) -> StatusCode {
    match (era, code) {
        (Era::Stateless, Some(code::METHOD_NOT_FOUND)) => StatusCode::NOT_FOUND,
        (Era::Stateless, Some(code::MISSING_CAPABILITY)) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

fn resumable(stream: Arc<Stream>, from: u64) -> impl Events<Item = Result<Event, Infallible>> {
    stream::unfold((Reader::of(stream), from), |(reader, from)| async move {
        let (number, line) = reader.after(from).await?;
        let event = Event::default()
            .event("message")
            .id(reader.name(number))
            .data(line);
        Some((Ok(event), (reader, number)))
    })
}

fn event(line: String) -> Result<Event, Infallible> {
    Ok(Event::default().event("message").data(line))
}

fn events(shown: Shown, events: impl Events<Item = Result<Event, Infallible>> + Send + 'static) -> Response {
    let events = shown.end_with_it(events);
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}
