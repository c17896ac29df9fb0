//! Clients over HTTP, at `/mcp`: a POST for each message, and a stream for what belongs to no request.
//!
//! An answer that comes alone is sent as JSON. Where something comes before it, or it takes long, it is sent as a stream
//! of events. A client that goes away does not stop a call: its effect is had, and what it returned counts.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::value::RawValue;
use tidegate_core::Ident;
use tidegate_engine::Caller;
use tokio::sync::mpsc;

use crate::auth::Known;
use crate::mcp::message::{Envelope, Message, code};
use crate::mcp::outlet::{Outgoing, Outlet};
use crate::mcp::session::Session;
use crate::mcp::{Mcp, OpenMcpError, era, routing};
use crate::router::Shared;

const SESSION: &str = "mcp-session-id";
const PROTOCOL: &str = "mcp-protocol-version";

/// How long an answer may take before the stream for it is opened, so that nothing on the way gives up.
const STREAM_AFTER: Duration = Duration::from_secs(5);

/// A client that goes on with an earlier session names it here when it greets.
const RESUME: &str = "tidegate-session";

/// Takes a message.
pub(crate) async fn post(
    State(app): Shared,
    Known(caller): Known,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(mcp) = app.mcp.clone() else {
        return refuse(
            StatusCode::NOT_FOUND,
            code::INVALID_REQUEST,
            "no MCP servers are configured",
        );
    };
    if let Some(refusal) = check_origin(&headers) {
        return refusal;
    }
    let Ok(text) = std::str::from_utf8(&body) else {
        return refuse(StatusCode::BAD_REQUEST, code::PARSE, "the body is not UTF-8");
    };
    let message = match Message::read(text) {
        Ok(message) => message,
        Err(bad) => return refuse(StatusCode::BAD_REQUEST, bad.code(), &bad.to_string()),
    };
    take(&mcp, &caller, &headers, message).await
}

async fn take(mcp: &Arc<Mcp>, caller: &Caller, headers: &HeaderMap, message: Message) -> Response {
    let found = match &message {
        Message::Request(request) if request.method() == "initialize" => greet(mcp, caller, headers).await,
        Message::Request(request) if era::named_version(&request.params()).is_some() => {
            match stateless(request, headers) {
                Ok(()) => standing_session(mcp, caller, headers).await,
                Err(refusal) => Err(refusal),
            }
        }
        Message::Notification(_) | Message::Response(_) | Message::Request(_) => {
            named_session(mcp, caller, headers)
        }
    };
    let session = match found {
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
            let greets = request.method() == "initialize";
            let (outlet, outgoing) = Outlet::new();
            tokio::spawn(Arc::clone(&session).handle(request, outlet));
            let mut response = answer(outgoing).await;
            if greets && let Ok(id) = HeaderValue::from_str(session.id.as_str()) {
                response.headers_mut().insert(SESSION, id);
            }
            response
        }
    }
}

