//! What the servers offer, as one list. A server that does not answer is left out of it; the others are not affected.
//!
//! A client gets everything on one page: some never ask for the second.

use std::slice;

use serde_json::{Value, json};
use tidegate_core::{ManifestTool, Name};
use tidegate_engine::Form;
use tokio::task::JoinSet;

use super::stopped::Stopped;
use super::{Session, locked};
use crate::mcp::era::Era;
use crate::mcp::message::{Envelope, code};
use crate::mcp::names::Surface;
use crate::mcp::object::{Object, raw};
use crate::mcp::pins::{Kind, Standing};
use crate::mcp::upstream::UpstreamError;
use crate::mcp::{ClosedTools, RUN_COMMAND, names, own, present};

/// The most pages and items of one server's list.
const MOST_PAGES: usize = 200;
const MOST_ITEMS: usize = 10_000;

/// A sort of thing that servers list.
#[derive(Clone, Copy)]
struct Sort {
    method: &'static str,
    member: &'static str,
    capability: &'static str,
}

const TOOLS: Sort = Sort {
    method: "tools/list",
    member: "tools",
    capability: "tools",
};
const RESOURCES: Sort = Sort {
    method: "resources/list",
    member: "resources",
    capability: "resources",
};
const TEMPLATES: Sort = Sort {
    method: "resources/templates/list",
    member: "resourceTemplates",
    capability: "resources",
};
const PROMPTS: Sort = Sort {
    method: "prompts/list",
    member: "prompts",
    capability: "prompts",
};
const TASKS: Sort = Sort {
    method: "tasks/list",
    member: "tasks",
    capability: "tasks",
};

impl Session {
    pub(super) async fn list_tools(&self, request: &Envelope) -> Result<Envelope, Stopped> {
        let listed = self.of_all(TOOLS).await;
        let session = self.hub.engine.context(&self.caller, &self.id).await?.session;
        let manifest = self.hub.engine.manifest_of(&session).await?;
        let mut shown = Vec::new();
        for (server, tools) in listed {
            for (tool, standing) in tools.iter().zip(self.pinned(server, &tools).await?) {
                let own = tool.text("name").unwrap_or_default();
                let name = names::shown(&self.hub.servers, server, &own);
                // A name of the gateway's own connectors is not a server's to take.
                let name = name.filter(|name| !self.is_connectors(name.as_str()));
                let (Some(name), Standing::Trusted) = (name, standing) else {
                    continue;
                };
                let entry = manifest.tools.iter().find(|entry| entry.name == name);
                if !self.is_hidden(entry) {
                    shown.push(present::tool(tool.clone(), &name, entry));
                }
            }
        }
        shown.extend(self.connector_tools(&manifest));
        if let Some(tool) = self.shell_tool() {
            shown.retain(|other| other.text("name") != tool.text("name"));
            let entry = manifest
                .tools
                .iter()
                .find(|entry| entry.name.as_str() == RUN_COMMAND);
            shown.extend(entry.map(|entry| present::tool(tool, &entry.name, Some(entry))));
        }
        shown.extend(own::tools());
        Ok(self.page(request, TOOLS, &shown))
    }

    /// Whether a tool is left out of the list while the session's state closes it.
    pub(super) fn is_hidden(&self, entry: Option<&ManifestTool>) -> bool {
        self.hub.options.closed_tools == ClosedTools::Hide && entry.is_none_or(|entry| entry.blocked)
    }

    pub(super) async fn list_resources(&self, request: &Envelope) -> Result<Envelope, Stopped> {
        let mut shown = Vec::new();
        for (server, resources) in self.of_all(RESOURCES).await {
            let resources = self
                .trusted(server, Kind::Resource, resources)
                .await
                .unwrap_or_default();
            if let Some(mut catalog) = self.catalog(server) {
                catalog.resources(&resources);
            }
            shown.extend(resources);
        }
        shown.push(own::session_resource_entry());
        Ok(self.page(request, RESOURCES, &shown))
    }

    pub(super) async fn list_templates(&self, request: &Envelope) -> Result<Envelope, Stopped> {
        let mut shown = Vec::new();
        for (server, templates) in self.of_all(TEMPLATES).await {
            let templates = self
                .trusted(server, Kind::Template, templates)
                .await
                .unwrap_or_default();
            if let Some(mut catalog) = self.catalog(server) {
                catalog.templates(&templates);
            }
            shown.extend(templates);
        }
        Ok(self.page(request, TEMPLATES, &shown))
    }

    pub(super) async fn list_prompts(&self, request: &Envelope) -> Result<Envelope, Stopped> {
        let mut shown = Vec::new();
        for (server, prompts) in self.of_all(PROMPTS).await {
            let prompts = self.trusted(server, Kind::Prompt, prompts).await;
            for mut prompt in prompts.unwrap_or_default() {
                let own = prompt.text("name").unwrap_or_default();
                if let Some(name) = names::shown(&self.hub.servers, server, &own) {
                    prompt.set("name", raw(&name.as_str()));
                    shown.push(prompt);
                }
            }
        }
        Ok(self.page(request, PROMPTS, &shown))
    }

