//! One conversation: requests go out under the gateway's own ids, and each answer finds who asked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use tidegate_core::{Cleared, Name};
use tokio::sync::{Notify, mpsc, oneshot};

use super::call::Call;
use super::http::{Exchange, Reading};
use super::late::Late;
use super::stdio::Pipe;
use super::{Bounds, UpstreamError};
use crate::mcp::era::{self, Era};
use crate::mcp::message::{Envelope, Message};
use crate::mcp::object::{Object, raw};
use crate::mcp::outlet::LogLevel;

/// The most requests of one conversation that wait for their answer.
const MOST_PENDING: usize = 256;

/// Something a server sent.
pub(crate) struct Incoming {
    /// The message.
    pub(crate) message: Message,
    /// The request whose answer it came with, where the wire tells.
    pub(crate) related: Option<u64>,
}

/// What a wire read: a message, or why there will be no more.
pub(crate) type Read = Result<Incoming, UpstreamError>;

/// Where messages to a server go.
pub(crate) enum Wire {
    /// A child's standard input.
    Pipe(Pipe),
    /// An address.
    Http(Arc<Exchange>),
}

/// A conversation with one server.
pub(crate) struct Connection {
    wire: Wire,
    calls: Mutex<Calls>,
    next: AtomicU64,
    over: AtomicBool,
    /// What the server said of itself when it was greeted.
    greeting: Mutex<Object>,
    /// The era that is spoken, and what the client said of itself.
    tongue: Mutex<(Era, Object)>,
    /// The request that keeps a stream open for what the server says unasked.
    listening: tokio::sync::Mutex<Option<Listening>>,
    bounds: Bounds,
}

struct Listening {
    id: u64,
    _reading: Option<Reading>,
}

/// What the server was asked and has not answered: what somebody waits for, and what nobody does any more.
#[derive(Default)]
struct Calls {
    pending: HashMap<u64, Waiting>,
    late: Late,
}

impl Calls {
    /// Nobody waits any more for the answer to a request that did not come.
    fn give_up(&mut self, id: u64) -> Option<Waiting> {
        let mut waiting = self.pending.remove(&id)?;
        if let Some(call) = waiting.call.take() {
            self.late.add(id, call);
        }
        Some(waiting)
    }
}

struct Waiting {
    answer: oneshot::Sender<Result<Envelope, UpstreamError>>,
    alive: Arc<Notify>,
    /// The call, where it is one of the client's.
    call: Option<Call>,
}

/// What a server may be working on.
pub(crate) struct AtWork {
    /// The calls whose answer is waited for.
    pub(crate) awaited: Vec<Name>,
    /// Those that were given up; `None` when there were more than are remembered.
    pub(crate) given_up: Option<Vec<Name>>,
}

impl Connection {
    pub(super) fn new(wire: Wire, bounds: Bounds) -> Self {
        Self {
            wire,
            calls: Mutex::default(),
            next: AtomicU64::new(1),
            over: AtomicBool::new(false),
            greeting: Mutex::new(Object::default()),
            tongue: Mutex::new((Era::Greeted, Object::default())),
            listening: tokio::sync::Mutex::new(None),
            bounds,
        }
    }

