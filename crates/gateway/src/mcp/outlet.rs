//! The ways to a client: one for each request under way, and one for everything else.
//!
//! On standard streams they are all the same. Over HTTP each request has its own stream, and what belongs to a request
//! must go there; what belongs to none goes to the stream that the client keeps open, or waits for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};

pub(crate) use super::wanted::{Listener, LogLevel, Wanted};

use super::era::Era;
use super::message::Envelope;
use super::session::Resumed;

/// How long a client that does not read is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most messages kept for a client that has no stream open.
const MOST_KEPT: usize = 64;

/// Something on its way to a client.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// A message before the answer, or unasked.
    Message(String),
    /// The answer: nothing follows on this way.
    Answer {
        /// The answer itself.
        line: String,
        /// The code, where it is an error.
        code: Option<i32>,
    },
}

impl Outgoing {
    /// The message as one line.
    pub(crate) fn into_line(self) -> String {
        match self {
            Self::Message(line) | Self::Answer { line, .. } => line,
        }
    }
}

/// One way to a client.
#[derive(Clone, Debug)]
pub(crate) struct Outlet(mpsc::Sender<Outgoing>);

impl Outlet {
    /// A way and its far end.
    pub(crate) fn new() -> (Self, mpsc::Receiver<Outgoing>) {
        let (sender, receiver) = mpsc::channel(32);
        (Self(sender), receiver)
    }

    /// Sends a message; false when nobody takes it.
    pub(crate) async fn send(&self, message: &Envelope) -> bool {
        self.put(Outgoing::Message(message.to_line())).await
    }

    /// Sends the answer; false when nobody takes it.
    pub(crate) async fn answer(&self, answer: &Envelope) -> bool {
        let code = answer.error_code();
        let line = answer.to_line();
        self.put(Outgoing::Answer { line, code }).await
    }

    async fn put(&self, outgoing: Outgoing) -> bool {
        self.0.send_timeout(outgoing, PATIENCE).await.is_ok()
    }

    /// Waits until nobody takes anything any more.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    fn is_open(&self) -> bool {
        !self.0.is_closed()
    }
}

/// A request of a client that is under way.
#[derive(Clone, Debug)]
pub(crate) struct Active {
    /// Its id as the client wrote it.
    pub(crate) id: String,
    /// Its progress token as the client wrote it.
    pub(crate) token: Option<String>,
    /// The way for what belongs to it.
    pub(crate) outlet: Outlet,
    /// Where it was sent: the server, and the id it went under.
    pub(crate) sent: Option<(usize, u64)>,
    /// What it calls.
    pub(crate) subject: Option<tidegate_core::Name>,
    /// The lowest level of log messages that it wants; `None` wants none.
    pub(crate) logs: Option<LogLevel>,
    /// Whether the client took it back.
    pub(crate) taken_back: Arc<watch::Sender<bool>>,
    /// The era that its client speaks.
    pub(crate) era: Era,
    /// The call that it goes on with, where it does.
    pub(crate) resumed: Option<Resumed>,
    /// How often its server answered it with questions.
    pub(crate) rounds: u32,
}

/// Every way to one client.
#[derive(Default)]
pub(crate) struct Ways(Mutex<State>);

#[derive(Default)]
struct State {
    general: Option<Outlet>,
    kept: VecDeque<Envelope>,
    active: Vec<(u64, Active)>,
    listeners: Vec<Listener>,
    next: u64,
}

impl Ways {
    /// Opens the way for what belongs to no request; what waited for one goes first.
    pub(crate) fn open_general(&self, outlet: Outlet) -> Vec<Envelope> {
        let mut state = self.state();
        state.general = Some(outlet);
        state.kept.drain(..).collect()
    }

    /// Closes the way for what belongs to no request.
    pub(crate) fn close_general(&self) {
        self.state().general = None;
    }

    /// A request begins. `None` when its id is in use.
    pub(crate) fn begin(&self, active: Active) -> Option<u64> {
        let mut state = self.state();
        if state.active.iter().any(|(_, other)| other.id == active.id) {
            return None;
        }
        state.next += 1;
        let key = state.next;
        state.active.push((key, active));
        Some(key)
    }

    /// A request ends.
    pub(crate) fn end(&self, key: u64) {
        self.state().active.retain(|(other, _)| *other != key);
    }

    /// A request was sent on to a server.
    pub(crate) fn sent(&self, key: u64, server: usize, id: u64) {
        if let Some((_, active)) = self.state().active.iter_mut().find(|(other, _)| *other == key) {
            active.sent = Some((server, id));
        }
    }

    /// What a request calls.
    pub(crate) fn calls(&self, key: u64, subject: &tidegate_core::Name) {
        if let Some((_, active)) = self.state().active.iter_mut().find(|(other, _)| *other == key) {
            active.subject = Some(subject.clone());
        }
    }

    /// A request goes on with a call that waits for its client.
    pub(crate) fn resumes(&self, key: u64, resumed: Resumed) {
        if let Some((_, active)) = self.state().active.iter_mut().find(|(other, _)| *other == key) {
            active.resumed = Some(resumed);
        }
    }

