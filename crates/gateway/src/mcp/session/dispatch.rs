//! What each request of a client asks for, and who answers it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_core::Name;
use tidegate_engine::Payload;
use tokio::task::JoinSet;

use super::content::arguments_of;
use super::govern::Errand;
use super::stopped::Stopped;
use super::{MOST_UNDER_WAY, Session, locked, veil};
use crate::mcp::era::{self, Era};
use crate::mcp::message::{Envelope, code};
use crate::mcp::names::{self, Surface};
use crate::mcp::object::{Object, raw};
use crate::mcp::outlet::{Active, LogLevel, Outlet};
use crate::mcp::pins::Kind;
use crate::mcp::{own, strict};

/// How long a greeting waits for the servers. One that takes longer is told of when it is there.
const GREETING_PATIENCE: Duration = Duration::from_secs(10);

impl Session {
    /// Answers a request on its outlet. Nothing that happens on the way leaves it without an answer, except that the
    /// client took it back.
    pub(crate) async fn handle(self: Arc<Self>, request: Envelope, outlet: Outlet) {
        self.touch();
        let id = request.id().to_owned();
        let era = era::of(&request);
        if self.ways.under_way() >= MOST_UNDER_WAY {
            let refusal = Envelope::refusal(&id, code::OVERLOADED, "too many requests are under way");
            outlet.answer(&refusal).await;
            return;
        }
        let Some(key) = self.ways.begin(begun(&request, era, outlet.clone())) else {
            let refusal =
                Envelope::refusal(&id, code::INVALID_REQUEST, "a request with this id is under way");
            outlet.answer(&refusal).await;
            return;
        };
        let under_way = UnderWay(&self, key);
        let is_call = request.method() == "tools/call";
        let outcome = self.respond(key, &outlet, era, request).await;
        let answer = match outcome {
            Ok(answer) => Some(answer.with_id(&id)),
            Err(stopped) if stopped.is_taken_back() => None,
            Err(stopped) if is_call && stopped.is_for_agents() => Some(stopped.as_result(&id)),
            Err(stopped) => Some(stopped.as_error(&id)),
        };
        if let Some(answer) = answer {
            outlet.answer(&in_era(era, answer)).await;
        }
        drop(under_way);
    }

