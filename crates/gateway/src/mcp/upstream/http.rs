//! A server at an address: each message is a POST, and answers come back as JSON or as a stream of events.
//!
//! A stream that breaks off before its answer is taken up again where the server numbers its events. A stream for what
//! the server says unasked is kept open where the server offers one.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

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

/// How long to wait before taking a stream up again, where the server does not say.
const RESUME_AFTER: Duration = Duration::from_millis(500);

const DEAF: &str = "it does not answer";

/// The reading of a stream that has no end; it ends with this.
pub(crate) struct Reading(AbortHandle);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An address and the conversation that is held with it.
pub(crate) struct Exchange {
    client: Client,
    url: Url,
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
        bounds: Bounds,
    ) -> Result<(Arc<Self>, mpsc::Receiver<Read>), UpstreamError> {
        if url.starts_with("https:") {
            return Err(UpstreamError::Unreachable("this version speaks plain http only"));
        }
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(bounds.start_timeout)
            .build()
            .map_err(|_| UpstreamError::Unreachable("no client can be made for it"))?;
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
            url: Url::parse(url).map_err(|_| UpstreamError::Unreachable("its address is none"))?,
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
        let response = self.posting(request).send().await;
        let response = response.map_err(|_| UpstreamError::Unreachable(DEAF))?;
        self.remember(&response);
        self.answer(response, Some(id)).await
    }

    /// Sends what wants no answer.
    pub(super) async fn tell(self: &Arc<Self>, message: Envelope) -> Result<(), UpstreamError> {
        let response = self.posting(&message).send().await;
        let response = response.map_err(|_| UpstreamError::Unreachable(DEAF))?;
        self.answer(response, None).await
    }

    fn posting(&self, message: &Envelope) -> RequestBuilder {
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream");
        for (name, value) in routing::headers(message) {
            request = request.header(name, value);
        }
        self.addressed(request).body(message.to_line())
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
                let opened = exchange.posting(&request).send().await;
                let Some(response) = opened.ok().filter(is_stream) else {
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

    async fn get(&self, last_event: Option<&String>) -> Option<Response> {
        let mut request = self
            .client
            .get(self.url.clone())
            .header(ACCEPT, "text/event-stream");
        if let Some(id) = last_event {
            request = request.header(LAST_EVENT, id);
        }
        let response = self.addressed(request).send().await.ok()?;
        (response.status() == StatusCode::OK).then_some(response)
    }

    fn addressed(&self, request: RequestBuilder) -> RequestBuilder {
        let mut headers = self.headers.clone();
        let state = self.state();
        if let Some(session) = &state.session {
            headers.insert(SESSION, session.clone());
        }
        if let Some(protocol) = &state.protocol {
            headers.insert(PROTOCOL, protocol.clone());
        }
        drop(state);
        request.headers(headers)
    }

    fn remember(&self, response: &Response) {
        if let Some(session) = response.headers().get(SESSION) {
            self.state().session = Some(session.clone());
        }
    }

    async fn answer(&self, response: Response, id: Option<u64>) -> Result<(), UpstreamError> {
        let status = response.status();
        let is_events = is_stream(&response);
        let kind = response.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let is_json = kind.starts_with("application/json");
        if status == StatusCode::NOT_FOUND && self.state().session.is_some() {
            // The server forgot the conversation; the next call starts another.
            self.over(&UpstreamError::Gone);
            return Err(UpstreamError::Gone);
        }
        if is_events {
            return self.until_answered(response, id).await;
        }
        if is_json && id.is_some() {
            // An error may come as JSON-RPC under any status.
            return self.json(response, id, status).await;
        }
        if status.is_success() {
            return id.map_or(Ok(()), |_| Err(UpstreamError::Gone));
        }
        Err(UpstreamError::Status(status.as_u16()))
    }

    async fn json(
        &self,
        mut response: Response,
        id: Option<u64>,
        status: StatusCode,
    ) -> Result<(), UpstreamError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|_| UpstreamError::Gone)? {
            if body.len() + chunk.len() > self.bounds.message_bytes {
                return Err(UpstreamError::TooLarge);
            }
            body.extend_from_slice(&chunk);
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
    async fn until_answered(&self, response: Response, id: Option<u64>) -> Result<(), UpstreamError> {
        let mut stream = self.events(response, id).await?;
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

    async fn events(&self, mut response: Response, id: Option<u64>) -> Result<Stream, UpstreamError> {
        let mut events = Events::at_most(self.bounds.message_bytes);
        let mut stream = Stream {
            answered: false,
            last: None,
            retry: RESUME_AFTER,
        };
        // A stream that breaks and one that ends are the same thing here: what matters is whether the answer came.
        while let Ok(Some(chunk)) = response.chunk().await {
            let whole = events.take(&chunk).map_err(|_| UpstreamError::TooLarge)?;
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

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    response.status().is_success() && kind.starts_with("text/event-stream")
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
        let farewell = self
            .client
            .delete(self.url.clone())
            .headers(self.headers.clone())
            .header(SESSION, session);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(farewell.timeout(Duration::from_secs(2)).send());
        }
    }
}