    /// A server answered a request with questions; gives how often it did.
    pub(crate) fn another_round(&self, key: u64) -> u32 {
        let mut state = self.state();
        let Some((_, active)) = state.active.iter_mut().find(|(other, _)| *other == key) else {
            return u32::MAX;
        };
        active.rounds = active.rounds.saturating_add(1);
        active.rounds
    }

    /// How many requests are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.state().active.len()
    }

    /// A request that is under way.
    pub(crate) fn active(&self, key: u64) -> Option<Active> {
        let state = self.state();
        let found = state.active.iter().find(|(other, _)| *other == key);
        found.map(|(_, active)| active.clone())
    }

    /// A stream for changes is open.
    pub(crate) fn listen(&self, listener: Listener) {
        self.state().listeners.push(listener);
    }

    /// A stream for changes is closed.
    pub(crate) fn stop_listening(&self, key: u64) {
        self.state().listeners.retain(|listener| listener.key != key);
    }

    /// Who wants to hear of something.
    pub(crate) fn listeners(&self, told: &Envelope) -> Vec<Listener> {
        let state = self.state();
        let wanting = state
            .listeners
            .iter()
            .filter(|listener| listener.wanted.takes(told));
        wanting.cloned().collect()
    }

    /// The request with this id.
    pub(crate) fn with_id(&self, id: &str) -> Option<Active> {
        self.find(|active| active.id == id)
    }

    /// The request with this progress token at a server: no server speaks of another's. Of several, the one that the
    /// message came with.
    pub(crate) fn with_token(&self, server: usize, related: Option<u64>, token: &str) -> Option<Active> {
        let has_token = |active: &Active| active.token.as_deref() == Some(token);
        let is_at = |active: &Active| active.sent.is_some_and(|(at, _)| at == server);
        let named = related.and_then(|id| self.of_server(server, Some(id)));
        named
            .filter(has_token)
            .or_else(|| self.find(|active| is_at(active) && has_token(active)))
    }

    /// The request that a server's message belongs to: the one it came with, or the only one that the server has.
    pub(crate) fn of_server(&self, server: usize, related: Option<u64>) -> Option<Active> {
        if let Some(id) = related {
            return self.find(|active| active.sent == Some((server, id)));
        }
        let state = self.state();
        let mut at_server = state
            .active
            .iter()
            .filter(|(_, active)| active.sent.is_some_and(|(at, _)| at == server));
        let (_, only) = at_server.next()?;
        at_server.next().is_none().then(|| only.clone())
    }

    /// What the requests under way at a server call.
    pub(crate) fn subjects_at(&self, server: usize) -> Vec<tidegate_core::Name> {
        let state = self.state();
        let at_server = state
            .active
            .iter()
            .filter(|(_, active)| active.sent.is_some_and(|(at, _)| at == server));
        at_server
            .filter_map(|(_, active)| active.subject.clone())
            .collect()
    }

    fn find(&self, is: impl Fn(&Active) -> bool) -> Option<Active> {
        let state = self.state();
        let found = state.active.iter().find(|(_, active)| is(active));
        found.map(|(_, active)| active.clone())
    }

    /// Sends something that belongs to no request.
    pub(crate) async fn send_general(&self, message: Envelope) -> bool {
        let way = {
            let mut state = self.state();
            let general = state.general.clone().filter(Outlet::is_open);
            let newest = state.active.last().map(|(_, active)| active.outlet.clone());
            let way = general.or_else(|| newest.filter(Outlet::is_open));
            if way.is_none() && state.kept.len() < MOST_KEPT {
                state.kept.push_back(message.clone());
            }
            way
        };
        match way {
            Some(way) => way.send(&message).await,
            None => false,
        }
    }

    /// Whether a way for what belongs to no request is open.
    pub(crate) fn has_general(&self) -> bool {
        let state = self.state();
        state.general.as_ref().is_some_and(Outlet::is_open) || !state.listeners.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(id: &str, token: &str) -> Active {
        Active {
            id: id.to_owned(),
            token: Some(token.to_owned()),
            outlet: Outlet::new().0,
            sent: None,
            subject: None,
            logs: None,
            taken_back: Arc::default(),
            era: Era::Greeted,
            resumed: None,
            rounds: 0,
        }
    }

    #[test]
    fn of_requests_with_one_token_the_wire_names_its_own() {
        let ways = Ways::default();
        for (id, token, server, sent) in [
            ("a", "7", 0, 1),
            ("b", "7", 0, 2),
            ("c", "8", 0, 3),
            ("d", "7", 1, 4),
        ] {
            let key = ways.begin(active(id, token)).unwrap();
            ways.sent(key, server, sent);
        }
        for (server, related, token, expected) in [
            (0, Some(1), "7", Some("a")),
            (0, Some(2), "7", Some("b")),
            (0, None, "7", Some("a")),
            // A message that came with a request of another token, or with one that is gone.
            (0, Some(3), "7", Some("a")),
            (0, Some(9), "7", Some("a")),
            (0, Some(4), "8", Some("c")),
            (1, Some(2), "7", Some("d")),
            (1, None, "8", None),
        ] {
            let found = ways.with_token(server, related, token);
            let found = found.map(|active| active.id);
            assert_eq!(found.as_deref(), expected, "{server} {related:?} {token}");
        }
    }
}
