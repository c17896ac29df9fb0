//! A server behind TLS, with a certificate of an authority of the operator's own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod mcp_stand;
mod stand;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::post;
use mcp_stand::{Client, options, policy, server, text_of};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use stand::{Setting, Stand};
use tidegate_gateway::mcp::Reach;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// An authority, and the file that its certificate is in.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: PathBuf,
}

impl Authority {
    fn new(directory: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = directory.join(name);
        std::fs::write(&file, issuer.pem()).unwrap();
        Self { issuer, file }
    }

    fn acceptor(&self) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

struct TlsListener(TcpListener, TlsAcceptor);

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, address) = self.0.accept().await.unwrap();
            // A client that does not trust the certificate goes away; the next one is waited for.
            if let Ok(stream) = self.1.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

async fn take(body: String) -> axum::response::Response {
    let message: Value = serde_json::from_str(&body).unwrap();
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "tls", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "over TLS"}]}),
        _ => return axum::http::StatusCode::ACCEPTED.into_response(),
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    ([("content-type", "application/json")], answer.to_string()).into_response()
}

/// Calls the server through a gateway that trusts this file of authorities.
async fn call(acceptor: TlsAcceptor, ca_file: Option<PathBuf>) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    let routes = Router::new().route("/mcp", post(take));
    tokio::spawn(axum::serve(TlsListener(listener, acceptor), routes).into_future());
    let reach = Reach::Url {
        url,
        headers_env: Vec::new(),
        ca_file,
    };
    let servers = vec![server("far", true, reach)];
    let stand = Stand::start_mcp(Setting::default(), policy(""), servers, options()).await;
    let mut client = Client::greet(&stand).await;
    client.call("echo", json!({})).await
}

#[tokio::test]
async fn a_server_is_reached_over_tls_by_whoever_trusts_its_authority_and_by_nobody_else() {
    let directory = tempfile::tempdir().unwrap();
    let own = Authority::new(directory.path(), "own.pem");
    let other = Authority::new(directory.path(), "other.pem");
    let empty = directory.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    assert_eq!(
        text_of(&call(own.acceptor(), Some(own.file.clone())).await),
        "over TLS"
    );
    for distrusted in [None, Some(other.file), Some(empty), Some("/nowhere.pem".into())] {
        let result = call(own.acceptor(), distrusted.clone()).await;
        let rule = &result["structuredContent"]["rule"];
        assert_eq!(rule, "server-unavailable", "{distrusted:?}: {result}");
    }
}
