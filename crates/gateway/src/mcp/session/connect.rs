//! The gateway's own connectors, as tools among those of the servers.

use serde_json::{Value, json};
use tidegate_core::{Manifest, Name};

use super::govern::withheld;
use super::stopped::Stopped;
use super::{Session, veil};
use crate::connect::{Call, CallError};
use crate::mcp::message::code;
use crate::mcp::object::{Object, raw};
use crate::mcp::outlet::Outlet;
use crate::mcp::{present, strict};

impl Session {
    /// Whether a tool is a connector's.
    pub(super) fn is_connectors(&self, name: &str) -> bool {
        self.hub.connectors.has(name)
    }

    /// The connectors' tools as this session sees them.
    pub(super) fn connector_tools(&self, manifest: &Manifest) -> Vec<Object> {
        let shown = self
            .hub
            .connectors
            .definitions()
            .filter_map(|(name, definition)| {
                let entry = manifest.tools.iter().find(|entry| entry.name == *name);
                let definition = Object::read(&raw(&definition))?;
                (!self.is_hidden(entry)).then(|| present::tool(definition, name, entry))
            });
        shown.collect()
    }

    /// Calls a connector's tool, by the same use case as every other wire.
    pub(super) async fn call_connector(&self, outlet: &Outlet, params: &Object) -> Result<Value, Stopped> {
        let name = params.text("name").unwrap_or_default();
        let unknown = |_| Stopped::by("unknown-tool", "there is no such tool", "look at tools/list");
        let arguments = params.get("arguments").map(strict::read).transpose()?;
        let call = Call {
            tool: Name::parse(&name).map_err(unknown)?,
            arguments: arguments.unwrap_or_else(|| Value::Object(serde_json::Map::new())),
            seal: veil::asks_for_seal(params),
        };
        let delivered = self
            .hub
            .connectors
            .call(&self.hub.engine, &self.caller, &self.id, call)
            .await?
            .delivered;
        self.tell_label(&delivered.session, Some(outlet)).await;
        // Both are what the agent may see, so neither can say what the other withholds.
        let seen = delivered.content.ok_or_else(withheld)?.into_exposed();
        Ok(json!({
            "content": [{"type": "text", "text": seen.to_string()}],
            "structuredContent": seen,
        }))
    }
}

impl From<CallError> for Stopped {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Unknown => {
                let stopped = Self::by("unknown-tool", "there is no such tool", "look at tools/list");
                stopped.coded(code::INVALID_PARAMS)
            }
            CallError::Access(error) => error.into(),
            CallError::Denied(refusal) | CallError::Held(refusal, _) => (&*refusal).into(),
            CallError::Veil(error) => error.into(),
            CallError::Source(failure) => Self::at_source(&failure),
            CallError::Deliver(error) => error.into(),
        }
    }
}
