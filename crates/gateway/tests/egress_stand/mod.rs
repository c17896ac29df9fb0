//! The egress proxy of a real gateway, destinations on loopback, and somebody who knows their names.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part of the stand"
)]

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde_json::{Value, json};
use tidegate_core::{Class, Control, Ident, Role};
use tidegate_engine::Caller;
use tidegate_engine::egress::{Destination, Destinations, EgressKey, Protocol, Scan, net};
use tidegate_gateway::egress::{Addresses, Authority, Bounds, Interception, Proxy, Resolve, Settings};
use tidegate_gateway::{digest, mcp};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector, client};

use crate::stand::{Holder, Setting, Stand, policy};

/// How long a test waits for something that happens anyway.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// How long a large answer is.
pub const LARGE: usize = 3_000_000;

/// A proxy, a session, and what stands around them.
pub struct Exit {
    pub stand: Stand,
    pub proxy: Proxy,
    pub address: SocketAddr,
    pub alice: Holder,
    pub session: String,
    pub caller: Caller,
    /// `Basic ...`, as the session's clients send it.
    pub credential: String,
    /// A destination in the clear.
    pub plain: Origin,
    /// A destination over TLS.
    pub secure: Origin,
    pub names: Arc<Names>,
}

impl Exit {
    pub async fn start() -> Self {
        Self::start_with(Bounds::STANDARD).await
    }

    pub async fn start_with(bounds: Bounds) -> Self {
        let policy = policy().with_destinations(&destinations(&[]));
        let stand = Stand::start_mcp(Setting::default(), policy, Vec::new(), mcp::Options::STANDARD).await;
        let directory = stand.directory.path();
        let roots = directory.join("roots.pem");
        let issuer = issuer();
        std::fs::write(&roots, issuer.pem()).unwrap();
        let plain = Origin::plain().await;
        let secure = Origin::secure(&issuer).await;
        let names = Arc::new(Names::default());
        let authority = Arc::new(Authority::in_directory(directory).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let settings = Settings {
            destinations: destinations(&[
                plain.address.port(),
                secure.address.port(),
                address.port(),
                9,
                443,
            ]),
            key: EgressKey::in_file(&directory.join("egress.key")).unwrap(),
            tokens: Some(stand.store.clone()),
            bounds,
            own: vec![address, stand.address],
            resolver: Arc::clone(&names) as _,
            interception: Some(Interception::new(authority, Some(&roots)).unwrap()),
        };
        let proxy = Proxy::new(Arc::clone(&stand.engine), settings);
        let serving = proxy.clone();
        tokio::spawn(async move { serving.serve_tcp(listener, std::future::pending()).await });
        let alice = stand.alice().await;
        let session = stand.open(&alice).await;
        let caller = Caller {
            principal: Ident::parse("alice").unwrap(),
            agent: Some(Ident::parse("bot").unwrap()),
            role: Role::Agent,
            token_id: Ident::parse("tok").unwrap(),
        };
        let id = Ident::parse(&session).unwrap();
        let issued = proxy
            .egress()
            .issue(&caller, &digest(&alice.token), &id)
            .await
            .unwrap();
        let credential = basic(issued.session.as_str(), &issued.password);
        Self {
            stand,
            proxy,
            address,
            alice,
            session,
            caller,
            credential,
            plain,
            secure,
            names,
        }
    }

    /// Sends bytes as they are and gives all that comes back.
    pub async fn send(&self, raw: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(raw).await.unwrap();
        answer(&mut stream).await
    }

    /// Asks for something in the clear.
    pub async fn request(&self, line: &str, host: &str, rest: &str) -> String {
        let credential = &self.credential;
        let text =
            format!("{line} HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: {credential}\r\n{rest}\r\n");
        self.send(text.as_bytes()).await
    }

    /// Asks for a tunnel and gives the connection with the head of the answer.
    pub async fn connect(&self, target: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let credential = &self.credential;
        let text = format!(
            "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nProxy-Authorization: {credential}\r\n\r\n"
        );
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let byte = tokio::time::timeout(PATIENCE, stream.read_u8()).await.unwrap();
            head.push(byte.unwrap());
        }
        (stream, String::from_utf8(head).unwrap())
    }

