//! What servers say unasked, and what they ask of the client.
//!
//! A server's messages are handled one after the other, so that what it said before an answer is with the client before
//! that answer. What a server asks shows its words to a model or a person, so they are let in first; what comes back is
//! sent out, so it is decided first.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use tidegate_core::Name;
use tidegate_engine::Form;
use tokio::sync::{mpsc, oneshot, watch};

use super::content::content_of_answer;
use super::speakers::Whence;
use super::stopped::Stopped;
use super::{Session, locked};
use crate::mcp::era::{Era, SUBSCRIPTION_KEY};
use crate::mcp::message::{Envelope, Message, code};
use crate::mcp::names::Surface;
use crate::mcp::object::{Object, raw};
use crate::mcp::outlet::{Active, Outlet};
use crate::mcp::pins::Kind;
use crate::mcp::upstream::{Connection, Incoming, Read, UpstreamError};

/// How long a person or a model may take to answer a server.
const ANSWER_PATIENCE: Duration = Duration::from_secs(15 * 60);

/// The most questions of servers that wait for the client.
pub(super) const MOST_QUESTIONS: usize = 64;

/// A question of a server that the client has not answered.
pub(super) struct Question {
    server: usize,
    theirs: String,
    answer: oneshot::Sender<Envelope>,
}

/// Listens to a server until it has nothing more to say.
pub(super) async fn listen(
    session: Weak<Session>,
    server: usize,
    connection: Weak<Connection>,
    mut incoming: mpsc::Receiver<Read>,
) {
    let mut why = UpstreamError::Gone;
    while let Some(read) = incoming.recv().await {
        let (Some(session), Some(connection)) = (session.upgrade(), connection.upgrade()) else {
            return;
        };
        let Incoming { message, related } = match read {
            Ok(incoming) => incoming,
            Err(error) => {
                why = error;
                break;
            }
        };
        match message {
            Message::Response(answer) => connection.answered(answer),
            Message::Notification(told) => {
                let whence = Whence {
                    server,
                    connection: &connection,
                    related,
                };
                session.told_by(whence, told).await;
            }
            Message::Request(question) => {
                let Ok(place) = Arc::clone(&session.questions).try_acquire_owned() else {
                    let _ = connection.tell(no_way().as_error(question.id())).await;
                    continue;
                };
                tokio::spawn(async move {
                    session.asked_by(server, connection, question, related).await;
                    drop(place);
                });
            }
        }
    }
    if let Some(connection) = connection.upgrade() {
        connection.end(&why);
    }
}

/// Tells the client when the label rises by what others bring into the session.
pub(super) async fn tell_of_rises(session: Weak<Session>) {
    let changes = match session.upgrade() {
        Some(session) => session.hub.engine.watch(&session.caller, &session.id).await,
        None => return,
    };
    let Ok(mut changes) = changes else { return };
    while changes.changed().await.is_ok() {
        let now = Arc::clone(&changes.borrow_and_update());
        let Some(session) = session.upgrade() else { return };
        session.tell_label(&now, None).await;
    }
}

impl Session {
    async fn told_by(&self, whence: Whence<'_>, told: Envelope) {
        let Whence { server, related, .. } = whence;
        let told = untagged(told);
        let params = told.params();
        match told.method() {
            "notifications/subscriptions/acknowledged" => {}
            "notifications/progress" => self.progressed(whence, told, &params).await,
            "notifications/message" => self.logged(whence, told, &params).await,
            "notifications/tools/list_changed" => {
                if let Some(mut catalog) = self.catalog(server) {
                    catalog.tools = None;
                }
                self.announce(bare(&told)).await;
            }
            "notifications/resources/updated" => self.updated(server, told, &params).await,
            "notifications/prompts/list_changed" => {
                if let Some(mut catalog) = self.catalog(server) {
                    catalog.changed(Kind::Prompt);
                }
                self.announce(bare(&told)).await;
            }
            "notifications/resources/list_changed" => self.announce(bare(&told)).await,
            "notifications/cancelled" => self.take_back_question(server, &params).await,
            "notifications/tasks/status" => {
                let task = params.text("taskId").and_then(|id| self.task(&id));
                let speakers = match task.filter(|(at, _)| *at == server) {
                    Some((_, tool)) => vec![tool],
                    None => self.speakers(whence, Surface::Other, &params).all(),
                };
                self.pass_on(server, told, speakers, None).await;
            }
            _ => {
                let active = self.ways.of_server(server, related);
                let speakers = self.speakers(whence, Surface::Other, &params).all();
                self.pass_on(server, told, speakers, active.as_ref()).await;
            }
        }
    }

