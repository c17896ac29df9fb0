//! The one way to a server and back: decided before anything is sent, let in before anything is shown.

use std::slice;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tidegate_core::{Decision, Name, Permit};
use tidegate_engine::{AccessError, Bringing, Form, Payload};

use super::stopped::Stopped;
use super::unanswered::Sent;
use super::{Session, locked, veil};
use crate::mcp::era::Era;
use crate::mcp::message::{Envelope, code};
use crate::mcp::names::{self, Surface};
use crate::mcp::object::{Object, Raw, raw};
use crate::mcp::outlet::Outlet;
use crate::mcp::pins::Standing;
use crate::mcp::strict;

/// A request on its way.
pub(super) struct Errand {
    /// The request under way that it belongs to.
    pub(super) key: u64,
    /// The way for what belongs to it.
    pub(super) outlet: Outlet,
    /// The server it goes to.
    pub(super) server: usize,
    /// The tool or surface that the rules know it by.
    pub(super) subject: Name,
    /// Whether the agent asks for the answer to be sealed.
    pub(super) seal: bool,
}

impl Session {
    /// Calls a tool.
    pub(super) async fn call_tool(
        &self,
        key: u64,
        outlet: &Outlet,
        request: Envelope,
    ) -> Result<Envelope, Stopped> {
        let params = request.params();
        let name = params.text("name").unwrap_or_default();
        let unknown = || {
            let name = Name::parse(&name).map_or_else(|_| String::new(), |name| format!(" \"{name}\""));
            let reason = format!("tool{name} blocked: no server has a tool of that name");
            let remedy = "look at tools/list for the tools there are";
            Stopped::by("unknown-tool", reason, remedy).coded(code::INVALID_PARAMS)
        };
        let (server, own) = names::resolve(&self.hub.servers, &name).ok_or_else(unknown)?;
        let subject = names::shown(&self.hub.servers, server, own).ok_or_else(unknown)?;
        match self.standing(server, own).await? {
            Some(Standing::Trusted) => {}
            Some(Standing::Held) => self.held_definition(server, own, &subject).await?,
            None => return Err(unknown()),
        }
        let subject = self.target(&subject, &params)?;
        let payload = self.content_of(server, &request)?;
        let errand = Errand {
            key,
            outlet: outlet.clone(),
            server,
            subject,
            seal: veil::asks_for_seal(&params),
        };
        // A tool that its server knows by the same name is called in the words that came.
        let request = if own == name {
            request
        } else {
            let mut renamed = Object::clone(&params);
            renamed.set("name", raw(&own));
            request.with_params(renamed)
        };
        self.exchange(&errand, payload, request).await
    }

    /// The tool that a call is really for. Only its arguments name it: they are what the server will go by.
    fn target(&self, subject: &Name, params: &Object) -> Result<Name, Stopped> {
        let control = self.hub.engine.control();
        let wrapper = control
            .find(subject.as_str())
            .is_some_and(|tool| tool.target.is_some());
        if !wrapper {
            return Ok(subject.clone());
        }
        let arguments = params.get("arguments").map(strict::read).transpose()?;
        let arguments = Payload::new(arguments.unwrap_or_default());
        let target = self.hub.engine.target_of(subject, &arguments);
        Ok(target.map_err(AccessError::from)?)
    }

    /// How a tool stands, after its server was asked for its tools at least once.
    async fn standing(&self, server: usize, own: &str) -> Result<Option<Standing>, Stopped> {
        let known = |session: &Self| {
            let catalog = session.catalog(server)?;
            catalog.tools.as_ref().map(|tools| tools.get(own).copied())
        };
        if let Some(standing) = known(self) {
            return Ok(standing);
        }
        self.tools_of(server).await?;
        Ok(known(self).flatten())
    }

    /// A tool that was held when it was last listed: a person may have approved it since.
    async fn held_definition(&self, server: usize, own: &str, subject: &Name) -> Result<(), Stopped> {
        self.tools_of(server).await?;
        let now = self
            .catalog(server)
            .and_then(|catalog| catalog.tools.as_ref()?.get(own).copied());
        match now {
            Some(Standing::Trusted) => Ok(()),
            Some(Standing::Held) | None => Err(held(subject)),
        }
    }

    /// Sends a request to a server if the rules let it, and lets the answer in.
    pub(super) async fn exchange(
        &self,
        errand: &Errand,
        content: Value,
        request: Envelope,
    ) -> Result<Envelope, Stopped> {
        let Errand { key, subject, .. } = errand;
        self.ways.calls(*key, subject);
        let (permit, unveiling) = self.leave_when_approved(errand, content).await?;
        let again = self.for_another_round(errand, &request).await;
        let request = self.unveiled(&permit, &unveiling, request).await?;
        let answer = match self.send(errand, permit.clear(request)).await? {
            Sent::Answer(answer) => answer,
            // The question in it was let in already.
            Sent::Asks(question) => return Ok(question),
        };
        match self.asked_back(errand, again, &answer).await? {
            Some((content, request)) => Box::pin(self.exchange(errand, content, request)).await,
            None => self.let_in(errand, answer).await,
        }
    }

    /// The permit to send this, if the rules give one at once.
    pub(super) async fn permit(&self, subject: &Name, content: Value) -> Result<Permit, Stopped> {
        let authorized = self
            .hub
            .engine
            .authorize(&self.caller, &self.id, subject, &Payload::new(content))
            .await?;
        match authorized.decision {
            Decision::Allow(permit) => Ok(permit),
            Decision::Deny(refusal) | Decision::Hold(refusal) => Err((&refusal).into()),
        }
    }