    async fn respond(
        &self,
        key: u64,
        outlet: &Outlet,
        era: Era,
        request: Envelope,
    ) -> Result<Envelope, Stopped> {
        let request = self.hear_operator(request).await?;
        let request = self.hear_resumed(key, request);
        let params = request.params();
        if era == Era::Stateless {
            if era::GONE.contains(&request.method()) {
                return Err(unknown_method());
            }
            let meta = params.object("_meta").unwrap_or_default();
            locked(&self.client).stamps(&meta);
            // What each server may know of the client is no content of this request.
            self.decided_greetings().await;
        }
        let answer = |result: Value| Ok(Envelope::answer(request.id(), raw(&result)));
        match request.method() {
            "initialize" => self.greet(&request).await,
            "server/discover" => self.discovered(&request).await,
            "ping" => answer(json!({})),
            "tools/list" => self.list_tools(&request).await,
            "resources/list" => self.list_resources(&request).await,
            "resources/templates/list" => self.list_templates(&request).await,
            "prompts/list" => self.list_prompts(&request).await,
            "tools/call" if own::is_own(&params.text("name").unwrap_or_default()) => {
                let content = arguments_of(&params)?;
                answer(own::call(self, &params.text("name").unwrap_or_default(), content).await)
            }
            "tools/call" if self.is_connectors(&params.text("name").unwrap_or_default()) => {
                answer(self.call_connector(outlet, &params).await?)
            }
            "tools/call" if self.is_shell(&params.text("name").unwrap_or_default()) => {
                self.run_command(key, outlet, &request).await
            }
            "tools/call" => self.call_tool(key, outlet, request).await,
            "resources/read" if params.text("uri").as_deref() == Some(own::SESSION_URI) => {
                answer(own::session_resource(self).await?)
            }
            "resources/subscribe" | "resources/unsubscribe" => self.watch(key, outlet, request).await,
            "resources/read" => {
                let address = params.text("uri").unwrap_or_default();
                let server = self.server_of_address(&address).await?;
                self.check_offer(server, Kind::Resource, &address).await?;
                self.on_surface(key, outlet, (server, Surface::Resources), request)
                    .await
            }
            "prompts/get" => self.get_prompt(key, outlet, request).await,
            "completion/complete" => self.complete(key, outlet, request).await,
            "logging/setLevel" => self.set_level(&request).await,
            "tasks/list" => self.list_tasks(&request).await,
            "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => {
                self.on_task(key, outlet, request).await
            }
            "subscriptions/listen" => self.listen(key, outlet, &request).await,
            _ => self.anything_else(key, outlet, request).await,
        }
    }

    /// A request to a way in or out of a server that is no tool.
    pub(super) async fn on_surface(
        &self,
        key: u64,
        outlet: &Outlet,
        (server, surface): (usize, Surface),
        request: Envelope,
    ) -> Result<Envelope, Stopped> {
        let errand = Errand {
            key,
            outlet: outlet.clone(),
            server,
            subject: self.surface(server, surface)?,
            seal: veil::asks_for_seal(&request.params()),
        };
        // The address and the name are the agent's own words here, so they count as content too.
        let content = match surface {
            Surface::Other => self.content_of_unknown(server, &request)?,
            _ => self.content_of(server, &request)?,
        };
        self.exchange(&errand, content, request).await
    }

    async fn get_prompt(&self, key: u64, outlet: &Outlet, request: Envelope) -> Result<Envelope, Stopped> {
        let mut params = Object::clone(&request.params());
        let name = params.text("name").unwrap_or_default();
        let (server, own) = names::resolve(&self.hub.servers, &name).ok_or_else(no_such_prompt)?;
        self.check_offer(server, Kind::Prompt, own).await?;
        params.set("name", raw(&own));
        let request = request.with_params(params);
        self.on_surface(key, outlet, (server, Surface::Prompts), request)
            .await
    }

    async fn complete(&self, key: u64, outlet: &Outlet, request: Envelope) -> Result<Envelope, Stopped> {
        let mut params = Object::clone(&request.params());
        let mut reference = params.object("ref").unwrap_or_default();
        let server = match reference.text("name") {
            Some(name) => {
                let (server, own) = names::resolve(&self.hub.servers, &name).ok_or_else(no_such_prompt)?;
                reference.set("name", raw(&own));
                params.set("ref", reference.to_raw());
                server
            }
            None => {
                self.server_of_address(&reference.text("uri").unwrap_or_default())
                    .await?
            }
        };
        let request = request.with_params(params);
        self.on_surface(key, outlet, (server, Surface::Completion), request)
            .await
    }

    async fn on_task(&self, key: u64, outlet: &Outlet, request: Envelope) -> Result<Envelope, Stopped> {
        let id = request.params().text("taskId").unwrap_or_default();
        // What comes of a task counts as its tool's, so a task whose tool nobody knows is none.
        let Some((server, subject)) = self.task(&id) else {
            return Err(self.no_such_task().await);
        };
        let errand = Errand {
            key,
            outlet: outlet.clone(),
            server,
            subject,
            seal: veil::asks_for_seal(&request.params()),
        };
        let content = self.content_of(server, &request)?;
        self.exchange(&errand, content, request).await
    }

    /// There is no such task; where no server has any, there is no such method either.
    async fn no_such_task(&self) -> Stopped {
        for server in 0..self.hub.servers.len() {
            let connection = self.connection(server).await;
            if connection.is_ok_and(|connection| connection.can("tasks")) {
                let reason = "this session began no task of this id, or its id was given out twice";
                let stopped = Stopped::by("unknown-task", reason, "call the tool again");
                return stopped.coded(code::INVALID_PARAMS);
            }
        }
        unknown_method()
    }

    /// A method nobody here knows goes on where there is only one server it can be meant for.
    async fn anything_else(&self, key: u64, outlet: &Outlet, request: Envelope) -> Result<Envelope, Stopped> {
        let server = self.only_server().ok_or_else(unknown_method)?;
        self.on_surface(key, outlet, (server, Surface::Other), request)
            .await
    }

    pub(super) fn only_server(&self) -> Option<usize> {
        (self.hub.servers.len() == 1).then_some(0)
    }

    async fn greet(&self, request: &Envelope) -> Result<Envelope, Stopped> {
        let mut greeting = Object::clone(&request.params());
        let asked = greeting.text("protocolVersion").unwrap_or_default();
        let version = era::agree(&asked);
        greeting.set("protocolVersion", raw(&version));
        locked(&self.client).greets(greeting, version);
        let result = Object::default().with("protocolVersion", version);
        let result = self.introduce(result).await?;
        Ok(Envelope::answer(request.id(), result.to_raw()))
    }

    async fn discovered(&self, request: &Envelope) -> Result<Envelope, Stopped> {
        let mut versions = vec![era::STATELESS];
        versions.extend(era::WITH_GREETING);
        let result = Object::default()
            .with("resultType", "complete")
            .with("supportedVersions", versions)
            .with("_meta", json!({era::SERVER_INFO_KEY: own::info()}))
            .with("ttlMs", 0)
            .with("cacheScope", "private");
        let result = self.introduce(result).await?;
        Ok(Envelope::answer(request.id(), result.to_raw()))
    }

    /// Who the gateway is, and what its servers can do together.
    async fn introduce(&self, result: Object) -> Result<Object, Stopped> {
        self.begin_all().await;
        let mut capabilities = json!({"tools": {"listChanged": true}, "resources": {}});
        let mut instructions = String::new();
        for (server, entry) in self.links.iter().enumerate() {
            let Some(connection) = entry.link.current().await else {
                continue;
            };
            let greeting = connection.greeting();
            let theirs = greeting.get("capabilities").map(strict::read);
            if let Some(Ok(theirs)) = theirs {
                merge(&mut capabilities, theirs);
            }
            if let Some(theirs) = greeting.text("instructions")
                && !self.gives_orders(&theirs).await
            {
                instructions.push_str(&format!(
                    "\n\nFrom the server \"{}\":\n{theirs}",
                    self.name_of(server)
                ));
            }
        }
        let manifest = self.hub.engine.manifest(&self.caller, &self.id).await?;
        let instructions = format!("{}{instructions}", manifest.planning_constraint);
        Ok(result
            .with("capabilities", capabilities)
            .with("serverInfo", own::info())
            .with("instructions", instructions))
    }

    /// Whether a server's instructions are more than that. What cannot be looked into is left out as well.
    async fn gives_orders(&self, instructions: &str) -> bool {
        let Ok(name) = Name::parse("instructions") else {
            return true;
        };
        let words = Payload::new(Value::from(instructions));
        self.engine().gives_orders(&name, &words).await.unwrap_or(true)
    }

    /// Begins every conversation. Those that take long go on beginning, and the client is told when they have.
    pub(super) async fn begin_all(&self) {
        let Some(me) = self.me.upgrade() else { return };
        let mut beginnings = JoinSet::new();
        for server in 0..self.links.len() {
            let session = Arc::clone(&me);
            beginnings.spawn(async move {
                let begun = tokio::time::timeout(GREETING_PATIENCE, session.tools_of(server)).await;
                if begun.is_err() {
                    tokio::spawn(async move {
                        if session.tools_of(server).await.is_ok() {
                            let changed = Envelope::notification("notifications/tools/list_changed", None);
                            session.announce(changed).await;
                        }
                    });
                }
            });
        }
        while beginnings.join_next().await.is_some() {}
    }
}

