//! A server at an address: each message is a POST, and answers come back as JSON or as a stream of events.
//!
//! A stream that breaks off before its answer is taken up again where the server numbers its events. A stream for what
//! the server says unasked is kept open where the server offers one.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, Request, StatusCode};
use http_body_util::Full;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::client::{Answer, Http};
use super::connection::{Connection, Incoming, Read, incoming};
use super::sse::{Event, Events};
use super::{Bounds, UpstreamError};
use crate::mcp::message::{Envelope, Message};
use crate::mcp::routing;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How often a stream that breaks off is taken up again for one answer.
const MOST_RESUMES: u32 = 20;

/// As much room is made for an answer because its server says so; more is made as it comes.
const MOST_TRUSTED: usize = 256 << 10;

/// How long to wait before taking a stream up again, where the server does not say.
const RESUME_AFTER: Duration = Duration::from_millis(500);

/// The reading of a stream that has no end; it ends with this.
pub(crate) struct Reading(AbortHandle);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An address and the conversation that is held with it.
pub(crate) struct Exchange {
    client: Http,
    headers: HeaderMap,
    read: mpsc::Sender<Read>,
    state: Mutex<State>,
    bounds: Bounds,
}

#[derive(Default)]
struct State {
    session: Option<HeaderValue>,
    protocol: Option<HeaderValue>,
    connection: Weak<Connection>,
}

