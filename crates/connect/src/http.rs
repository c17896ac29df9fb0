//! The client that speaks HTTP to APIs. It follows no redirect and reads no more than it was asked for.
//!
//! The provider of cryptography is named here. Finding one at run time would depend on what else the program links.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Request};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(60);

/// Speaks HTTP.
#[derive(Clone)]
pub(crate) struct Http(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

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
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| "no version of TLS can be spoken")?;
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

fn roots(file: &Path) -> Result<RootCertStore, &'static str> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut roots = RootCertStore::empty();
    for certificate in read.map_err(|_| "its ca_file cannot be read as PEM")? {
        roots
            .add(certificate)
            .map_err(|_| "its ca_file holds a certificate that cannot be used")?;
    }
    Ok(roots)
}
