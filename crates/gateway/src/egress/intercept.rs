//! A tunnel that is opened: TLS ends here, one request is looked into like any other, and goes on over TLS of the proxy's own.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::Acceptor;
use rustls::{ClientConfig, RootCertStore};
use tidegate_core::Fault;
use tidegate_engine::egress::{EgressSession, Host, Target};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, TlsConnector, client};

use super::answer::ESTABLISHED;
use super::authority::Authority;
use super::forward::{Exchange, Onward};
use super::head::{self, Head};
use super::resolve::Route;
use super::wire::{Wire, finish};
use super::{Inner, asked, hello};

/// Opening tunnels: who the proxy says it is, and whom it believes.
pub struct Interception {
    authority: Arc<Authority>,
    onward: TlsConnector,
}

/// Why nobody can be believed.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the file of authorities holds no certificates that can be read")]
pub struct NoRoots;

impl Interception {
    /// Opens tunnels with certificates of this authority. Destinations are believed by a file of authorities, or without
    /// one by those that browsers trust.
    ///
    /// # Errors
    /// When the file holds no certificates.
    pub fn new(authority: Arc<Authority>, roots: Option<&Path>) -> Result<Self, NoRoots> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|_| NoRoots)?;
        let builder = match roots {
            Some(file) => builder.with_root_certificates(read_roots(file)?),
            None => hyper_rustls::ConfigBuilderExt::with_webpki_roots(builder),
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let onward = TlsConnector::from(Arc::new(config));
        Ok(Self { authority, onward })
    }

    /// The authority.
    #[must_use]
    pub const fn authority(&self) -> &Arc<Authority> {
        &self.authority
    }

    /// Speaks TLS with a destination that shows it is the host.
    pub(super) async fn onward(
        &self,
        host: &Host,
        there: TcpStream,
    ) -> std::io::Result<client::TlsStream<TcpStream>> {
        let name = match host {
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(std::io::Error::other)?,
            Host::Address(address) => ServerName::from(*address),
        };
        self.onward.connect(name, there).await
    }
}

fn read_roots(file: &Path) -> Result<RootCertStore, NoRoots> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|_| NoRoots)? {
        roots
            .add(certificate.map_err(|_| NoRoots)?)
            .map_err(|_| NoRoots)?;
    }
    if roots.is_empty() { Err(NoRoots) } else { Ok(roots) }
}

impl Inner {
    /// Opens a tunnel that was decided, and serves the one request in it.
    pub(super) async fn intercept(
        &self,
        by: &Interception,
        mut wire: Wire,
        head: Head,
        session: &EgressSession,
        target: &Target,
        route: Route,
    ) {
        if wire.write_all(ESTABLISHED).await.is_err() {
            return;
        }
        let mut tls = match self.open(by, wire, &head, target).await {
            Ok(tls) => tls,
            // Nobody speaks TLS at the other end of the tunnel, so there is nobody to answer to.
            Err(fault) => {
                self.refused(Some(session), Some(target), fault).await;
                return;
            }
        };
        let read = head::read(&mut tls, self.bounds.head_bytes, self.bounds.request_timeout);
        let asked = match read.await {
            Ok(Some(head)) => inside(&head, target).map(|path| (head, path)),
            Ok(None) => return,
            Err(fault) => Err(fault),
        };
        let (head, path) = match asked {
            Ok(asked) => asked,
            Err(fault) => {
                let refused = self.refused(Some(session), Some(target), fault).await;
                return finish(tls, &refused.bytes()).await;
            }
        };
        let (reading, writing) = tokio::io::split(tls);
        let rewound = tokio::io::join(Cursor::new(head.bytes).chain(reading), writing);
        let exchange = Exchange {
            inner: self,
            session,
            target,
            path: &path,
            onward: Onward::Tls { by, route },
            decided: Notify::new(),
        };
        exchange.serve(rewound).await;
    }

    /// Answers TLS as the host that the tunnel was asked for, if that is the host that TLS names.
    async fn open(
        &self,
        by: &Interception,
        wire: Wire,
        head: &Head,
        target: &Target,
    ) -> Result<TlsStream<impl AsyncRead + AsyncWrite + Unpin + use<>>, Fault> {
        let config = by.authority.as_host(&target.host).map_err(|error| {
            tracing::error!(%error, "a tunnel cannot be opened");
            Fault::Unreadable
        })?;
        let (reading, writing) = tokio::io::split(wire);
        let early = Cursor::new(head.rest().to_vec());
        let io = tokio::io::join(early.chain(reading), writing);
        let opening = async {
            let start = LazyConfigAcceptor::new(Acceptor::default(), io).await;
            let start = start.map_err(|_| Fault::NotTls)?;
            hello::agree(start.client_hello().server_name(), &target.host)?;
            start.into_stream(config).await.map_err(|_| Fault::NotTls)
        };
        let opened = tokio::time::timeout(self.bounds.request_timeout, opening).await;
        opened.map_err(|_| Fault::TooSlow)?
    }
}

/// The path that a request inside a tunnel asks for. It names the tunnel's host and no other.
fn inside(head: &Head, target: &Target) -> Result<String, Fault> {
    if !head.target.starts_with('/') {
        return Err(Fault::Malformed);
    }
    match asked::host_of(head, target.port)? {
        Some(host) if host == *target => asked::origin_form(&head.target),
        Some(_) | None => Err(Fault::NameMismatch),
    }
}