    /// The era that is spoken with the server.
    pub(crate) fn era(&self) -> Era {
        self.tongue.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// From now on speaks in this era, for a client that said this of itself.
    pub(super) fn speak(&self, era: Era, client: Object) {
        *self.tongue.lock().unwrap_or_else(PoisonError::into_inner) = (era, client);
    }

    /// How much of its logs a server of the stateless era is asked for from now on.
    pub(crate) fn log_at(&self, level: LogLevel) {
        let mut tongue = self.tongue.lock().unwrap_or_else(PoisonError::into_inner);
        tongue.1.set("logLevel", raw(&level.name()));
    }

    /// Keeps a stream open for what the server says unasked, in place of the one before.
    pub(crate) async fn listen(&self, request: Envelope) {
        let mut listening = self.listening.lock().await;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let request = self.in_tongue(request).with_id(&id.to_string());
        let before = listening.take().map(|before| before.id);
        let reading = match &self.wire {
            Wire::Pipe(pipe) => {
                if let Some(before) = before {
                    self.cancel(before).await;
                }
                let sent = pipe.send(request.to_line());
                let _ = tokio::time::timeout(self.bounds.start_timeout, sent).await;
                None
            }
            Wire::Http(exchange) => Some(exchange.subscribe(&request, id)),
        };
        *listening = Some(Listening {
            id,
            _reading: reading,
        });
    }

    /// Keeps the stream open that a server of the greeted era offers for what it says unasked.
    pub(super) async fn overhear(&self) {
        if let Wire::Http(exchange) = &self.wire {
            let listening = Listening {
                id: 0,
                _reading: Some(exchange.listen()),
            };
            *self.listening.lock().await = Some(listening);
        }
    }

    /// A message in the era that is spoken.
    fn in_tongue(&self, request: Envelope) -> Envelope {
        let tongue = self.tongue.lock().unwrap_or_else(PoisonError::into_inner);
        match tongue.0 {
            Era::Greeted => era::unstamped(request),
            Era::Stateless => era::stamped(request, &tongue.1),
        }
    }

    /// What the server said of itself.
    pub(crate) fn greeting(&self) -> Object {
        self.greeting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn greeted(&self, greeting: Object) {
        *self.greeting.lock().unwrap_or_else(PoisonError::into_inner) = greeting;
    }

    pub(super) const fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Whether the server says that it can do this.
    pub(crate) fn can(&self, capability: &str) -> bool {
        let capabilities = self.greeting().object("capabilities").unwrap_or_default();
        capabilities.get(capability).is_some()
    }

    /// Lets a server go that was started here, once everything was written to it. Waits until it is gone, not for long.
    pub(crate) async fn part(&self) {
        if let Wire::Pipe(pipe) = &self.wire {
            pipe.part().await;
        }
    }

    /// Whether nothing more will come.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Sends a request that a decision let through as this call, and waits for its answer. `sent` learns the id it went
    /// under.
    pub(crate) async fn forward(
        &self,
        call: Call,
        request: Cleared<Envelope>,
        sent: impl FnOnce(u64) + Send,
    ) -> Result<Envelope, UpstreamError> {
        let request = (request.into_inner(), Some(call));
        self.ask_within(request, self.bounds.call_timeout, sent).await
    }

    /// Asks something that carries nothing of a session: a greeting, a list.
    pub(crate) async fn ask(&self, request: Envelope) -> Result<Envelope, UpstreamError> {
        self.ask_within((request, None), self.bounds.start_timeout, |_| {})
            .await
    }

    /// Tells something that carries nothing of a session, or answers what was asked.
    pub(crate) async fn tell(&self, message: Envelope) -> Result<(), UpstreamError> {
        let telling = async {
            match &self.wire {
                Wire::Pipe(pipe) => pipe.send(message.to_line()).await,
                Wire::Http(exchange) => exchange.tell(message).await,
            }
        };
        // A server that does not read must not hold up whoever tells it something.
        let told = tokio::time::timeout(self.bounds.start_timeout, telling).await;
        told.unwrap_or(Err(UpstreamError::TimedOut))
    }

    async fn ask_within(
        &self,
        (request, call): (Envelope, Option<Call>),
        patience: Duration,
        sent: impl FnOnce(u64) + Send,
    ) -> Result<Envelope, UpstreamError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let alive = Arc::new(Notify::new());
        let waiting = Waiting {
            answer,
            alive: Arc::clone(&alive),
            call,
        };
        self.wait_for(id, waiting)?;
        sent(id);
        let place = Place { connection: self, id };
        let request = self.in_tongue(request).with_id(&id.to_string());
        let waiting = answer_or_silence(answered, &alive, patience);
        let outcome = match &self.wire {
            Wire::Pipe(pipe) => {
                let sent = tokio::time::timeout(patience, pipe.send(request.to_line())).await;
                sent.unwrap_or(Err(UpstreamError::TimedOut))?;
                waiting.await
            }
            Wire::Http(exchange) => {
                // What comes back is read here and not in a task of its own, so that reading ends with waiting.
                let reading = async {
                    if let Err(why) = exchange.ask(&request, id).await {
                        self.failed(id, why);
                    }
                    std::future::pending().await
                };
                tokio::select! {
                    // First what is read: the answer is then there when it is looked for.
                    biased;
                    () = reading => Err(UpstreamError::Gone),
                    outcome = waiting => outcome,
                }
            }
        };
        if matches!(outcome, Err(UpstreamError::TimedOut)) {
            self.cancel(id).await;
        }
        drop(place);
        outcome
    }

    /// Tells the server that nobody waits any more.
    pub(crate) async fn cancel(&self, id: u64) {
        if matches!(self.wire, Wire::Http(_)) && self.era() == Era::Stateless {
            // There, that nobody reads the answer any more says it.
            return;
        }
        let params = raw(&json!({"requestId": id, "reason": "nobody waits for the answer any more"}));
        let _ = self
            .tell(Envelope::notification("notifications/cancelled", Some(params)))
            .await;
    }

    fn wait_for(&self, id: u64, waiting: Waiting) -> Result<(), UpstreamError> {
        let mut calls = self.calls();
        if self.is_over() {
            return Err(UpstreamError::Gone);
        }
        if calls.pending.len() >= MOST_PENDING {
            return Err(UpstreamError::Busy);
        }
        calls.pending.insert(id, waiting);
        Ok(())
    }

    /// Gives an answer to whoever asked. An answer nobody waits for is dropped.
    pub(crate) fn answered(&self, answer: Envelope) {
        let Ok(id) = answer.id().parse::<u64>() else {
            return;
        };
        let mut calls = self.calls();
        calls.late.answered(id);
        if let Some(waiting) = calls.pending.remove(&id) {
            let _ = waiting.answer.send(Ok(answer));
        }
    }

    /// The server gave a sign of life for a request.
    pub(crate) fn alive(&self, id: u64) {
        if let Some(waiting) = self.calls().pending.get(&id) {
            waiting.alive.notify_one();
        }
    }

    /// One request got no answer.
    fn failed(&self, id: u64, why: UpstreamError) {
        if let Some(waiting) = self.calls().give_up(id) {
            let _ = waiting.answer.send(Err(why));
        }
    }

    /// Nothing more will come: everyone who waits is told.
    pub(crate) fn end(&self, why: &UpstreamError) {
        self.over.store(true, Ordering::Release);
        for (_, waiting) in self.calls().pending.drain() {
            let _ = waiting.answer.send(Err(why.clone()));
        }
    }

    /// What a request under way, or one that was given up, calls.
    pub(crate) fn subject(&self, id: u64) -> Option<Name> {
        let calls = self.calls();
        let awaited = calls.pending.get(&id).and_then(|waiting| waiting.call.as_ref());
        let call = awaited.or_else(|| calls.late.call(id));
        call.map(|call| call.subject.clone())
    }

    /// What the server may be working on; of what has a progress token, where one is given, only what may have this.
    pub(crate) fn at_work(&self, token: Option<&str>) -> AtWork {
        let calls = self.calls();
        let is_meant = |call: &&Call| token.is_none_or(|token| call.may_have(token));
        let subject = |call: &Call| call.subject.clone();
        let awaited = calls.pending.values().filter_map(|waiting| waiting.call.as_ref());
        let given_up = calls.late.calls();
        AtWork {
            awaited: awaited.filter(is_meant).map(subject).collect(),
            given_up: given_up.map(|late| late.filter(is_meant).map(subject).collect()),
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among those who wait; leaving it early frees it.
struct Place<'a> {
    connection: &'a Connection,
    id: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.connection.calls().give_up(self.id);
    }
}

/// Waits as long as the server shows signs of life.
async fn answer_or_silence(
    mut answered: oneshot::Receiver<Result<Envelope, UpstreamError>>,
    alive: &Notify,
    patience: Duration,
) -> Result<Envelope, UpstreamError> {
    loop {
        tokio::select! {
            answer = &mut answered => return answer.unwrap_or(Err(UpstreamError::Gone)),
            () = alive.notified() => {}
            () = tokio::time::sleep(patience) => return Err(UpstreamError::TimedOut),
        }
    }
}

/// The channel that a wire puts what it reads into: short, so that a flood waits at its source.
pub(super) fn incoming() -> (mpsc::Sender<Read>, mpsc::Receiver<Read>) {
    mpsc::channel(32)
}
