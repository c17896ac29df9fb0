//! A client's configuration: the servers in it, and the same text with other servers in their place.
//!
//! Servers stand at the top, and, in Claude Code's own file, also in each project. Only they are exchanged; every other byte of
//! the file stays as its owner wrote it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A server as clients write it down.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
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

/// The gateway as a client's server, with the variables that its own servers need.
pub(super) fn entry(program: &Path, config: &Path, env: &BTreeMap<String, String>) -> Value {
    let (program, config) = (program.to_string_lossy(), config.to_string_lossy());
    let mut entry = json!({"command": program, "args": ["mcp", "--config", config]});
    if let (false, Some(entry)) = (env.is_empty(), entry.as_object_mut()) {
        entry.insert("env".into(), json!(env));
    }
    entry
}

/// A client's configuration.
pub(super) struct Document {
    text: String,
    sets: Vec<Set>,
}

/// Servers that stand together.
struct Set {
    /// The project that they are for; those at the top are for all.
    project: Option<String>,
    /// Where they stand in the text.
    span: Range<usize>,
    servers: BTreeMap<String, Entry>,
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
        let members: Members<'_> =
            serde_json::from_str(&text).map_err(|error| BadDocument::NotJson(error.line()))?;
        let mut sets = Vec::new();
        if let Some(servers) = members.get("mcpServers").or_else(|| members.get("servers")) {
            sets.push(Set::read(&text, None, servers.get())?);
        }
        for (project, settings) in members_of(members.get("projects").copied()) {
            if let Some(servers) = members_of(Some(settings)).get("mcpServers") {
                sets.push(Set::read(&text, Some(project), servers.get())?);
            }
        }
        if sets.is_empty() {
            return Err(BadDocument::NoServers);
        }
        Ok(Self { text, sets })
    }

    /// Every server by name; a name can stand for several projects.
    pub(super) fn servers(&self) -> impl Iterator<Item = (&str, &Entry)> {
        let servers = self.sets.iter().flat_map(|set| &set.servers);
        servers.map(|(name, entry)| (name.as_str(), entry))
    }

    /// The same text without servers, and with the gateway at the top if its entry is given.
    pub(super) fn with_gateway(&self, entry: Option<&Value>) -> String {
        let full = self.sets.iter().filter(|set| !set.servers.is_empty());
        let mut edits: Vec<_> = full.map(|set| (set.span.clone(), "{}".to_owned())).collect();
        if let Some(entry) = entry {
            let servers = pretty(&json!({GATEWAY: entry}));
            if let Some(top) = self.set(None) {
                edits.retain(|(span, _)| *span != top.span);
                edits.push((top.span.clone(), servers));
            } else {
                let begin = self.text.find('{').map_or(0, |brace| brace + 1);
                edits.push((begin..begin, format!("\n  \"mcpServers\": {servers},")));
            }
        }
        self.edited(edits)
    }

    /// The same text with the servers that stood in it before it was wrapped, beside those that were added since. Nothing if a
    /// place is gone where servers stood.
    pub(super) fn restored(&self, before: &Self, program: &Path) -> Option<String> {
        let mut lost = before.sets.iter().filter(|set| !set.servers.is_empty());
        if lost.any(|set| self.set(set.project.as_deref()).is_none()) {
            return None;
        }
        let mut edits = Vec::new();
        for set in &self.sets {
            let stood = before.set(set.project.as_deref());
            let stood = stood.map_or("{}", |set| before.part(set));
            let is_own = |name: &String| {
                set.servers
                    .get(name)
                    .is_some_and(|entry| is_own(name, entry, program))
            };
            let mut servers: Members<'_> = serde_json::from_str(self.part(set)).ok()?;
            servers.retain(|name, _| !is_own(name));
            if servers.is_empty() {
                edits.push((set.span.clone(), stood.to_owned()));
                continue;
            }
            let stood: Members<'_> = serde_json::from_str(stood).ok()?;
            for (name, entry) in stood {
                servers.entry(name).or_insert(entry);
            }
            edits.push((set.span.clone(), pretty(&servers)));
        }
        Some(self.edited(edits))
    }

    fn set(&self, project: Option<&str>) -> Option<&Set> {
        self.sets.iter().find(|set| set.project.as_deref() == project)
    }

    fn part(&self, set: &Set) -> &str {
        self.text.get(set.span.clone()).unwrap_or_default()
    }

    fn edited(&self, mut edits: Vec<(Range<usize>, String)>) -> String {
        edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        let mut text = self.text.clone();
        for (span, new) in edits {
            text.replace_range(span, &new);
        }
        text
    }
}

