//! Asking the provider: a few small documents, each within a bound of bytes and of time.

use std::path::Path;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use serde::de::DeserializeOwned;
use tidegate_connect::{HttpsClient, https_client};

/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(30);
/// The most bytes of one answer.
const MOST_BYTES: usize = 256 * 1024;

/// Speaks HTTP to the provider. It follows no redirect.
pub(super) struct Http {
    client: HttpsClient,
    patience: Duration,
}

/// Why the provider said nothing of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in crate::console) enum NoAnswer {
    #[error("the provider cannot be reached or does not answer in time")]
    Silent,
    #[error("the provider refused the request (status {0})")]
    Refused(u16),
    #[error("the provider's answer is too long or cannot be read")]
    Unreadable,
}

impl Http {
    pub(super) fn new(authorities: Option<&Path>, patience: Duration) -> Result<Self, &'static str> {
        let client = https_client(authorities, patience, IDLE)?;
        Ok(Self { client, patience })
    }

    /// A document.
    pub(super) async fn get<T: DeserializeOwned>(&self, address: &Uri) -> Result<T, NoAnswer> {
        let request = Request::get(address).header(header::ACCEPT, "application/json");
        self.send(request.body(Full::default())).await
    }

    /// What comes back for a form.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        address: &Uri,
        authorization: Option<String>,
        form: String,
    ) -> Result<T, NoAnswer> {
        let mut request = Request::post(address)
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        if let Some(authorization) = authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        self.send(request.body(Full::from(form))).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        request: Result<Request<Full<Bytes>>, axum::http::Error>,
    ) -> Result<T, NoAnswer> {
        let request = request.map_err(|_| NoAnswer::Silent)?;
        let answered = tokio::time::timeout(self.patience, async {
            let answer = self.client.request(request).await;
            let (head, body) = answer.map_err(|_| NoAnswer::Silent)?.into_parts();
            let body = Limited::new(body, MOST_BYTES).collect().await;
            let body = body.map_err(|_| NoAnswer::Unreadable)?.to_bytes();
            Ok((head.status, body))
        });
        let (status, body) = answered.await.map_err(|_| NoAnswer::Silent)??;
        if status != StatusCode::OK {
            return Err(NoAnswer::Refused(status.as_u16()));
        }
        serde_json::from_slice(&body).map_err(|_| NoAnswer::Unreadable)
    }
}
