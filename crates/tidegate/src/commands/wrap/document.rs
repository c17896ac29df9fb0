//! A client's configuration: the servers in it, and the same text with other servers in their place.
//!
//! Only the servers are exchanged; every other byte of the file stays as its owner wrote it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A server as clients write it down.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    pub(super) command: Option<String>,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    #[serde(alias = "serverUrl", alias = "httpUrl")]
    pub(super) url: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
}

/// What the gateway is called among a client's servers.
const GATEWAY: &str = "tidegate";

/// Whether a server is the gateway itself: by its name, or by the program that is started.
pub(super) fn is_own(name: &str, entry: &Entry, program: &Path) -> bool {
    let command = entry.command.as_deref().map(Path::new);
    name == GATEWAY
        || command.is_some_and(|command| {
            command == program || command.file_stem().is_some_and(|stem| stem == GATEWAY)
        })
}

/// A client's configuration.
pub(super) struct Document {
    text: String,
    /// Where the servers stand in the text.
    span: std::ops::Range<usize>,
    /// The servers by name.
    pub(super) servers: BTreeMap<String, Entry>,
}

/// Why a text is no configuration that can be wrapped. Nothing of the text is repeated: it may hold keys.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadDocument {
    #[error("it is not JSON; if it has comments, take them out first (line {0})")]
    NotJson(usize),
    #[error("it has no mcpServers and no servers")]
    NoServers,
    #[error("its servers are not written as MCP clients write them")]
    Shape,
}

impl Document {
    pub(super) fn read(text: String) -> Result<Self, BadDocument> {
        let members: BTreeMap<String, &RawValue> =
            serde_json::from_str(&text).map_err(|error| BadDocument::NotJson(error.line()))?;
        let servers = members.get("mcpServers").or_else(|| members.get("servers"));
        let servers = servers.ok_or(BadDocument::NoServers)?.get();
        // What was borrowed lies in the text, so the place is counted; searching for it could find an earlier copy.
        let start = (servers.as_ptr() as usize).checked_sub(text.as_ptr() as usize);
        let start = start.ok_or(BadDocument::Shape)?;
        let span = start..start + servers.len();
        let servers = serde_json::from_str(servers).map_err(|_| BadDocument::Shape)?;
        Ok(Self { text, span, servers })
    }

    /// The same text with the gateway as the only server.
    pub(super) fn with_gateway(&self, program: &str, config: &str, env: &BTreeMap<String, String>) -> String {
        let mut entry = json!({"command": program, "args": ["mcp", "--config", config]});
        if let (false, Some(entry)) = (env.is_empty(), entry.as_object_mut()) {
            entry.insert("env".into(), json!(env));
        }
        let servers: Value = json!({GATEWAY: entry});
        let servers = serde_json::to_string_pretty(&servers).unwrap_or_default();
        let mut text = self.text.clone();
        text.replace_range(self.span.clone(), &servers.replace('\n', "\n  "));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_are_exchanged() {
        let text = "{\n  \"theme\" : \"dark\",\n  \"mcpServers\": {\"a\": {\"command\": \"x\"}},\n\t\"n\": 1.0e3 }\n";
        let document = Document::read(text.into()).unwrap();
        let changed = document.with_gateway("/bin/tidegate", "/t.toml", &BTreeMap::new());
        assert!(changed.starts_with("{\n  \"theme\" : \"dark\",\n  \"mcpServers\": {"));
        assert!(changed.ends_with(",\n\t\"n\": 1.0e3 }\n"));
        let again = Document::read(changed).unwrap();
        assert_eq!(again.servers.len(), 1);
        assert!(is_own(
            "tidegate",
            &again.servers["tidegate"],
            Path::new("/bin/x")
        ));
        assert_eq!(again.servers["tidegate"].args, ["mcp", "--config", "/t.toml"]);
    }

    #[test]
    fn the_gateway_is_known_under_any_name() {
        for (name, command, own) in [
            ("tidegate", "x", true),
            ("a", "/opt/bin/tidegate", true),
            ("a", "tidegate.exe", true),
            ("a", "/opt/this", true),
            ("a", "/opt/other", false),
        ] {
            let entry = Entry {
                command: Some(command.into()),
                ..Entry::default()
            };
            assert_eq!(
                is_own(name, &entry, Path::new("/opt/this")),
                own,
                "{name} {command}"
            );
        }
    }

    #[test]
    fn what_cannot_be_wrapped_is_said_without_repeating_it() {
        for (text, expected) in [
            ("{\n// canary\n}", BadDocument::NotJson(2)),
            ("{}", BadDocument::NoServers),
            ("{\"servers\": {\"a\": \"canary\"}}", BadDocument::Shape),
        ] {
            let why = Document::read(text.into()).err().unwrap();
            assert!(!why.to_string().contains("canary"));
            assert_eq!(why, expected);
        }
    }
}