    /// A tunnel that stands.
    pub async fn tunnel(&self, target: &str) -> TcpStream {
        let (stream, head) = self.connect(target).await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        stream
    }

    /// Brings private data into the session.
    pub async fn raise(&self, class: &str) {
        let path = format!("/v1/session/{}/datasets", self.session);
        let body = json!({"name": "secrets", "sensitivity": class});
        self.stand.post(&self.alice, &path, body).await;
    }

    /// Every rule and verdict that the record holds of connections, whether or not a session was known.
    pub async fn recorded(&self) -> Vec<(String, String)> {
        let auditor = self.stand.holder(Role::Auditor, "ann", None).await;
        let mut found = Vec::new();
        for event in ["decision", "connection_refused"] {
            let path = format!("/v1/provenance?event={event}&limit=1000");
            let page = self.stand.get(&auditor, &path).await;
            for record in page["records"].as_array().unwrap() {
                let text = |name: &str| record["event"][name].as_str().unwrap_or("deny").to_owned();
                found.push((text("decision"), text("rule")));
            }
        }
        found
    }

    /// Waits until the record says so often that a rule refused a connection.
    pub async fn until_refused(&self, rule: &str, times: usize) {
        let noted = async {
            while self.refusals(rule).await < times {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, noted).await.expect(rule);
        assert_eq!(self.refusals(rule).await, times);
    }

    /// How often the record says that a rule refused a connection.
    pub async fn refusals(&self, rule: &str) -> usize {
        let recorded = self.recorded().await;
        let refused = recorded
            .iter()
            .filter(|(verdict, by)| verdict == "deny" && by == rule);
        refused.count()
    }
}

pub fn basic(id: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{id}:{password}")))
}

/// The rest of an answer.
pub async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    // A reset after the answer is an end too.
    let _ = read.expect("an answer in time");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The document in a refusal.
pub fn problem(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"))
}

fn destinations(ports: &[u16]) -> Destinations {
    let entry = |pattern: &str, ceiling| Destination {
        pattern: pattern.parse().unwrap(),
        ceiling,
        returns: Class::Public,
        addresses: vec![net("127.0.0.1").unwrap()],
        ..Destination::unlisted(ports.to_vec())
    };
    let listed = vec![
        entry("public.test", Class::Public),
        entry("partner.test", Class::Confidential),
        Destination {
            protocol: Protocol::Tcp,
            ..entry("tcp.test", Class::Internal)
        },
        Destination {
            scan: Scan::All,
            ..entry("scan.test", Class::Public)
        },
        Destination {
            scan: Scan::All,
            returns: Class::Internal,
            ..entry("wiki.test", Class::Public)
        },
        Destination {
            returns: Class::Internal,
            ..entry("intern.test", Class::Internal)
        },
        Destination {
            returns: Class::Internal,
            ..entry("*.pool.test", Class::Internal)
        },
        Destination {
            control: Control::Blocked,
            ..entry("blocked.test", Class::Secret)
        },
        Destination {
            addresses: Vec::new(),
            ..entry("inner.test", Class::Secret)
        },
        entry("127.0.0.1", Class::Public),
    ];
    Destinations::new(listed, ports.to_vec())
}

/// Knows every name below `.test` as this machine, and others as it is told; counts what it is asked.
#[derive(Default)]
pub struct Names {
    answers: Mutex<HashMap<String, Vec<Vec<IpAddr>>>>,
    pub asked: Mutex<Vec<String>>,
}

impl Names {
    /// What a name leads to, one answer after the other; the last one stays.
    pub fn lead(&self, name: &str, answers: &[&[&str]]) {
        let addresses = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let answers = answers.iter().map(addresses).collect();
        self.answers.lock().unwrap().insert(name.to_owned(), answers);
    }