    /// A resource changed. Its address says nothing new to a client that watches it; that of something within is the
    /// server's words, and a client that watches nothing did not ask for them.
    async fn updated(&self, server: usize, told: Envelope, params: &Object) {
        if !self.watches_any(server) {
            return;
        }
        let address = params.text("uri").unwrap_or_default();
        if let Some(mut catalog) = self.catalog(server) {
            catalog.address(Some(address.clone()));
        }
        if self.watches(server, &address) {
            let params = raw(&json!({"uri": address}));
            let updated = Envelope::notification(told.method(), Some(params));
            return self.announce(updated).await;
        }
        let speakers = self.surface(server, Surface::Resources).into_iter().collect();
        self.pass_on(server, told, speakers, None).await;
    }

    /// Lets in what a server tells and passes it on. What cannot be let in is not passed on.
    pub(super) async fn pass_on(
        &self,
        server: usize,
        told: Envelope,
        mut speakers: Vec<Name>,
        active: Option<&Active>,
    ) {
        if speakers.is_empty() {
            speakers.extend(self.surface(server, Surface::Other));
        }
        let params = told.params();
        let mut told = told;
        let outlet = active.map(|active| &active.outlet);
        match self
            .admit(&speakers, &params.to_raw(), (Form::Notice, false), outlet)
            .await
        {
            Ok(None) => {}
            Ok(Some(changed)) => match Object::read(&changed) {
                Some(changed) => told = told.with_params(changed),
                None => return,
            },
            Err(_) => return,
        }
        let Ok(told) = self.let_in_beside(&speakers, told, false, outlet).await else {
            return;
        };
        match active {
            Some(active) => {
                active.outlet.send(&told).await;
            }
            None => self.announce(told).await,
        }
    }

    /// Brings a server's question to the client and the answer back.
    async fn asked_by(
        self: Arc<Self>,
        server: usize,
        connection: Arc<Connection>,
        question: Envelope,
        related: Option<u64>,
    ) {
        let theirs = question.id().to_owned();
        let reply = if question.method() == "ping" {
            Envelope::answer(&theirs, raw(&json!({})))
        } else {
            let running = self
                .ways
                .of_server(server, related)
                .and_then(|active| active.sent);
            let whence = Whence {
                server,
                connection: &connection,
                related,
            };
            let brought = tokio::select! {
                brought = self.bring(whence, question) => brought,
                () = keep_alive(&connection, running) => Err(no_way()),
            };
            match brought {
                Ok(answer) => answer.with_id(&theirs),
                Err(stopped) => stopped.as_error(&theirs),
            }
        };
        let _ = connection.tell(reply).await;
    }

    pub(super) async fn bring(&self, whence: Whence<'_>, question: Envelope) -> Result<Envelope, Stopped> {
        let Whence { server, related, .. } = whence;
        let surface = match question.method() {
            "sampling/createMessage" => Surface::Sampling,
            "elicitation/create" => Surface::Elicitation,
            "roots/list" => Surface::Roots,
            _ => Surface::Other,
        };
        let active = self.ways.of_server(server, related);
        let speakers = self.speakers(whence, surface, &question.params()).all();
        let asker = self.asker(server, surface, &speakers).ok_or_else(no_way)?;
        let mut question = question;
        let outlet = active.as_ref().map(|active| &active.outlet);
        let params = question.params();
        let form = match surface {
            Surface::Elicitation => Form::Question,
            _ => Form::Notice,
        };
        if !self.is_wordless(server, &question)
            && let Some(changed) = self
                .admit(&speakers, &params.to_raw(), (form, false), outlet)
                .await?
        {
            let changed = Object::read(&changed).ok_or_else(no_way)?;
            question = question.with_params(changed);
        }
        let question = self.let_in_beside(&speakers, question, false, outlet).await?;
        let answer = match &active {
            Some(active) if active.era == Era::Stateless => {
                let given = self.put_in_answer(question, active.sent).await;
                given.ok_or_else(no_way)?
            }
            _ => self.put(server, question, outlet).await?,
        };
        let permit = self.permit(&asker, content_of_answer(&answer)?).await?;
        Ok(permit.clear(answer).into_inner())
    }

