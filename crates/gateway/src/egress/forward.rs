//! One request in the clear: looked into, decided, sent, answered.

use std::convert::Infallible;
use std::io::Cursor;

use axum::body::{Body, Bytes};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1 as client;
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tidegate_core::Fault;
use tidegate_detect::wide::{Order, Wide};
use tidegate_engine::Payload;
use tidegate_engine::egress::{EgressSession, Passage, Scan, Sent, Target};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::Inner;
use super::answer::Refused;
use super::head::Head;
use super::intercept::Interception;
use super::resolve::Route;
use super::wire::Wire;
use crate::mcp::strict;

/// What speaks of one connection alone, and is not passed on.
const HOP_BY_HOP: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHORIZATION,
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// A connection to a destination, dropped with its answer.
struct Reading(AbortHandle);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Inner {
    /// Serves the one request of a connection whose head was read already.
    pub(super) async fn forward(
        &self,
        wire: Wire,
        head: Head,
        session: &EgressSession,
        target: &Target,
        path: &str,
    ) {
        let (reading, writing) = tokio::io::split(wire);
        let rewound = tokio::io::join(Cursor::new(head.bytes).chain(reading), writing);
        let exchange = Exchange {
            inner: self,
            session,
            target,
            path,
            onward: Onward::Plain,
            decided: Notify::new(),
        };
        let serving = exchange.serve(rewound);
        self.while_allowed(session, target, exchange.decided.notified(), serving)
            .await;
    }
}

/// One request on its way.
pub(super) struct Exchange<'a> {
    pub(super) inner: &'a Inner,
    pub(super) session: &'a EgressSession,
    pub(super) target: &'a Target,
    pub(super) path: &'a str,
    pub(super) onward: Onward<'a>,
    /// Told once the request may be sent.
    pub(super) decided: Notify,
}

/// How a request goes on from here.
pub(super) enum Onward<'a> {
    /// In the clear.
    Plain,
    /// Over TLS, on the way that was checked when the tunnel was asked for.
    Tls { by: &'a Interception, route: Route },
}

impl Onward<'_> {
    /// The port that nobody needs to name.
    const fn usual_port(&self) -> u16 {
        match self {
            Self::Plain => 80,
            Self::Tls { .. } => 443,
        }
    }
}

