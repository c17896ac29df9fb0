//! The client that speaks HTTP to servers, with TLS where their address says so.
//!
//! The provider of cryptography is named here. Finding one at run time would depend on what else the program links, and
//! fail when it is first used.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::UpstreamError;

/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(90);

const DEAF: &str = "it does not answer";

/// Speaks HTTP.
#[derive(Clone)]
pub(super) struct Http(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

/// An answer whose body is read piece by piece.
pub(super) struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
}

impl Http {
    /// A client. With a file of authorities it trusts those and no others, without one those that browsers trust.
    pub(super) fn trusting(authorities: Option<&Path>, connect: Duration) -> Result<Self, UpstreamError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| UpstreamError::Unreachable("no version of TLS can be spoken with it"))?;
        let config = match authorities {
            Some(file) => config.with_root_certificates(roots(file)?),
            None => hyper_rustls::ConfigBuilderExt::with_webpki_roots(config),
        };
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(connect));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config.with_no_client_auth())
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector);
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

/// The certificates of a file of authorities.
fn roots(file: &Path) -> Result<RootCertStore, UpstreamError> {
    let unreadable = || UpstreamError::Unreachable("its ca_file holds no certificates that can be read");
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|_| unreadable())? {
        roots
            .add(certificate.map_err(|_| unreadable())?)
            .map_err(|_| unreadable())?;
    }
    if roots.is_empty() {
        return Err(unreadable());
    }
    Ok(roots)
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