/// A request that begins.
fn begun(request: &Envelope, era: Era, outlet: Outlet) -> Active {
    let meta = request.params().object("_meta").unwrap_or_default();
    let logs = match era {
        Era::Greeted => Some(LogLevel::LOWEST),
        Era::Stateless => meta
            .text(era::LOG_LEVEL_KEY)
            .and_then(|level| LogLevel::named(&level)),
    };
    Active {
        id: request.id().to_owned(),
        token: meta.get("progressToken").map(|token| token.get().to_owned()),
        outlet,
        sent: None,
        subject: None,
        logs,
        taken_back: Arc::default(),
        era,
        resumed: None,
        rounds: 0,
    }
}

/// An answer as the client's era wants it.
fn in_era(era: Era, answer: Envelope) -> Envelope {
    if era == Era::Greeted {
        return answer;
    }
    let Some(mut result) = answer.result().and_then(Object::read) else {
        return answer;
    };
    if result.get("resultType").is_some() {
        return answer;
    }
    result.set("resultType", raw(&"complete"));
    answer.with_result(result.to_raw())
}

struct UnderWay<'a>(&'a Session, u64);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.ways.end(self.1);
    }
}

fn unknown_method() -> Stopped {
    let reason = "the gateway does not know this method";
    let stopped = Stopped::by("unknown-method", reason, "use a method of the protocol");
    stopped.coded(code::METHOD_NOT_FOUND)
}

fn no_such_prompt() -> Stopped {
    Stopped::by(
        "unknown-prompt",
        "no server has a prompt of that name",
        "look at prompts/list",
    )
    .coded(code::INVALID_PARAMS)
}

/// What either can do.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Bool(true), Value::Bool(_)) => {}
        (into, from) => *into = from,
    }
}
