//! Which session a message over HTTP belongs to, and whether it is taken at all.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use serde_json::value::RawValue;
use tidegate_core::Ident;
use tidegate_engine::{Caller, OpenSessionError};

use crate::mcp::era::{self, Era};
use crate::mcp::message::{Envelope, Message, code};
use crate::mcp::session::Session;
use crate::mcp::{Hosts, Mcp, OpenMcpError, routing};

pub(super) const SESSION: &str = "mcp-session-id";
const PROTOCOL: &str = "mcp-protocol-version";

/// A client that goes on with an earlier session names it here when it greets.
const RESUME: &str = "tidegate-session";

/// A session, or why there is none for this message.
pub(super) type Found = Result<Arc<Session>, Box<Response>>;

/// The session that a message belongs to.
pub(super) async fn session_of(
    mcp: &Arc<Mcp>,
    caller: &Caller,
    headers: &HeaderMap,
    message: &Message,
) -> Found {
    match message {
        Message::Request(request) if era::of(request) == Era::Stateless => {
            check_stateless(request, headers)?;
            standing_session(mcp, caller, headers).await
        }
        Message::Request(request) if request.method() == "initialize" => greet(mcp, caller, headers).await,
        Message::Request(request) => named_session(mcp, caller, headers, request.id()),
        Message::Notification(_) | Message::Response(_) => {
            named_session(mcp, caller, headers, RawValue::NULL.get())
        }
    }
}

async fn greet(mcp: &Arc<Mcp>, caller: &Caller, headers: &HeaderMap) -> Found {
    let resumed = headers.get(RESUME).map(ident_of);
    let id = match resumed {
        None => None,
        Some(Some(id)) => Some(id),
        Some(None) => return Err(Box::new(no_session(RawValue::NULL.get()))),
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
        return Err(Box::new(no_session(RawValue::NULL.get())));
    };
    mcp.session(caller, Some(id))
        .await
        .map_err(|why| Box::new(not_opened(&why)))
}

/// The session that the headers name.
pub(super) fn named_session(mcp: &Arc<Mcp>, caller: &Caller, headers: &HeaderMap, request: &str) -> Found {
    let refused = |code: i32, message: &str| {
        Err(Box::new(refuse_to(
            request,
            StatusCode::BAD_REQUEST,
            code,
            message,
        )))
    };
    let Some(named) = headers.get(SESSION) else {
        let message = "neither the header Mcp-Session-Id nor a version in _meta is there";
        return refused(code::INVALID_PARAMS, message);
    };
    let version = headers.get(PROTOCOL).and_then(|version| version.to_str().ok());
    if version.is_some_and(|version| !era::WITH_GREETING.contains(&version)) {
        let message = "the header MCP-Protocol-Version names no version that was agreed on";
        return refused(code::INVALID_REQUEST, message);
    }
    // A session that is another's and one that does not exist look the same.
    ident_of(named)
        .and_then(|id| mcp.find(caller, &id))
        .ok_or_else(|| Box::new(no_session(request)))
}

fn ident_of(header: &HeaderValue) -> Option<Ident> {
    header.to_str().ok().and_then(|text| Ident::parse(text).ok())
}

/// A stateless request says in its body what it needs, and in its headers what its body says: programs on the way act
/// on the headers.
fn check_stateless(request: &Envelope, headers: &HeaderMap) -> Result<(), Box<Response>> {
    let refused =
        |code: i32, message: &str| Box::new(refuse_to(request.id(), StatusCode::BAD_REQUEST, code, message));
    let meta = request.params().object("_meta").unwrap_or_default();
    let version = meta.text(era::VERSION_KEY).unwrap_or_default();
    if meta.object(era::CAPABILITIES_KEY).is_none() {
        let message = format!("{} is missing in _meta, or is no object", era::CAPABILITIES_KEY);
        return Err(refused(code::INVALID_PARAMS, &message));
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let mismatch = |what: &str| {
        let message = format!("the header {what} does not say what the body says");
        refused(code::HEADER_MISMATCH, &message)
    };
    if text(PROTOCOL) != Some(version.as_str()) {
        return Err(mismatch("MCP-Protocol-Version"));
    }
    if version != era::STATELESS {
        let data = json!({"supported": [era::STATELESS], "requested": version});
        let words = "the version is not supported";
        let refusal = Envelope::refusal_with(request.id(), code::UNSUPPORTED_VERSION, words, &data);
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

/// A page that somebody looks at must not be able to speak to a gateway on their machine, under whatever name it
/// makes the browser find it.
pub(super) fn check_place(hosts: &Hosts, headers: &HeaderMap) -> Result<(), Box<Response>> {
    let forbidden = |message: &str| {
        Err(Box::new(refuse(
            StatusCode::FORBIDDEN,
            code::INVALID_REQUEST,
            message,
        )))
    };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if let Hosts::Named(names) = hosts
        && !host.is_some_and(|host| is_here(host, names))
    {
        return forbidden("the header Host names another machine; mcp.hosts lists the names that are taken");
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return Ok(());
    };
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    if origin.is_some_and(|(_, origin)| Some(origin) == host) {
        return Ok(());
    }
    forbidden("requests from other origins are not taken")
}

fn is_here(host: &str, names: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
        || names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

pub(super) fn json_type() -> [(header::HeaderName, HeaderValue); 1] {
    [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]
}

fn no_session(request: &str) -> Response {
    refuse_to(
        request,
        StatusCode::NOT_FOUND,
        code::INVALID_REQUEST,
        "no session with this id is open for this token's principal and agent",
    )
}

fn not_opened(why: &OpenMcpError) -> Response {
    let status = match why {
        OpenMcpError::TooMany | OpenMcpError::Open(OpenSessionError::TooMany { .. }) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        OpenMcpError::Open(OpenSessionError::TooFast { .. }) => StatusCode::TOO_MANY_REQUESTS,
        OpenMcpError::Open(OpenSessionError::Taken) => StatusCode::NOT_FOUND,
        OpenMcpError::Open(_) => StatusCode::FORBIDDEN,
    };
    refuse(status, code::INVALID_REQUEST, &why.to_string())
}

/// An answer to something that has no id.
pub(super) fn refuse(status: StatusCode, code: i32, message: &str) -> Response {
    refuse_to(RawValue::NULL.get(), status, code, message)
}

/// An answer to a request that is not taken.
pub(super) fn refuse_to(request: &str, status: StatusCode, code: i32, message: &str) -> Response {
    let refusal = Envelope::refusal(request, code, message);
    (status, json_type(), refusal.to_line()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_taken() {
        let names = ["gate.example".to_owned()];
        for (host, expected) in [
            ("localhost", true),
            ("LOCALHOST:8080", true),
            ("127.0.0.1:1", true),
            ("127.8.9.1", true),
            ("[::1]", true),
            ("[::1]:80", true),
            ("gate.example:443", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:80", false),
            ("10.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(is_here(host, &names), expected, "{host}");
        }
    }
}