impl Exchange<'_> {
    /// Reads the request again from its first byte, answers it, and takes no other.
    pub(super) async fn serve(&self, io: impl AsyncRead + AsyncWrite + Unpin) {
        let answer = service_fn(async |request| Ok::<_, Infallible>(self.answer(request).await));
        let serving = server::Builder::new()
            .keep_alive(false)
            .serve_connection(TokioIo::new(io), answer);
        // A connection that breaks is its client's affair.
        let _ = serving.await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match self.pass(request).await {
            Ok(response) => response,
            Err(refused) => refused.response().map(Body::new),
        }
    }

    async fn pass(&self, request: Request<Incoming>) -> Result<Response<Body>, Refused> {
        let (parts, body) = request.into_parts();
        let scan = self.inner.egress.destination(&self.target.host).scan;
        let (sent, body) = match scan {
            Scan::Nothing => (Sent::default(), Body::new(body)),
            Scan::Plain | Scan::All => {
                let body = self.readable(&parts.headers, body).await?;
                let sent = match carried(&parts, self.path, &body) {
                    Ok(sent) => sent,
                    Err(strict::Unreadable) => return Err(self.refused(Fault::Unreadable).await),
                };
                (sent, Body::new(Full::new(body)))
            }
        };
        let decided = self
            .inner
            .egress
            .decide(self.session, self.target, &sent, self.way());
        let route = match decided.await {
            Ok(Passage::Open(cleared)) => cleared.into_inner(),
            Ok(Passage::Refused(refusal)) => return Err(Refused::by(&refusal)),
            Err(error) => return Err(Refused::unjudged(error)),
        };
        self.decided.notify_one();
        let timeout = self.inner.bounds.connect_timeout;
        let there = route.connect(timeout).await;
        let there = there.map_err(|_| Refused::unreachable())?;
        let request = self.addressed(parts, body);
        match &self.onward {
            Onward::Plain => self.exchange(there, request).await,
            Onward::Tls { by, .. } => {
                let secured = tokio::time::timeout(timeout, by.onward(&self.target.host, there)).await;
                let there = secured
                    .ok()
                    .and_then(Result::ok)
                    .ok_or_else(Refused::unreachable)?;
                self.exchange(there, request).await
            }
        }
    }

    async fn way(&self) -> Result<Route, Fault> {
        match &self.onward {
            Onward::Plain => self.inner.way(self.target).await,
            Onward::Tls { route, .. } => Ok(route.clone()),
        }
    }

    /// The whole body, where it can be looked into.
    async fn readable(&self, headers: &HeaderMap, body: Incoming) -> Result<Bytes, Refused> {
        if headers.contains_key(header::CONTENT_ENCODING) {
            return Err(self.refused(Fault::Unreadable).await);
        }
        let bounds = &self.inner.bounds;
        let whole = Limited::new(body, bounds.body_bytes).collect();
        match tokio::time::timeout(bounds.request_timeout, whole).await {
            Ok(Ok(whole)) => Ok(whole.to_bytes()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                Err(self.refused(Fault::Unreadable).await)
            }
            Ok(Err(_)) => Err(self.refused(Fault::Malformed).await),
            Err(_) => Err(self.refused(Fault::TooSlow).await),
        }
    }

    async fn refused(&self, fault: Fault) -> Refused {
        let (session, target) = (Some(self.session), Some(self.target));
        self.inner.refused(session, target, fault).await
    }

    /// The request as the destination gets it: the path alone, the host that was decided about, nothing of this hop.
    fn addressed(&self, parts: axum::http::request::Parts, body: Body) -> Request<Body> {
        let mut request = Request::new(body);
        *request.method_mut() = parts.method;
        *request.uri_mut() = self.path.parse().unwrap_or_default();
        *request.headers_mut() = end_to_end(parts.headers);
        let host = if self.target.port == self.onward.usual_port() {
            self.target.host.to_string()
        } else {
            self.target.to_string()
        };
        if let Ok(host) = HeaderValue::try_from(host) {
            request.headers_mut().insert(header::HOST, host);
        }
        request.headers_mut().remove(header::EXPECT);
        request
    }

    /// Sends the request and begins to read the answer.
    async fn exchange(
        &self,
        there: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        request: Request<Body>,
    ) -> Result<Response<Body>, Refused> {
        let unreachable = |_| Refused::unreachable();
        let (mut sender, connection) = client::handshake(TokioIo::new(there))
            .await
            .map_err(unreachable)?;
        let reading = Reading(tokio::spawn(connection).abort_handle());
        let answered = tokio::time::timeout(self.inner.bounds.answer_timeout, sender.send_request(request));
        let response = answered
            .await
            .map_err(|_| Refused::unreachable())?
            .map_err(unreachable)?;
        // INVARIANT (durable before visible): what the destination sends counts before any of it is passed on.
        if let Err(error) = self.inner.egress.admit(self.session, self.target).await {
            tracing::error!(%error, "an answer could not be let in");
            return Err(Refused::unreachable());
        }
        let (parts, body) = response.into_parts();
        let body = body.map_frame(move |frame| {
            // The connection is read for as long as the body is.
            let _ = &reading;
            frame
        });
        let mut response = Response::new(Body::new(body));
        *response.status_mut() = parts.status;
        *response.headers_mut() = end_to_end(parts.headers);
        Ok(response)
    }
}

/// The headers that are meant for the other end.
fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|b| *b == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named) {
        headers.remove(name);
    }
    headers.append(header::VIA, HeaderValue::from_static("1.1 tidegate"));
    headers
}

/// What a request carries, as it is looked into: the URL and the headers as one text, the body as it stands, and once more
/// what in it is JSON. What forms spell with a plus for a space is looked at once more as it reads.
fn carried(parts: &axum::http::request::Parts, path: &str, body: &Bytes) -> Result<Sent, strict::Unreadable> {
    let mut text = format!("{} {path}\n", parts.method);
    for (name, value) in &parts.headers {
        if name == header::HOST || name == header::PROXY_AUTHORIZATION {
            continue;
        }
        text.push_str(name.as_str());
        text.push_str(": ");
        text.push_str(&String::from_utf8_lossy(value.as_bytes()));
        text.push('\n');
    }
    let mut sent: Vec<String> = with_spaces(path).into_iter().chain([text]).collect();
    let mut documents = Vec::new();
    let narrow = (!body.is_empty()).then(|| String::from_utf8_lossy(body).into_owned());
    for body in narrow.into_iter().chain(in_wide_letters(body)) {
        documents.append(&mut strict::read_all(&body)?);
        sent.extend(with_spaces(&body));
        sent.push(body);
    }
    let texts = sent.into_iter().map(serde_json::Value::String);
    let documents = (!documents.is_empty()).then_some(serde_json::Value::Array(documents));
    Ok(Sent(texts.chain(documents).map(Payload::new).collect()))
}

/// A body that may be text in letters of two bytes each, as it reads in either order of them.
fn in_wide_letters(body: &[u8]) -> impl Iterator<Item = String> {
    let wide = Order::of(body).map(|_| Wide::readings(body));
    wide.into_iter().flatten().map(|wide| wide.text)
}

/// A text with a space for each plus, if it has any.
fn with_spaces(text: &str) -> Option<String> {
    text.contains('+').then(|| text.replace('+', " "))
}
