//! The client that speaks HTTP to servers, with TLS where their address says so.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use http_body_util::Full;
use tidegate_connect::connecting;

use super::UpstreamError;
use super::lines::{Lines, Reading};

const DEAF: &str = "it does not answer";
const NOWHERE: &str = "its address is none";

/// Speaks HTTP with one address.
#[derive(Clone)]
pub(super) struct Http {
    lines: Arc<Lines>,
    /// The address as requests name it on a connection to it.
    place: Uri,
    host: HeaderValue,
}

/// An answer whose body is read piece by piece.
pub(super) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Reading,
}

impl Http {
    /// A client. With a file of authorities it trusts those and no others, without one those that browsers trust.
    pub(super) fn to(
        address: &str,
        authorities: Option<&Path>,
        connect: Duration,
    ) -> Result<Self, UpstreamError> {
        let nowhere = || UpstreamError::Unreachable(NOWHERE);
        let address = Uri::try_from(address).map_err(|_| nowhere())?;
        let place = address
            .path_and_query()
            .map_or("/", axum::http::uri::PathAndQuery::as_str);
        let connecting = connecting(authorities, connect).map_err(UpstreamError::Unreachable)?;
        Ok(Self {
            place: Uri::try_from(place).map_err(|_| nowhere())?,
            host: host_of(&address).ok_or_else(nowhere)?,
            lines: Lines::to(address, connecting),
        })
    }

    /// Sends a request to the address and reads the head of its answer.
    pub(super) async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Answer, UpstreamError> {
        *request.uri_mut() = self.place.clone();
        request
            .headers_mut()
            .entry(HOST)
            .or_insert_with(|| self.host.clone());
        let sent = self.lines.send(request).await;
        let (head, body) = sent.map_err(|_| UpstreamError::Unreachable(DEAF))?.into_parts();
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body,
        })
    }
}

/// The host that a request to an address names: with its port, unless it is the one that everybody expects.
fn host_of(address: &Uri) -> Option<HeaderValue> {
    let host = address.host()?;
    let expected = match address.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    let named = match address.port_u16().filter(|port| *port != expected) {
        Some(port) => HeaderValue::try_from(format!("{host}:{port}")),
        None => HeaderValue::try_from(host),
    };
    named.ok()
}

impl Answer {
    /// Its status.
    pub(super) const fn status(&self) -> StatusCode {
        self.status
    }

    /// Its headers.
    pub(super) const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// What its body is, without parameters.
    pub(super) fn kind(&self) -> &str {
        let kind = self.headers.get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim()
    }

    /// How many bytes its body will have, as far as the server says so.
    pub(super) fn announced(&self) -> usize {
        let length = self.headers.get(CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok());
        length.and_then(|length| length.parse().ok()).unwrap_or(0)
    }

    /// Whether it is a stream of events.
    pub(super) fn is_stream(&self) -> bool {
        self.status.is_success() && self.kind().eq_ignore_ascii_case("text/event-stream")
    }

    /// The next piece of its body; `None` at its end.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, UpstreamError> {
        self.body.piece().await.map_err(|_| UpstreamError::Gone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_named_where_nobody_expects_it() {
        for (address, host) in [
            ("http://127.0.0.1:9000/mcp", "127.0.0.1:9000"),
            ("http://crm.example/mcp", "crm.example"),
            ("http://crm.example:80/mcp", "crm.example"),
            ("https://crm.example:443/", "crm.example"),
            ("https://crm.example:80/", "crm.example:80"),
            ("http://[::1]:9000/", "[::1]:9000"),
            ("http://user:word@crm.example/", "crm.example"),
        ] {
            let address = Uri::try_from(address).unwrap();
            assert_eq!(host_of(&address).unwrap(), host, "{address}");
        }
        assert!(host_of(&Uri::from_static("/mcp")).is_none());
    }
}
