//! Questions of older servers to clients of the stateless era.
//!
//! Such a client is never asked something: it is answered that its input is needed, and asks again with it. Meanwhile its
//! call goes on at the server, and is kept here under a name that only its client knows, until the client comes back or
//! too much time has passed.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use tidegate_core::{Cleared, Name};
use tidegate_engine::NoAnswerCause;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::govern::Errand;
use super::unanswered::Sent;
use super::{Session, locked};
use crate::mcp::message::Envelope;
use crate::mcp::object::Object;
use crate::mcp::upstream::{Call, Connection, UpstreamError};

/// How long a call waits for its client to come back.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The most calls of one session that wait for their client.
const MOST_PARKED: usize = 32;

/// What the names of waiting calls begin with, so that they are not taken for a server's own.
const OWN_STATE: &str = "tidegate-call-";

/// What the one question in an answer is called.
const INPUT: &str = "input";

/// The calls of a session that may be asked something, by the server and the id they went under, and those that wait
/// for their client.
#[derive(Default)]
pub(super) struct Talks {
    asking: HashMap<(usize, u64), mpsc::Sender<Asking>>,
    parked: HashMap<String, Parked>,
}

/// A question, and who waits for the answer.
struct Asking {
    question: Envelope,
    answer: oneshot::Sender<Envelope>,
}

/// A call that waits for its client.
struct Parked {
    talk: Talk,
    answer: oneshot::Sender<Envelope>,
}

/// A call at a server that may ask something.
struct Talk {
    place: Place,
    subject: Name,
    connection: Arc<Connection>,
    outcome: oneshot::Receiver<Result<Envelope, UpstreamError>>,
    asked: mpsc::Receiver<Asking>,
}

/// Where a call is; leaving it ends the call here.
struct Place {
    session: Weak<Session>,
    at: (usize, u64),
    running: AbortHandle,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.running.abort();
        if let Some(session) = self.session.upgrade() {
            locked(&session.talks).asking.remove(&self.at);
        }
    }
}

/// What a client came back with.
#[derive(Clone, Debug)]
pub(crate) struct Resumed {
    state: String,
    responses: Object,
}

impl Session {
    /// Takes out of a request what says that it goes on with a call. The answers in it are decided on when they are sent
    /// to the server that asked.
    pub(super) fn hear_resumed(&self, key: u64, request: Envelope) -> Envelope {
        let state = request.params().text("requestState");
        let Some(state) = state.filter(|state| state.starts_with(OWN_STATE)) else {
            return request;
        };
        let mut params = Object::clone(&request.params());
        params.remove("requestState");
        params.remove("inputResponses");
        let responses = request.params().object("inputResponses").unwrap_or_default();
        self.ways.resumes(key, Resumed { state, responses });
        request.with_params(params)
    }

    /// Sends a call that may be asked something, and waits for its answer or its question.
    pub(super) async fn talk(
        &self,
        errand: &Errand,
        connection: Arc<Connection>,
        (call, request): (Call, Cleared<Envelope>),
    ) -> Result<Sent, UpstreamError> {
        let session = self.me.upgrade().ok_or(UpstreamError::Left)?;
        let (key, server) = (errand.key, errand.server);
        let (asks, asked) = mpsc::channel(1);
        let (told, outcome) = oneshot::channel();
        let (went, under) = oneshot::channel();
        let (speaking, owner) = (Arc::clone(&connection), Weak::clone(&self.me));
        let running = tokio::spawn(async move {
            let sent = |id| {
                locked(&session.talks).asking.insert((server, id), asks);
                session.ways.sent(key, server, id);
                drop(session);
                let _ = went.send(id);
            };
            let _ = told.send(speaking.forward(call, request, sent).await);
        });
        let running = running.abort_handle();
        let Ok(id) = under.await else {
            return Err(match outcome.await {
                Ok(Err(why)) => why,
                _ => UpstreamError::Gone,
            });
        };
        let place = Place {
            session: owner,
            at: (server, id),
            running,
        };
        let subject = errand.subject.clone();
        let talk = Talk {
            place,
            subject,
            connection,
            outcome,
            asked,
        };
        self.go_on(errand, talk).await
    }

    /// Goes on with a call whose client came back.
    pub(super) async fn resume(&self, errand: &Errand, resumed: Resumed) -> Result<Sent, UpstreamError> {
        let parked = locked(&self.talks).parked.remove(&resumed.state);
        let fits = |parked: &Parked| {
            parked.talk.place.at.0 == errand.server && parked.talk.subject == errand.subject
        };
        let Parked { talk, answer } = parked.filter(fits).ok_or(UpstreamError::Unasked)?;
        let (server, id) = talk.place.at;
        self.ways.sent(errand.key, server, id);
        if let Some(response) = resumed.responses.get(INPUT) {
            let _ = answer.send(Envelope::answer(&json!(0).to_string(), response.to_owned()));
        } else {
            drop(answer);
        }
        self.go_on(errand, talk).await
    }

    async fn go_on(&self, errand: &Errand, mut talk: Talk) -> Result<Sent, UpstreamError> {
        let why = tokio::select! {
            outcome = &mut talk.outcome => return outcome.unwrap_or(Err(UpstreamError::Gone)).map(Sent::Answer),
            Some(asking) = talk.asked.recv() => return self.park(talk, asking),
            why = self.given_up(errand) => why,
        };
        talk.connection.cancel(talk.place.at.1).await;
        Err(why)
    }

    /// Keeps a call for its client, and says what the client is to be told.
    fn park(&self, talk: Talk, asking: Asking) -> Result<Sent, UpstreamError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| UpstreamError::Busy)?;
        let random: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let state = format!("{OWN_STATE}{random}");
        let Asking { question, answer } = asking;
        {
            let mut talks = locked(&self.talks);
            if talks.parked.len() >= MOST_PARKED {
                return Err(UpstreamError::Busy);
            }
            talks.parked.insert(state.clone(), Parked { talk, answer });
        }
        tokio::spawn(forget(Weak::clone(&self.me), state.clone()));
        let mut asked = Object::default().with("method", question.method());
        asked.set("params", question.params().to_raw());
        let result = Object::default()
            .with("resultType", "input_required")
            .with("inputRequests", Object::default().with(INPUT, asked))
            .with("requestState", state);
        Ok(Sent::Asks(Envelope::answer(
            &json!(0).to_string(),
            result.to_raw(),
        )))
    }

    /// Puts a question to a client that will be told of it in the answer to its call.
    pub(super) async fn put_in_answer(
        &self,
        question: Envelope,
        sent: Option<(usize, u64)>,
    ) -> Option<Envelope> {
        let asks = locked(&self.talks).asking.get(&sent?).cloned()?;
        let (answer, answered) = oneshot::channel();
        asks.send(Asking { question, answer }).await.ok()?;
        answered.await.ok()
    }
}

/// Gives a call up whose client does not come back.
async fn forget(session: Weak<Session>, state: String) {
    tokio::time::sleep(PATIENCE).await;
    let Some(session) = session.upgrade() else { return };
    let parked = locked(&session.talks).parked.remove(&state);
    if let Some(Parked { talk, .. }) = parked {
        talk.connection.cancel(talk.place.at.1).await;
        session
            .note_unanswered(&talk.subject, NoAnswerCause::ClientLeft)
            .await;
    }
}