impl Set {
    fn read(text: &str, project: Option<String>, servers: &str) -> Result<Self, BadDocument> {
        // What was borrowed lies in the text, so the place is counted; searching for it could find an earlier copy.
        let start = (servers.as_ptr() as usize).checked_sub(text.as_ptr() as usize);
        let start = start.ok_or(BadDocument::Shape)?;
        Ok(Self {
            project,
            span: start..start + servers.len(),
            servers: serde_json::from_str(servers).map_err(|_| BadDocument::Shape)?,
        })
    }
}

type Members<'a> = BTreeMap<String, &'a RawValue>;

/// The members of an object. What is no object has none.
fn members_of(value: Option<&RawValue>) -> Members<'_> {
    value
        .and_then(|value| serde_json::from_str(value.get()).ok())
        .unwrap_or_default()
}

fn pretty(servers: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(servers).unwrap_or_default();
    text.replace('\n', "\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Document {
        Document::read(text.into()).unwrap()
    }

    fn entry() -> Value {
        json!({"command": "/bin/tidegate", "args": ["mcp", "--config", "/t.toml"]})
    }

    #[test]
    fn only_the_servers_are_exchanged() {
        let text = "{\n  \"theme\" : \"dark\",\n  \"mcpServers\": {\"a\": {\"command\": \"x\"}},\n\t\"n\": 1.0e3 }\n";
        let changed = read(text).with_gateway(Some(&entry()));
        assert!(changed.starts_with("{\n  \"theme\" : \"dark\",\n  \"mcpServers\": {"));
        assert!(changed.ends_with(",\n\t\"n\": 1.0e3 }\n"));
        let again = read(&changed);
        let servers: Vec<_> = again.servers().collect();
        assert_eq!(servers.len(), 1);
        assert_eq!(servers[0].1.args, ["mcp", "--config", "/t.toml"]);
        assert!(is_own("tidegate", servers[0].1, Path::new("/bin/x")));
    }

    const PROJECTS: &str = r#"{"n": 1, "projects": {"/a": {"mcpServers": {"crm": {"command": "x"}}}, "/b": {"mcpServers": {}}, "/c": 1}}"#;

    #[test]
    fn servers_of_projects_are_exchanged_for_one_gateway_at_the_top() {
        let document = read(PROJECTS);
        assert_eq!(
            document.servers().map(|(name, _)| name).collect::<Vec<_>>(),
            ["crm"]
        );
        let wrapped: Value = serde_json::from_str(&document.with_gateway(Some(&entry()))).unwrap();
        assert_eq!(wrapped["mcpServers"], json!({"tidegate": entry()}));
        assert_eq!(wrapped["projects"]["/a"]["mcpServers"], json!({}));
        let emptied: Value = serde_json::from_str(&document.with_gateway(None)).unwrap();
        assert_eq!(emptied.get("mcpServers"), None);
        assert_eq!(emptied["projects"]["/a"]["mcpServers"], json!({}));
    }

    #[test]
    fn what_changed_since_is_kept_when_servers_come_back() {
        let before = read(PROJECTS);
        let wrapped = before.with_gateway(Some(&entry()));
        let changed = wrapped.replace("\"n\": 1", "\"n\": 2").replace(
            "{\"mcpServers\": {}}, \"/c\"",
            "{\"mcpServers\": {\"new\": {\"command\": \"y\", \"more\": 1.50}}}, \"/c\"",
        );
        assert_ne!(changed, wrapped);
        let restored = read(&changed).restored(&before, Path::new("/bin/x")).unwrap();
        assert!(restored.contains("1.50"), "{restored}");
        let restored: Value = serde_json::from_str(&restored).unwrap();
        assert_eq!(restored["n"], 2);
        assert_eq!(restored["mcpServers"], json!({}));
        assert_eq!(
            restored["projects"]["/a"]["mcpServers"],
            json!({"crm": {"command": "x"}})
        );
        assert_eq!(restored["projects"]["/b"]["mcpServers"]["new"]["command"], "y");
        let gone = read(r#"{"mcpServers": {}, "projects": {}}"#);
        assert_eq!(gone.restored(&before, Path::new("/bin/x")), None);
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
