//! Tools that call other tools: a call to one is judged as a call to the tool that it names.
//!
//! Without this a wrapper would be a door around every rule: one name in the control list for everything behind it.

use serde_json::Value;
use tidegate_core::Name;

use crate::{Engine, Interrupted, Payload};

/// What a call is judged as when its wrapper is given no name that can be one. It is refused as unknown.
const NO_TARGET: &str = "(no target)";

impl Engine {
    /// The tool that a call is really for. A wrapper's target is looked for beside it first (`server.tool`), then under
    /// the name as it is; one that nobody knows, or that is a wrapper itself, is given back as a name that is refused.
    ///
    /// # Errors
    /// When it cannot be told; then the call does not pass.
    pub fn target_of(&self, tool: &Name, arguments: &Payload) -> Result<Name, Interrupted> {
        let control = self.control();
        let wrapper = control.find(tool.as_str());
        let Some(argument) = wrapper.and_then(|tool| tool.target.as_deref()) else {
            return Ok(tool.clone());
        };
        let named = arguments.expose().get(argument).and_then(Value::as_str);
        let real = |name: &str| {
            let found = control.find(name).filter(|tool| tool.target.is_none());
            found.map(|tool| tool.name.clone())
        };
        let beside = |name: &str| {
            let (server, _) = tool.as_str().split_once('.')?;
            real(&format!("{server}.{name}"))
        };
        let found = named.and_then(|name| beside(name).or_else(|| real(name)));
        let unknown = || {
            let name = named.and_then(|name| Name::parse(name).ok());
            name.filter(|name| control.find(name.as_str()).is_none())
        };
        match found.or_else(unknown) {
            Some(name) => Ok(name),
            // Should a tool be called so after all, no name is left to refuse.
            None if control.find(NO_TARGET).is_some() => Err(Interrupted),
            None => Name::parse(NO_TARGET).map_err(|_| Interrupted),
        }
    }
}
