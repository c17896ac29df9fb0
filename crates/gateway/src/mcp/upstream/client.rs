//! The client that speaks HTTP to servers, with TLS where their address says so.

use std::path::Path;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use tidegate_connect::{HttpsClient, https_client};

use super::UpstreamError;

/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(90);

const DEAF: &str = "it does not answer";

/// Speaks HTTP.
#[derive(Clone)]
pub(super) struct Http(HttpsClient);

/// An answer whose body is read piece by piece.
pub(super) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
}

impl Http {
    /// A client. With a file of authorities it trusts those and no others, without one those that browsers trust.
    pub(super) fn trusting(authorities: Option<&Path>, connect: Duration) -> Result<Self, UpstreamError> {
        let client = https_client(authorities, connect, IDLE).map_err(UpstreamError::Unreachable)?;
        Ok(Self(client))
    }

    /// Sends a request and reads the head of its answer.
    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Answer, UpstreamError> {
        let sent = self.0.request(request).await;
        let (head, body) = sent.map_err(|_| UpstreamError::Unreachable(DEAF))?.into_parts();
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body: Body::new(body),
        })
    }
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
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(_)) => return Err(UpstreamError::Gone),
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        return Ok(Some(piece));
                    }
                }
            }
        }
    }
}