impl Exchange {
    /// Prepares to speak to an address.
    pub(super) fn with(
        url: &str,
        headers_env: &[(String, String)],
        ca_file: Option<&Path>,
        bounds: Bounds,
    ) -> Result<(Arc<Self>, mpsc::Receiver<Read>), UpstreamError> {
        let client = Http::to(url, ca_file, bounds.start_timeout)?;
        let mut headers = HeaderMap::new();
        for (name, variable) in headers_env {
            let value = std::env::var(variable).map_err(|_| UpstreamError::NoVariable(variable.clone()))?;
            let name = HeaderName::try_from(name.as_str());
            let value = HeaderValue::try_from(value);
            let (Ok(name), Ok(mut value)) = (name, value) else {
                return Err(UpstreamError::Unreachable("one of its headers cannot be sent"));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let (read, received) = incoming();
        let exchange = Self {
            client,
            headers,
            read,
            state: Mutex::default(),
            bounds,
        };
        Ok((Arc::new(exchange), received))
    }

    /// Whom failures are told to.
    pub(super) fn belongs_to(&self, connection: &Arc<Connection>) {
        self.state().connection = Arc::downgrade(connection);
    }

    /// The version that was agreed on; every later request names it.
    pub(super) fn agreed(&self, protocol: &str) {
        self.state().protocol = HeaderValue::try_from(protocol).ok();
    }

    /// Sends a request and reads what comes back: what is told before the answer, and the answer, each to whom it
    /// concerns.
    pub(super) async fn ask(&self, request: &Envelope, id: u64) -> Result<(), UpstreamError> {
        let answer = self.client.send(self.posting(request)).await?;
        self.remember(&answer);
        self.answer(answer, Some(id)).await
    }

    /// Sends what wants no answer.
    pub(super) async fn tell(self: &Arc<Self>, message: Envelope) -> Result<(), UpstreamError> {
        let answer = self.client.send(self.posting(&message)).await?;
        self.answer(answer, None).await
    }

    fn posting(&self, message: &Envelope) -> Request<Full<Bytes>> {
        let mut request = self.addressed(Method::POST, Bytes::from(message.to_line()));
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, accepted);
        for (name, value) in routing::headers(message) {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
        request
    }

    /// Keeps a stream open for what the server says unasked, as long as it offers one and what is given back is kept.
    pub(super) fn listen(self: &Arc<Self>) -> Reading {
        let exchange = Arc::downgrade(self);
        let listening = tokio::spawn(async move {
            let mut last_event = None;
            loop {
                let Some(exchange) = exchange.upgrade().filter(|exchange| exchange.is_wanted()) else {
                    return;
                };
                let Some(response) = exchange.get(last_event.as_ref()).await else {
                    return;
                };
                let ended = exchange.events(response, None).await;
                let Ok(Stream { last, retry, .. }) = ended else {
                    return;
                };
                last_event = last.or(last_event);
                drop(exchange);
                tokio::time::sleep(retry.max(RESUME_AFTER)).await;
            }
        });
        Reading(listening.abort_handle())
    }

    /// Keeps a request open whose stream has no end, as long as the server takes it and what is given back is kept.
    pub(super) fn subscribe(self: &Arc<Self>, request: &Envelope, id: u64) -> Reading {
        let (exchange, request) = (Arc::downgrade(self), request.clone());
        let listening = tokio::spawn(async move {
            loop {
                let Some(exchange) = exchange.upgrade().filter(|exchange| exchange.is_wanted()) else {
                    return;
                };
                let opened = exchange.client.send(exchange.posting(&request)).await;
                let Some(response) = opened.ok().filter(Answer::is_stream) else {
                    return;
                };
                let ended = exchange.events(response, Some(id)).await;
                let Ok(Stream {
                    answered: false,
                    retry,
                    ..
                }) = ended
                else {
                    return;
                };
                drop(exchange);
                tokio::time::sleep(retry.max(RESUME_AFTER)).await;
            }
        });
        Reading(listening.abort_handle())
    }

    fn is_wanted(&self) -> bool {
        let connection = self.state().connection.upgrade();
        connection.is_some_and(|connection| !connection.is_over())
    }

    async fn get(&self, last_event: Option<&String>) -> Option<Answer> {
        let mut request = self.addressed(Method::GET, Bytes::new());
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = last_event {
            headers.insert(LAST_EVENT, HeaderValue::try_from(id).ok()?);
        }
        let answer = self.client.send(request).await.ok()?;
        (answer.status() == StatusCode::OK).then_some(answer)
    }

    fn addressed(&self, method: Method, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        let state = self.state();
        if let Some(session) = &state.session {
            headers.insert(SESSION, session.clone());
        }
        if let Some(protocol) = &state.protocol {
            headers.insert(PROTOCOL, protocol.clone());
        }
        drop(state);
        request
    }

    fn remember(&self, answer: &Answer) {
        if let Some(session) = answer.headers().get(SESSION) {
            self.state().session = Some(session.clone());
        }
    }

    async fn answer(&self, answer: Answer, id: Option<u64>) -> Result<(), UpstreamError> {
        let status = answer.status();
        if status == StatusCode::NOT_FOUND && self.state().session.is_some() {
            // The server forgot the conversation; the next call starts another.
            self.over(&UpstreamError::Gone);
            return Err(UpstreamError::Gone);
        }
        if answer.is_stream() {
            return self.until_answered(answer, id).await;
        }
        if answer.kind().eq_ignore_ascii_case("application/json") && id.is_some() {
            // An error may come as JSON-RPC under any status.
            return self.json(answer, id, status).await;
        }
        if status.is_success() {
            return id.map_or(Ok(()), |_| Err(UpstreamError::Gone));
        }
        Err(UpstreamError::Status(status.as_u16()))
    }

    async fn json(
        &self,
        mut answer: Answer,
        id: Option<u64>,
        status: StatusCode,
    ) -> Result<(), UpstreamError> {
        let mut body = Vec::with_capacity(answer.announced().min(MOST_TRUSTED));
        while let Some(piece) = answer.piece().await? {
            if body.len() + piece.len() > self.bounds.message_bytes {
                return Err(UpstreamError::TooLarge);
            }
            body.extend_from_slice(&piece);
        }
        let message = std::str::from_utf8(&body).ok().map(Message::read);
        match message {
            // An answer that comes alone has nothing before it to wait for.
            Some(Ok(Message::Response(answer))) => {
                let connection = self.state().connection.upgrade();
                connection.ok_or(UpstreamError::Gone)?.answered(answer);
                Ok(())
            }
            Some(Ok(message)) => self.deliver(message, id).await,
            _ if status.is_success() => Err(UpstreamError::Unreachable("what it sends is no message")),
            _ => Err(UpstreamError::Status(status.as_u16())),
        }
    }

    /// Reads a stream until its answer came, taking it up again where it breaks off.
    async fn until_answered(&self, answer: Answer, id: Option<u64>) -> Result<(), UpstreamError> {
        let mut stream = self.events(answer, id).await?;
        let mut last = stream.last.take();
        for _ in 0..MOST_RESUMES {
            if stream.answered || id.is_none() {
                return Ok(());
            }
            let Some(from) = &last else {
                return Err(UpstreamError::Gone);
            };
            tokio::time::sleep(stream.retry.min(self.bounds.start_timeout)).await;
            let response = self.get(Some(from)).await.ok_or(UpstreamError::Gone)?;
            stream = self.events(response, id).await?;
            last = stream.last.take().or(last);
        }
        Err(UpstreamError::Gone)
    }

    async fn events(&self, mut answer: Answer, id: Option<u64>) -> Result<Stream, UpstreamError> {
        let mut events = Events::at_most(self.bounds.message_bytes);
        let mut stream = Stream {
            answered: false,
            last: None,
            retry: RESUME_AFTER,
        };
        // A stream that breaks and one that ends are the same thing here: what matters is whether the answer came.
        while let Ok(Some(piece)) = answer.piece().await {
            let whole = events.take(&piece).map_err(|_| UpstreamError::TooLarge)?;
            for event in whole {
                stream.answered |= self.event(event, id, &mut stream.last, &mut stream.retry).await?;
            }
        }
        Ok(stream)
    }

    async fn event(
        &self,
        event: Event,
        id: Option<u64>,
        last: &mut Option<String>,
        retry: &mut Duration,
    ) -> Result<bool, UpstreamError> {
        if event.id.is_some() {
            *last = event.id;
        }
        if let Some(retry_ms) = event.retry_ms {
            *retry = Duration::from_millis(retry_ms);
        }
        if event.data.is_empty() {
            return Ok(false);
        }
        let Ok(message) = Message::read(&event.data) else {
            tracing::warn!("a server sent an event that is no message; it is passed over");
            return Ok(false);
        };
        let answers = matches!(&message, Message::Response(answer) if Some(answer.id()) == id.map(|id| id.to_string()).as_deref());
        self.deliver(message, id).await?;
        Ok(answers)
    }

    async fn deliver(&self, message: Message, related: Option<u64>) -> Result<(), UpstreamError> {
        let read = Incoming { message, related };
        self.read.send(Ok(read)).await.map_err(|_| UpstreamError::Gone)
    }

    fn over(&self, why: &UpstreamError) {
        let connection = self.state().connection.upgrade();
        if let Some(connection) = connection {
            connection.end(why);
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Stream {
    answered: bool,
    last: Option<String>,
    retry: Duration,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(session) = state.session.take() else {
            return;
        };
        // The server may forget the conversation; whether it hears so changes nothing here.
        state.session = Some(session);
        let farewell = self.addressed(Method::DELETE, Bytes::new());
        let client = self.client.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = tokio::time::timeout(Duration::from_secs(2), client.send(farewell)).await;
            });
        }
    }
}