    /// Lets an answer in: what is given back is what the client may see.
    async fn let_in(&self, errand: &Errand, answer: Envelope) -> Result<Envelope, Stopped> {
        let Errand {
            server,
            subject,
            outlet,
            seal,
            ..
        } = errand;
        let speaker = slice::from_ref(subject);
        if let Some(error) = answer.error() {
            let seen = self
                .admit(speaker, error, (Form::McpError, *seal), Some(outlet))
                .await?;
            let answer = match seen {
                Some(changed) => answer.with_error(changed),
                None => answer,
            };
            return self.let_in_beside(speaker, answer, *seal, Some(outlet)).await;
        }
        let Some(result) = answer.result() else {
            return Ok(answer);
        };
        let value = strict::read(result)?;
        self.remember_task(*server, subject, &value);
        let seen = self
            .admit_read(speaker, (result, value), (Form::McpResult, *seal), Some(outlet))
            .await?;
        let answer = match seen {
            Some(changed) => answer.with_result(changed),
            None => answer,
        };
        self.let_in_beside(speaker, answer, *seal, Some(outlet)).await
    }

    /// Lets in what a server's message says in members that the protocol does not know.
    pub(super) async fn let_in_beside(
        &self,
        speakers: &[Name],
        message: Envelope,
        seal: bool,
        outlet: Option<&Outlet>,
    ) -> Result<Envelope, Stopped> {
        let beside = message.beside();
        if beside.is_empty() {
            return Ok(message);
        }
        let how = (Form::Notice, seal);
        let seen = self.admit(speakers, &beside.to_raw(), how, outlet).await?;
        Ok(match seen {
            // What was sealed is no object any more, and stays behind.
            Some(changed) => message.with_beside(&Object::read(&changed).unwrap_or_default()),
            None => message,
        })
    }

    /// Lets content in that a tool or surface gave, one of these where nobody knows which. What comes back stands in its place; `None` when it may be seen as
    /// it is.
    pub(super) async fn admit(
        &self,
        speakers: &[Name],
        content: &RawValue,
        how: (Form, bool),
        outlet: Option<&Outlet>,
    ) -> Result<Option<Raw>, Stopped> {
        let value = strict::read(content)?;
        self.admit_read(speakers, (content, value), how, outlet).await
    }

    /// The same for content that was read already.
    async fn admit_read(
        &self,
        speakers: &[Name],
        (content, value): (&RawValue, Value),
        (form, seal): (Form, bool),
        outlet: Option<&Outlet>,
    ) -> Result<Option<Raw>, Stopped> {
        if value.as_object().is_some_and(Map::is_empty) {
            // Says that it is done, and nothing else.
            return Ok(None);
        }
        let [subject, perhaps @ ..] = speakers else {
            return Err(withheld());
        };
        let bringing = Bringing {
            form,
            seal,
            perhaps: perhaps.to_vec(),
            ..Bringing::plain(Payload::new(value))
        };
        let engine = &self.hub.engine;
        let delivered = engine.bring(&self.caller, &self.id, subject, bringing).await?;
        self.tell_label(&delivered.session, outlet).await;
        let seen = delivered.content.ok_or_else(withheld)?.into_exposed();
        if delivered.untouched || seen == strict::read(content)? {
            return Ok(None);
        }
        Ok(Some(raw(&seen)))
    }

    /// Tells the client that its tools are others now, if the label rose above what it was last told.
    pub(crate) async fn tell_label(&self, session: &Arc<tidegate_store::Session>, outlet: Option<&Outlet>) {
        let label = session.context.label().class();
        let news = {
            let mut told = locked(&self.told);
            std::mem::replace(&mut *told, label) != label
        };
        if !news {
            return;
        }
        let changed = Envelope::notification("notifications/tools/list_changed", None);
        let greeted = locked(&self.client).era == Era::Greeted;
        match outlet.filter(|_| greeted && !self.ways.has_general()) {
            Some(outlet) => {
                outlet.send(&changed).await;
            }
            None => self.announce(changed).await,
        }
    }

    /// Which tool a task belongs to, so that its result counts as that tool's.
    fn remember_task(&self, server: usize, subject: &Name, result: &Value) {
        let inner = result.get("task").filter(|task| task.is_object());
        let task = inner.unwrap_or(result).get("taskId").and_then(Value::as_str);
        let Some(task) = task.filter(|task| task.len() <= 512) else {
            return;
        };
        locked(&self.tasks).began(task, server, subject);
    }

    /// The server and tool behind a task.
    pub(super) fn task(&self, id: &str) -> Option<(usize, Name)> {
        locked(&self.tasks).owner(id)
    }

    /// A surface of a server, as the rules know it.
    pub(super) fn surface(&self, server: usize, surface: Surface) -> Result<Name, Stopped> {
        let named = self
            .hub
            .servers
            .get(server)
            .and_then(|server| names::surface(server, surface));
        named.ok_or_else(|| {
            Stopped::by(
                "unknown-server",
                "there is no such server",
                "look at what is listed",
            )
        })
    }

    /// What a server is called.
    pub(super) fn name_of(&self, server: usize) -> &str {
        self.hub
            .servers
            .get(server)
            .map_or("unknown", |server| server.name.as_str())
    }
}

fn held(subject: &Name) -> Stopped {
    let reason = format!("tool \"{subject}\" blocked: its definition changed after it was first seen");
    let remedy = "a person must look at the new definition and approve it, at its gate or with `tidegate pins approve`";
    Stopped::by("definition-changed", reason, remedy)
}

pub(super) fn withheld() -> Stopped {
    let reason = "the answer is withheld: it gives orders to whoever reads it, and the session is halted";
    Stopped::by(
        "content-withheld",
        reason,
        "a person must look at it and decide how to go on",
    )
}
