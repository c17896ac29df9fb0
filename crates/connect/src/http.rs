//! The client that speaks HTTP to APIs. It follows no redirect and reads no more than it was asked for.

use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Request};

use crate::https::{HttpsClient, https_client};

/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(60);

/// Speaks HTTP.
#[derive(Clone)]
pub(crate) struct Http(HttpsClient);

/// An answer, up to a length.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) is_cut: bool,
    headers: HeaderMap,
}

/// There is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoAnswer;

impl Http {
    /// A client. With a file of authorities it trusts those and no others, without one those that browsers trust.
    pub(crate) fn trusting(authorities: Option<&Path>, connect: Duration) -> Result<Self, &'static str> {
        https_client(authorities, connect, IDLE).map(Self)
    }

    /// Sends a request and reads at most so much of its answer.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>, most: usize) -> Result<Answer, NoAnswer> {
        let (head, mut incoming) = self.0.request(request).await.map_err(|_| NoAnswer)?.into_parts();
        let mut body = Vec::new();
        let mut is_cut = false;
        while let Some(frame) = incoming.frame().await {
            let Ok(piece) = frame.map_err(|_| NoAnswer)?.into_data() else {
                continue;
            };
            let room = most.saturating_sub(body.len());
            body.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
            if piece.len() > room {
                is_cut = true;
                break;
            }
        }
        Ok(Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
            is_cut,
        })
    }
}

impl Answer {
    /// Whether it says that it is JSON.
    pub(crate) fn is_json(&self) -> bool {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind
            .unwrap_or_default()
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        kind == "application/json" || kind.ends_with("+json")
    }
}