    /// Asks the client and waits.
    async fn put(
        &self,
        server: usize,
        question: Envelope,
        outlet: Option<&Outlet>,
    ) -> Result<Envelope, Stopped> {
        let id = self.next_question.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let waiting = Question {
            server,
            theirs: question.id().to_owned(),
            answer,
        };
        {
            let mut asked = locked(&self.asked);
            if locked(&self.client).era == Era::Stateless {
                return Err(no_way());
            }
            asked.insert(id, waiting);
        }
        let waiting = Asked(self, id);
        let question = question.with_id(&id.to_string());
        let sent = match outlet {
            Some(outlet) => outlet.send(&question).await,
            None => self.ways.send_general(question).await,
        };
        if !sent {
            return Err(no_way());
        }
        let answer = tokio::select! {
            answer = tokio::time::timeout(ANSWER_PATIENCE, answered) => answer.ok().and_then(Result::ok),
            () = self.nobody_waits(outlet) => None,
        };
        drop(waiting);
        answer.ok_or_else(no_way)
    }

    /// The client answered a question.
    pub(crate) fn answered(&self, answer: Envelope) {
        self.touch();
        let Ok(id) = answer.id().parse::<u64>() else {
            return;
        };
        if let Some(question) = locked(&self.asked).remove(&id) {
            let _ = question.answer.send(answer);
        }
    }

    /// A server no longer wants an answer.
    async fn take_back_question(&self, server: usize, params: &Object) {
        let theirs = params.get("requestId").map(|id| id.get().to_owned());
        let ours = {
            let mut asked = locked(&self.asked);
            let is =
                |question: &Question| question.server == server && Some(&question.theirs) == theirs.as_ref();
            let ours = asked.iter().find(|(_, question)| is(question)).map(|(id, _)| *id);
            ours.inspect(|id| drop(asked.remove(id)))
        };
        if let Some(ours) = ours {
            // Without the server's reason: nobody has looked into it.
            let params = raw(&json!({"requestId": ours}));
            let taken_back = Envelope::notification("notifications/cancelled", Some(params));
            self.ways.send_general(taken_back).await;
        }
    }

    /// What a client tells.
    pub(crate) async fn told(&self, told: Envelope) {
        self.touch();
        match told.method() {
            "notifications/initialized" => {}
            "notifications/cancelled" => self.take_back(&told),
            _ => {
                for (server, entry) in self.links.iter().enumerate() {
                    if let Some(connection) = entry.link.current().await {
                        self.tell_server(server, &connection, &told).await;
                    }
                }
            }
        }
    }

    /// Words of a client to a server are content as well: progress of a model, a task's state.
    async fn tell_server(&self, server: usize, connection: &Connection, told: &Envelope) {
        if told.method() == "notifications/roots/list_changed" {
            let _ = connection.tell(bare(told)).await;
            return;
        }
        let surface = self.surface(server, Surface::Other);
        let (Ok(surface), Ok(content)) = (surface, self.content_of_unknown(server, told)) else {
            return;
        };
        if let Ok(permit) = self.permit(&surface, content).await {
            let _ = connection.tell(permit.clear(told.clone()).into_inner()).await;
        }
    }

    /// The client takes a request back. Whoever works on it hears of it, and tells a server that has it.
    fn take_back(&self, told: &Envelope) {
        let id = told.params().get("requestId").map(|id| id.get().to_owned());
        if let Some(active) = id.and_then(|id| self.ways.with_id(&id)) {
            active.taken_back.send_replace(true);
        }
    }
}

/// A notification without the name of the gateway's own subscription.
fn untagged(told: Envelope) -> Envelope {
    let Some(mut meta) = told.params().object("_meta") else {
        return told;
    };
    if meta.remove(SUBSCRIPTION_KEY).is_none() {
        return told;
    }
    let mut params = Object::clone(&told.params());
    if meta.members().next().is_none() {
        params.remove("_meta");
    } else {
        params.set("_meta", meta.to_raw());
    }
    told.with_params(params)
}

/// A notification that says that something happened, and nothing else.
fn bare(told: &Envelope) -> Envelope {
    Envelope::notification(told.method(), None)
}

/// A call whose server waits for a person is no silent one.
async fn keep_alive(connection: &Connection, running: Option<(usize, u64)>) {
    loop {
        if let Some((_, id)) = running {
            connection.alive(id);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Waits until something is so; it stays so.
pub(super) async fn until_true(what: &watch::Sender<bool>) {
    let _ = what.subscribe().wait_for(|so| *so).await;
}

struct Asked<'a>(&'a Session, u64);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        locked(&self.0.asked).remove(&self.1);
    }
}

fn no_way() -> Stopped {
    let reason = "the client cannot be asked, or did not answer";
    Stopped::by("no-answer", reason, "go on without an answer").coded(code::INTERNAL)
}