/// Opens the stream for what belongs to no request.
pub(crate) async fn get(State(app): Shared, Known(caller): Known, headers: HeaderMap) -> Response {
    let Some(mcp) = app.mcp.clone() else {
        return refuse(
            StatusCode::NOT_FOUND,
            code::INVALID_REQUEST,
            "no MCP servers are configured",
        );
    };
    let session = match check_origin(&headers)
        .map_or_else(|| named_session(&mcp, &caller, &headers), |no| Err(Box::new(no)))
    {
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
    let (outlet, outgoing) = Outlet::new();
    let kept = session.ways.open_general(outlet.clone());
    tokio::spawn(async move {
        for message in kept {
            outlet.send(&message).await;
        }
    });
    let events = stream::unfold((outgoing, place), |(mut outgoing, place)| async move {
        let message = outgoing.recv().await?;
        Some((event(message), (outgoing, place)))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// Ends a session's conversations.
pub(crate) async fn delete(State(app): Shared, Known(caller): Known, headers: HeaderMap) -> Response {
    let Some(mcp) = app.mcp.clone() else {
        return refuse(
            StatusCode::NOT_FOUND,
            code::INVALID_REQUEST,
            "no MCP servers are configured",
        );
    };
    match named_session(&mcp, &caller, &headers) {
        Ok(session) => {
            mcp.close(&session.id);
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refusal) => *refusal,
    }
}

type Found = Result<Arc<Session>, Box<Response>>;

async fn greet(mcp: &Arc<Mcp>, caller: &Caller, headers: &HeaderMap) -> Found {
    let resumed = headers.get(RESUME).map(ident_of);
    let id = match resumed {
        None => None,
        Some(Some(id)) => Some(id),
        Some(None) => return Err(Box::new(no_session())),
    };
    mcp.session(caller, id)
        .await
        .map_err(|why| Box::new(not_opened(&why)))
}

/// In the era without sessions, every request of a token belongs to one session, so that forgetting to name it is no
/// way to a clean label. A client with several names each.
async fn standing_session(mcp: &Arc<Mcp>, caller: &Caller, headers: &HeaderMap) -> Found {
    let id = match headers.get(RESUME) {
        Some(named) => ident_of(named),
        None => Ident::parse(&format!("mcp-{}", caller.token_id)).ok(),
    };
    let Some(id) = id else {
        return Err(Box::new(no_session()));
    };
    mcp.session(caller, Some(id))
        .await
        .map_err(|why| Box::new(not_opened(&why)))
}

fn named_session(mcp: &Arc<Mcp>, caller: &Caller, headers: &HeaderMap) -> Found {
    let Some(named) = headers.get(SESSION) else {
        let refusal = refuse(
            StatusCode::BAD_REQUEST,
            code::INVALID_REQUEST,
            "the header Mcp-Session-Id is missing",
        );
        return Err(Box::new(refusal));
    };
    let version = headers.get(PROTOCOL).and_then(|version| version.to_str().ok());
    if version.is_some_and(|version| !era::WITH_GREETING.contains(&version)) {
        let refusal = refuse(
            StatusCode::BAD_REQUEST,
            code::INVALID_REQUEST,
            "the header MCP-Protocol-Version names no version that was agreed on",
        );
        return Err(Box::new(refusal));
    }
    // A session that is another's and one that does not exist look the same.
    ident_of(named)
        .and_then(|id| mcp.find(caller, &id))
        .ok_or_else(|| Box::new(no_session()))
}

fn ident_of(header: &HeaderValue) -> Option<Ident> {
    header.to_str().ok().and_then(|text| Ident::parse(text).ok())
}

/// The headers of a stateless request must say what its body says: programs on the way act on the headers.
fn stateless(request: &Envelope, headers: &HeaderMap) -> Result<(), Box<Response>> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let version = era::named_version(&request.params()).unwrap_or_default();
    let mismatch = |what: &str| {
        let message = format!("the header {what} does not say what the body says");
        let refusal = Envelope::refusal(request.id(), -32020, &message);
        Box::new((StatusCode::BAD_REQUEST, json_type(), refusal.to_line()).into_response())
    };
    if text(PROTOCOL) != Some(version.as_str()) {
        return Err(mismatch("MCP-Protocol-Version"));
    }
    if version != era::STATELESS {
        let data = serde_json::json!({"supported": [era::STATELESS], "requested": version});
        let refusal = Envelope::refusal_with(request.id(), -32022, "the version is not supported", &data);
        return Err(Box::new(
            (StatusCode::BAD_REQUEST, json_type(), refusal.to_line()).into_response(),
        ));
    }
    if text("mcp-method") != Some(request.method()) {
        return Err(mismatch("Mcp-Method"));
    }
    let named = routing::named(request);
    let header = text("mcp-name").and_then(routing::decoded);
    if named.is_some() && named != header {
        return Err(mismatch("Mcp-Name"));
    }
    Ok(())
}

/// A page that somebody looks at must not be able to speak to a gateway on their machine.
fn check_origin(headers: &HeaderMap) -> Option<Response> {
    let origin = headers.get(header::ORIGIN)?;
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    if origin.is_some_and(|(_, origin)| Some(origin) == host) {
        return None;
    }
    Some(refuse(
        StatusCode::FORBIDDEN,
        code::INVALID_REQUEST,
        "requests from other origins are not taken",
    ))
}

/// The answer to a request: as JSON when it comes alone and soon, as a stream otherwise.
async fn answer(mut outgoing: mpsc::Receiver<Outgoing>) -> Response {
    let first = match tokio::time::timeout(STREAM_AFTER, outgoing.recv()).await {
        Ok(Some(Outgoing::Answer(line))) => return (json_type(), line).into_response(),
        Ok(None) => return StatusCode::ACCEPTED.into_response(),
        Ok(Some(message)) => Some(message),
        Err(_) => None,
    };
    let events = stream::unfold(
        (first, outgoing, false),
        |(first, mut outgoing, over)| async move {
            if over {
                return None;
            }
            let message = match first {
                Some(message) => message,
                None => outgoing.recv().await?,
            };
            let over = matches!(message, Outgoing::Answer(_));
            Some((event(message), (None, outgoing, over)))
        },
    );
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

fn event(message: Outgoing) -> Result<Event, Infallible> {
    Ok(Event::default().event("message").data(message.into_line()))
}

fn json_type() -> [(header::HeaderName, HeaderValue); 1] {
    [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]
}

fn no_session() -> Response {
    refuse(
        StatusCode::NOT_FOUND,
        code::INVALID_REQUEST,
        "no session with this id is open for this token's principal and agent",
    )
}

fn not_opened(why: &OpenMcpError) -> Response {
    let status = match why {
        OpenMcpError::TooMany => StatusCode::SERVICE_UNAVAILABLE,
        OpenMcpError::Open(tidegate_engine::OpenSessionError::Taken) => StatusCode::NOT_FOUND,
        OpenMcpError::Open(_) => StatusCode::FORBIDDEN,
    };
    refuse(status, code::INVALID_REQUEST, &why.to_string())
}

fn refuse(status: StatusCode, code: i32, message: &str) -> Response {
    let refusal = Envelope::refusal(RawValue::NULL.get(), code, message);
    (status, json_type(), refusal.to_line()).into_response()
}
