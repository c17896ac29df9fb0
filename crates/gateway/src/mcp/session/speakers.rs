//! Whose word it is that a server says unasked.
//!
//! Where the wire or the message itself names a call or a task, it is that one's tool. Otherwise a server may speak for
//! everything that it works on, also for calls that were given up, since it need not have heard of that; what is said then
//! counts as the highest of them. A server should be silent on a call that was given up, and mostly is: what nobody asked to
//! hear and would only count for more by such a call is better left unsaid than the session closed over it.

use tidegate_core::Name;

use super::{Session, locked};
use crate::mcp::era::RELATED_TASK_KEY;
use crate::mcp::names::{self, Surface};
use crate::mcp::object::Object;
use crate::mcp::outlet::Active;
use crate::mcp::upstream::{AtWork, Connection};

/// Where a message came from.
#[derive(Clone, Copy)]
pub(super) struct Whence<'a> {
    /// The server.
    pub(super) server: usize,
    /// The conversation.
    pub(super) connection: &'a Connection,
    /// The request whose answer it came with, where the wire tells.
    pub(super) related: Option<u64>,
}

/// Whose word it may be.
pub(super) struct Speakers {
    /// What the server was asked for and is waited for, or works on as a task.
    at_work: Vec<Name>,
    /// The calls that were given up.
    given_up: Vec<Name>,
}

impl Speakers {
    fn only(speaker: Option<Name>) -> Self {
        Self {
            at_work: speaker.into_iter().collect(),
            given_up: Vec::new(),
        }
    }

    /// All of them, each once.
    pub(super) fn all(self) -> Vec<Name> {
        let mut all = self.at_work;
        all.extend(self.given_up);
        all.sort();
        all.dedup();
        all
    }
}

impl Session {
    /// Whose word it may be: the surface's where somebody declared it, else that of the tools that may speak through it,
    /// and where no call is under way also the surface's, with its strict ends.
    pub(super) fn speakers(&self, whence: Whence<'_>, surface: Surface, params: &Object) -> Speakers {
        let Ok(surface) = self.surface(whence.server, surface) else {
            return Speakers::only(None);
        };
        if self.is_declared(&surface) {
            return Speakers::only(Some(surface));
        }
        let named = self
            .named_task(whence.server, params)
            .or_else(|| self.related_call(whence));
        if named.is_some() {
            return Speakers::only(named);
        }
        let mut at_work = self.ways.subjects_at(whence.server);
        let AtWork { awaited, given_up } = whence.connection.at_work(None);
        at_work.extend(awaited);
        if at_work.is_empty() {
            at_work.push(surface);
        }
        self.with_tasks(whence.server, at_work, given_up)
    }

    /// Whose progress it may be that is told with the token of a request under way: that one's where the wire names it.
    /// Otherwise that of every call with the token, since a client may use one again after it gave a call up, and that of
    /// every task, whose token outlives its call.
    pub(super) fn speakers_of_progress(&self, whence: Whence<'_>, token: &str, active: &Active) -> Speakers {
        let Whence {
            server,
            connection,
            related,
        } = whence;
        let is_named = related.is_some() && active.sent.map(|(_, id)| id) == related;
        if is_named {
            return Speakers::only(active.subject.clone());
        }
        let AtWork { awaited, given_up } = connection.at_work(Some(token));
        let at_work = active.subject.iter().cloned().chain(awaited).collect();
        self.with_tasks(server, at_work, given_up)
    }

    /// The calls, and the tasks that their server may be working on. What is not remembered may be anything's.
    fn with_tasks(&self, server: usize, mut at_work: Vec<Name>, given_up: Option<Vec<Name>>) -> Speakers {
        let tasks = locked(&self.tasks).tools_of(server);
        at_work.extend(tasks.unwrap_or_else(|| self.all_at(server)));
        Speakers {
            at_work,
            given_up: given_up.unwrap_or_else(|| self.all_at(server)),
        }
    }

    /// Whether words would count for more only since a call that was given up may have said them. What cannot be found
    /// out counts as so.
    pub(super) async fn is_raised_by_given_up(&self, speakers: &Speakers) -> bool {
        if speakers.given_up.is_empty() {
            return false;
        }
        let at_work = self.engine().class_of_any(&speakers.at_work).await;
        let given_up = self.engine().class_of_any(&speakers.given_up).await;
        match (at_work, given_up) {
            (Ok(at_work), Ok(given_up)) => given_up > at_work,
            (Err(_), _) | (_, Err(_)) => true,
        }
    }

    /// Whom an answer to a server's question goes to: the one tool that can have asked, else the surface, with its strict
    /// ends where nobody declared it.
    pub(super) fn asker(&self, server: usize, surface: Surface, speakers: &[Name]) -> Option<Name> {
        match speakers {
            [only] => Some(only.clone()),
            _ => self.surface(server, surface).ok(),
        }
    }

    pub(super) fn is_declared(&self, surface: &Name) -> bool {
        self.hub.engine.policy().control.find(surface.as_str()).is_some()
    }

    fn related_call(&self, whence: Whence<'_>) -> Option<Name> {
        let Whence {
            server,
            connection,
            related,
        } = whence;
        let active = self.ways.of_server(server, Some(related?));
        let subject = active.and_then(|active| active.subject);
        subject.or_else(|| connection.subject(related?))
    }

    fn named_task(&self, server: usize, params: &Object) -> Option<Name> {
        let task = params.object("_meta")?.object(RELATED_TASK_KEY)?;
        let (at, tool) = self.task(&task.text("taskId")?)?;
        (at == server).then_some(tool)
    }

    /// Everything that is known of a server.
    fn all_at(&self, server: usize) -> Vec<Name> {
        let control = self.hub.engine.control();
        names::all_of(&self.hub.servers, server, control.iter().map(|tool| &tool.name))
    }
}