    pub(super) async fn list_tasks(&self, request: &Envelope) -> Result<Envelope, Stopped> {
        let mut shown = Vec::new();
        for (server, tasks) in self.of_all(TASKS).await {
            // A task's state may be told in words, and those are content.
            let mut tasks = tasks;
            if !tasks.is_empty() {
                let subject = self.surface(server, Surface::Other)?;
                let told = (Form::Notice, false);
                if let Some(changed) = self
                    .admit(slice::from_ref(&subject), &raw(&tasks), told, None)
                    .await?
                {
                    tasks = serde_json::from_str(changed.get()).unwrap_or_default();
                }
            }
            shown.extend(tasks);
        }
        Ok(self.page(request, TASKS, &shown))
    }

    /// Asks a server for its prompts, so that it is known which of them are held.
    pub(super) async fn prompts_of(&self, server: usize) -> Result<(), Stopped> {
        let listed = self.items(server, PROMPTS).await;
        let prompts = listed.map_err(|why| Stopped::at_server(self.name_of(server), &why))?;
        self.trusted(server, Kind::Prompt, prompts).await.map(|_| ())
    }

    fn page(&self, request: &Envelope, sort: Sort, items: &[Object]) -> Envelope {
        let mut page = Object::default().with(sort.member, items);
        if locked(&self.client).era == Era::Stateless {
            page = page.with("ttlMs", 0).with("cacheScope", "private");
        }
        Envelope::answer(request.id(), page.to_raw())
    }

    /// Asks a server for its tools, so that they are known, pinned and can be called.
    pub(super) async fn tools_of(&self, server: usize) -> Result<(), Stopped> {
        let listed = self.items(server, TOOLS).await;
        let tools = listed.map_err(|why| Stopped::at_server(self.name_of(server), &why))?;
        self.pinned(server, &tools).await.map(|_| ())
    }

    /// How each tool stands to its pin. From here on the tools are known to the rules.
    async fn pinned(&self, server: usize, tools: &[Object]) -> Result<Vec<Standing>, Stopped> {
        let own_name = |tool: &Object| tool.text("name").unwrap_or_default();
        let names: Vec<Name> = tools
            .iter()
            .filter_map(|tool| names::shown(&self.hub.servers, server, &own_name(tool)))
            .collect();
        self.hub.engine.discover(&names);
        let standings = self.standings(server, Kind::Tool, tools).await?;
        self.hub.engine.review_new_tools(&names).await;
        if let Some(mut catalog) = self.catalog(server) {
            let known = tools.iter().map(own_name);
            catalog.tools = Some(known.zip(standings.iter().copied()).collect());
        }
        Ok(standings)
    }

    /// Which server an address belongs to: who listed it, whose template fits best, or the only one there is.
    pub(super) async fn server_of_address(&self, address: &str) -> Result<usize, Stopped> {
        if let Some(server) = self.only_server() {
            return Ok(server);
        }
        if let Some(server) = self.best_fit(address) {
            return Ok(server);
        }
        for (server, resources) in self.of_all(RESOURCES).await {
            if let Some(mut catalog) = self.catalog(server) {
                catalog.resources(&resources);
            }
        }
        for (server, templates) in self.of_all(TEMPLATES).await {
            if let Some(mut catalog) = self.catalog(server) {
                catalog.templates(&templates);
            }
        }
        self.best_fit(address).ok_or_else(|| {
            let remedy = "look at resources/list and resources/templates/list";
            Stopped::by("unknown-resource", "no server has this resource", remedy)
                .coded(code::RESOURCE_NOT_FOUND)
        })
    }

    fn best_fit(&self, address: &str) -> Option<usize> {
        let fit = |server: usize| self.catalog(server).and_then(|catalog| catalog.fits(address));
        let fits = (0..self.links.len()).filter_map(|server| fit(server).map(|fit| (fit, server)));
        // The first of the best, in the order of the configuration.
        fits.max_by_key(|(fit, server)| (*fit, usize::MAX - server))
            .map(|(_, server)| server)
    }

    /// What every server lists, in the order of the configuration.
    async fn of_all(&self, sort: Sort) -> Vec<(usize, Vec<Object>)> {
        let Some(me) = self.me.upgrade() else {
            return Vec::new();
        };
        let mut asking = JoinSet::new();
        for server in 0..self.links.len() {
            let session = std::sync::Arc::clone(&me);
            asking.spawn(async move { (server, session.items(server, sort).await) });
        }
        let mut listed = Vec::new();
        while let Some(answered) = asking.join_next().await {
            if let Ok((server, Ok(items))) = answered {
                listed.push((server, items));
            }
        }
        listed.sort_by_key(|(server, _)| *server);
        listed
    }

    async fn items(&self, server: usize, sort: Sort) -> Result<Vec<Object>, UpstreamError> {
        let connection = self.connection(server).await?;
        if !connection.can(sort.capability) {
            return Ok(Vec::new());
        }
        let (mut items, mut cursor) = (Vec::new(), None::<Value>);
        for _ in 0..MOST_PAGES {
            let params = cursor.as_ref().map(|cursor| raw(&json!({"cursor": cursor})));
            let answer = connection.ask(Envelope::request(sort.method, params)).await?;
            let Some(page) = answer.result().and_then(Object::read) else {
                break;
            };
            let found = page.list(sort.member).unwrap_or_default();
            items.extend(found.iter().filter_map(|item| Object::read(item)));
            if items.len() > MOST_ITEMS {
                return Err(UpstreamError::TooLarge);
            }
            cursor = page.text("nextCursor").map(Value::from);
            if cursor.is_none() {
                break;
            }
        }
        Ok(items)
    }
}
