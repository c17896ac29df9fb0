//! What a client of the proxy is told.

use axum::body::Bytes;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{Response, StatusCode};
use http_body_util::Full;
use tidegate_core::{Fault, Refusal, Rule};
use tidegate_engine::AccessError;

use crate::problem::Problem;

/// What a tunnel begins with.
pub(super) const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");

/// An answer that ends a connection.
pub(super) struct Refused {
    problem: Problem,
    status: StatusCode,
    proxy_status: String,
}

impl Refused {
    /// The connection was refused, and the record says so.
    pub(super) fn by(refusal: &Refusal) -> Self {
        let status = if let Rule::Connection(fault) = refusal.rule() {
            status(fault)
        } else {
            StatusCode::FORBIDDEN
        };
        let proxy_status = format!(
            "tidegate; error=http_request_denied; details=\"{}\"",
            refusal.rule().as_str()
        );
        Self {
            problem: Problem::denied(status, "The connection was refused", refusal),
            status,
            proxy_status,
        }
    }

    /// The connection could not be judged, so it was not made.
    pub(super) fn unjudged(error: AccessError) -> Self {
        let problem = match error {
            AccessError::NoSession => Problem::overloaded("the session is gone, so nothing passes for it"),
            error => error.into(),
        };
        Self::failed(problem, "proxy_internal_error")
    }

    /// The connection may be made, and the other end does not answer.
    pub(super) fn unreachable() -> Self {
        let detail = "the destination may be reached, and does not answer; try again later";
        let problem = Problem::new(
            StatusCode::BAD_GATEWAY,
            "unreachable",
            "No answer from the destination",
            detail,
        );
        Self::failed(problem, "destination_unavailable")
    }

    /// Too many connections are open.
    pub(super) fn busy() -> Self {
        Self::failed(
            Problem::overloaded("too many connections are open; try again in a moment"),
            "connection_limit_reached",
        )
    }

    fn failed(problem: Problem, error: &str) -> Self {
        Self {
            status: problem.status(),
            problem,
            proxy_status: format!("tidegate; error={error}"),
        }
    }

    /// The answer as a message.
    pub(super) fn response(&self) -> Response<Full<Bytes>> {
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        if let Ok(value) = HeaderValue::try_from(&self.proxy_status) {
            headers.insert(PROXY_STATUS, value);
        }
        if self.status == StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            let asked = HeaderValue::from_static("Basic realm=\"tidegate\"");
            headers.insert(header::PROXY_AUTHENTICATE, asked);
        }
        response
    }

    /// The answer as bytes.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        let mut text = format!("HTTP/1.1 {}\r\n", self.status).into_bytes();
        for (name, value) in self.response().headers() {
            text.extend_from_slice(name.as_str().as_bytes());
            text.extend_from_slice(b": ");
            text.extend_from_slice(value.as_bytes());
            text.extend_from_slice(b"\r\n");
        }
        text.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
        text.extend_from_slice(&body);
        text
    }
}

const fn status(fault: Fault) -> StatusCode {
    match fault {
        Fault::NoCredential => StatusCode::PROXY_AUTHENTICATION_REQUIRED,
        Fault::Malformed | Fault::Upgrade => StatusCode::BAD_REQUEST,
        Fault::HeadTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        Fault::TooSlow => StatusCode::REQUEST_TIMEOUT,
        Fault::Unreadable => StatusCode::PAYLOAD_TOO_LARGE,
        Fault::TooManyConnections => StatusCode::TOO_MANY_REQUESTS,
        Fault::PortNotListed
        | Fault::Unresolvable
        | Fault::ReservedAddress
        | Fault::OwnAddress
        | Fault::NameMismatch
        | Fault::NotTls => StatusCode::FORBIDDEN,
    }
}
