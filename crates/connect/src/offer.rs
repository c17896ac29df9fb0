//! What a connector says of a tool, to agents and to the rules.

use serde_json::{Value, json};
use tidegate_core::{
    Class, Control, FieldClasses, Integrity, Name, Permission, Permissions, SealRule, Tool, ToolFacts,
};

/// A tool that a connector offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// What the connector calls it.
    pub tool: String,
    /// Its name to people.
    pub title: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input: Value,
    /// Whether it changes something at the source.
    pub writes: bool,
    /// Whether it carries what it is given out of the organisation.
    pub external: bool,
    /// The highest class that it may return.
    pub returns: Class,
    /// The highest class it may be given; nothing where it follows from the other facts.
    pub ceiling: Option<Class>,
}

impl Offer {
    /// What the rules know of it, under the name that everybody knows it by. The class of each result is said with the
    /// result, so none is stated here; what it returns at most serves whoever plans.
    #[must_use]
    pub fn to_tool(&self, name: Name) -> Tool {
        let read = std::iter::once(Permission::Read);
        let permissions: Permissions = read.chain(self.writes.then_some(Permission::Write)).collect();
        let mut tool = Tool::declared(ToolFacts {
            name,
            permissions,
            returns: Some(self.returns),
            ceiling: self.ceiling,
            external: self.external,
            sink: false,
            control: Control::Auto,
            integrity: Integrity::UNDECLARED,
            fields: FieldClasses::NONE,
            seal: SealRule::OnRequest,
            keeps_secrets: false,
            target: None,
        });
        tool.stated.returns = None;
        tool
    }

    /// Its definition as MCP tells it.
    #[must_use]
    pub fn definition(&self, name: &str) -> Value {
        json!({
            "name": name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input,
            "annotations": {
                "title": self.title,
                "readOnlyHint": !self.writes,
                "destructiveHint": self.writes,
                "openWorldHint": self.external,
            },
        })
    }
}
