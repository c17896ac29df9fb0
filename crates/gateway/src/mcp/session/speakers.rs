//! Whose word it is that a server says unasked.
//!
//! Where the wire or the message itself names a call or a task, it is that one's tool. Otherwise a server may speak for
//! everything that it works on, also for calls that were given up, since it need not have heard of that; what is said then
//! counts as the highest of them.

use tidegate_core::Name;

use super::{Session, locked};
use crate::mcp::era::RELATED_TASK_KEY;
use crate::mcp::names::{self, Surface};
use crate::mcp::object::Object;
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

impl Session {
    /// Whose word it may be: the surface's where somebody declared it, else that of the tools that may speak through it,
    /// and where no call is under way also the surface's, with its strict ends.
    pub(super) fn speakers(&self, whence: Whence<'_>, surface: Surface, params: &Object) -> Vec<Name> {
        let Ok(surface) = self.surface(whence.server, surface) else {
            return Vec::new();
        };
        if self.is_declared(&surface) {
            return vec![surface];
        }
        let named = self
            .named_task(whence.server, params)
            .or_else(|| self.related_call(whence));
        if let Some(tool) = named {
            return vec![tool];
        }
        let Whence {
            server, connection, ..
        } = whence;
        let AtWork { awaited, given_up } = connection.at_work();
        let mut speakers = self.ways.subjects_at(server);
        speakers.extend(awaited);
        if speakers.is_empty() {
            speakers.push(surface);
        }
        let tasks = locked(&self.tasks).tools_of(server);
        speakers.extend(given_up.unwrap_or_else(|| self.tools_at(server)));
        speakers.extend(tasks.unwrap_or_else(|| self.tools_at(server)));
        speakers.sort();
        speakers.dedup();
        speakers
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

    /// Every tool that is known of a server.
    fn tools_at(&self, server: usize) -> Vec<Name> {
        let control = self.hub.engine.control();
        let is_at = |name: &Name| {
            let found = names::resolve(&self.hub.servers, name.as_str());
            found.is_some_and(|(at, _)| at == server)
        };
        control
            .iter()
            .map(|tool| tool.name.clone())
            .filter(is_at)
            .collect()
    }
}
