//! How this program speaks HTTP to servers that are not its own, with TLS where their address says so: whom it trusts is said
//! once, here, for connectors and for MCP servers.
//!
//! The provider of cryptography is named. Finding one at run time would depend on what else the program links, and fail
//! when it is first used.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// What opens connections.
pub type Connecting = HttpsConnector<HttpConnector>;

/// A client. It follows no redirect.
pub type HttpsClient = Client<Connecting, Full<Bytes>>;

/// A client that waits so long for a connection and keeps one that nobody uses so long. With a file of authorities it
/// trusts those and no others, without one those that browsers trust.
///
/// # Errors
/// Why the file is of no use, in words for the operator.
pub fn https_client(
    authorities: Option<&Path>,
    connect: Duration,
    idle: Duration,
) -> Result<HttpsClient, &'static str> {
    Ok(Client::builder(TokioExecutor::new())
        .pool_idle_timeout(idle)
        .pool_timer(TokioTimer::new())
        .build(connecting(authorities, connect)?))
}

/// What opens connections and waits so long for one, for whoever keeps them itself. It trusts whom [`https_client`] trusts.
///
/// # Errors
/// Why the file is of no use, in words for the operator.
pub fn connecting(authorities: Option<&Path>, connect: Duration) -> Result<Connecting, &'static str> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|_| "no version of TLS can be spoken with it")?;
    let config = match authorities {
        Some(file) => config.with_root_certificates(roots(file)?),
        None => hyper_rustls::ConfigBuilderExt::with_webpki_roots(config),
    };
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(connect));
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(config.with_no_client_auth())
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector))
}

/// The certificates of a file of authorities. A file without one is a mistake, not trust in nobody.
fn roots(file: &Path) -> Result<RootCertStore, &'static str> {
    const UNREADABLE: &str = "its ca_file holds no certificates that can be read";
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|_| UNREADABLE)? {
        roots
            .add(certificate.map_err(|_| UNREADABLE)?)
            .map_err(|_| UNREADABLE)?;
    }
    if roots.is_empty() {
        Err(UNREADABLE)
    } else {
        Ok(roots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_authorities_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let wait = Duration::from_secs(1);
        let refused = |file: &Path| https_client(Some(file), wait, wait).is_err();
        assert!(refused(&place.path().join("missing.pem")));
        for (name, text) in [("empty.pem", ""), ("words.pem", "no certificate")] {
            std::fs::write(place.path().join(name), text).unwrap();
            assert!(refused(&place.path().join(name)), "{name}");
        }
        assert!(https_client(None, wait, wait).is_ok());
    }
}