    pub fn times_asked(&self, name: &str) -> usize {
        self.asked
            .lock()
            .unwrap()
            .iter()
            .filter(|asked| *asked == name)
            .count()
    }
}

impl Resolve for Names {
    fn addresses<'a>(&'a self, name: &'a str) -> Addresses<'a> {
        let times = self.times_asked(name);
        self.asked.lock().unwrap().push(name.to_owned());
        let answers = self.answers.lock().unwrap().get(name).cloned();
        let found = match answers {
            Some(answers) => answers
                .get(times.min(answers.len() - 1))
                .cloned()
                .unwrap_or_default(),
            None if name.ends_with(".test") => vec!["127.0.0.1".parse().unwrap()],
            None => Vec::new(),
        };
        Box::pin(std::future::ready(Ok(found)))
    }
}

/// A destination that keeps what it was sent.
pub struct Origin {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<u8>>>,
    connections: Arc<Mutex<usize>>,
}

impl Origin {
    async fn plain() -> Self {
        Self::serve(None, "127.0.0.1:0").await
    }

    /// One in the clear at another address of this machine.
    pub async fn at(address: &str) -> Self {
        Self::serve(None, address).await
    }

    async fn secure(issuer: &CertifiedIssuer<'static, KeyPair>) -> Self {
        let key = KeyPair::generate().unwrap();
        let names = [
            "public.test",
            "partner.test",
            "scan.test",
            "wiki.test",
            "127.0.0.1",
        ];
        let params = CertificateParams::new(names.map(str::to_owned).to_vec()).unwrap();
        let certificate = params.signed_by(&key, issuer).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        Self::serve(Some(TlsAcceptor::from(Arc::new(config))), "127.0.0.1:0").await
    }

    async fn serve(acceptor: Option<TlsAcceptor>, address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, connections) = (Arc::new(Mutex::default()), Arc::new(Mutex::new(0)));
        let origin = Self {
            address,
            seen: Arc::clone(&seen),
            connections: Arc::clone(&connections),
        };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *connections.lock().unwrap() += 1;
                let (acceptor, seen) = (acceptor.clone(), Arc::clone(&seen));
                tokio::spawn(async move {
                    let Some(acceptor) = acceptor else {
                        return converse(stream, &seen).await;
                    };
                    if let Ok(stream) = acceptor.accept(stream).await {
                        converse(stream, &seen).await;
                    }
                });
            }
        });
        origin
    }

    /// Everything that was ever sent to it.
    pub fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

/// Answers each request with a redirect to a forbidden host where one is asked for, else with a greeting; whatever is not
/// a request is sent back as it came.
async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin, seen: &Mutex<Vec<u8>>) {
    let mut buffer = vec![0; 64 * 1024];
    let mut request = Vec::new();
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        seen.lock().unwrap().extend_from_slice(&buffer[..read]);
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let reply = if !text.contains("HTTP/1.1") {
            String::from_utf8_lossy(&buffer[..read]).into_owned()
        } else if !text.contains("\r\n\r\n") {
            continue;
        } else if text.contains("/redirect") {
            "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n".to_owned()
        } else if text.contains("/large") {
            format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {LARGE}\r\n\r\n{}",
                "x".repeat(LARGE)
            )
        } else {
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello".to_owned()
        };
        request.clear();
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn issuer() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Speaks TLS over a tunnel and names a host; without `roots` it believes anybody.
pub async fn tls(
    tunnel: TcpStream,
    named: &str,
    roots: RootCertStore,
) -> std::io::Result<client::TlsStream<TcpStream>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(named.to_owned()).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, tunnel).await
}

/// The certificates of a text.
pub fn roots_of(pem: &str) -> RootCertStore {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    roots
}
