//! A client's servers as sections of tidegate.toml, beside those that stand there.
//!
//! What stands there is its owner's: a server or a tool that is known is left as it is. A server of the same name that is
//! another one is refused, since one of the two would be lost.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use tidegate_core::Ident;

use super::document::Entry;
use super::propose;
use crate::config::{self, Checked, Config, Overrides, PROPOSED, Reach};
use crate::failure::Failure;
use crate::source::summary;
use crate::terminal::note;

/// Servers as they are written down in tidegate.toml.
#[derive(Default)]
pub(super) struct Sections {
    /// The name and the section of each.
    servers: Vec<(String, String)>,
    /// The variables that hold what must not stand there.
    pub(super) env: BTreeMap<String, String>,
}

impl Sections {
    pub(super) fn of(servers: &BTreeMap<&str, &Entry>) -> Result<Self, Failure> {
        let mut sections = Self::default();
        for (name, entry) in servers {
            let server = name.replace(['.', ' ', '/'], "-");
            Ident::parse(&server).map_err(|why| Failure::usage(format_args!("a server's name: {why}")))?;
            let reach = match (&entry.command, &entry.url) {
                (Some(command), _) => sections.command(&server, command, entry)?,
                (None, Some(url)) => sections.url(&server, url, entry)?,
                (None, None) => {
                    return Err(Failure::usage(format_args!(
                        "{server} has neither a command nor a url"
                    )));
                }
            };
            let text = format!("\n[servers.{}]\n{reach}", quoted(&server));
            sections.servers.push((server, text));
        }
        Ok(sections)
    }

    /// The names of the servers.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(|(name, _)| name.as_str())
    }

    /// All sections.
    pub(super) fn text(&self) -> String {
        self.servers.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// A configuration with the servers that it does not have yet, and a proposal for each tool that it does not know.
    pub(super) fn added_to(&self, before: &str, file: &Path, tools: &[Value]) -> Result<String, Failure> {
        let known = checked(before, file)?;
        let mut config = before.to_owned();
        if !config.is_empty() && !config.ends_with('\n') {
            config.push('\n');
        }
        for (name, text) in &self.servers {
            if !is_there(&known, name, text, file)? {
                config.push_str(text);
            }
        }
        for tool in tools {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            if known.policy.control.find(name).is_some() {
                continue;
            }
            let proposal = propose::propose(tool);
            let _ = write!(
                config,
                "\n{PROPOSED}{}.\n[tools.{}]\n{}",
                proposal.reason,
                quoted(name),
                proposal.lines
            );
        }
        // What the gateway could not start with must not take the place of servers that work.
        checked(&config, file)?;
        Ok(config)
    }

    fn command(&mut self, server: &str, command: &str, entry: &Entry) -> Result<String, Failure> {
        let args: Vec<_> = entry.args.iter().map(|arg| quoted(arg)).collect();
        let mut text = format!("command = {}\nargs = [{}]\n", quoted(command), args.join(", "));
        let names: Vec<_> = entry.env.keys().map(|name| quoted(name)).collect();
        if !names.is_empty() {
            let _ = writeln!(text, "env = [{}]", names.join(", "));
        }
        for (variable, value) in &entry.env {
            self.keep(server, variable, value)?;
        }
        Ok(text)
    }

    fn url(&mut self, server: &str, url: &str, entry: &Entry) -> Result<String, Failure> {
        let mut text = format!("url = {}\n", quoted(url));
        let mut headers = Vec::new();
        for (header, value) in &entry.headers {
            let variable = variable_for(server, header);
            self.keep(server, &variable, value)?;
            headers.push(format!("{} = {}", quoted(header), quoted(&variable)));
        }
        if !headers.is_empty() {
            let _ = writeln!(text, "headers_env = {{ {} }}", headers.join(", "));
        }
        Ok(text)
    }

    fn keep(&mut self, server: &str, name: &str, value: &str) -> Result<(), Failure> {
        let kept = self
            .env
            .entry(name.to_owned())
            .or_insert_with(|| value.to_owned());
        if kept == value {
            return Ok(());
        }
        Err(Failure::usage(format_args!(
            "{server}: two servers want a different value for the variable {name}; give one of them another name"
        )))
    }
}

/// A text as the gateway reads it. Where it cannot, everything that is wrong is said.
fn checked(text: &str, file: &Path) -> Result<Config, Failure> {
    let directory = file.parent().unwrap_or_else(|| Path::new("."));
    let Checked { config, problems } = config::check(text, directory, &Overrides::default());
    let name = file.display().to_string();
    config.ok_or_else(|| {
        for problem in &problems {
            note(problem.line(&name));
        }
        let summary = summary(&name, &problems);
        Failure::usage(format_args!("nothing was written: {summary}"))
    })
}

/// Whether a configuration has this very server.
fn is_there(known: &Config, name: &str, section: &str, file: &Path) -> Result<bool, Failure> {
    let Some(there) = known.servers.iter().find(|server| server.name.as_str() == name) else {
        return Ok(false);
    };
    let wanted = checked(section, file)?.servers;
    if wanted.iter().any(|wanted| is_same(&wanted.reach, &there.reach)) {
        return Ok(true);
    }
    Err(Failure::usage(format_args!(
        "nothing was written: {} has another server {name}; take it out there, or give one of them another name",
        file.display()
    )))
}

/// Whether two servers are reached alike. Which authorities are trusted is said in tidegate.toml alone.
fn is_same(one: &Reach, other: &Reach) -> bool {
    match (one, other) {
        (
            Reach::Url { url, headers_env, .. },
            Reach::Url {
                url: other_url,
                headers_env: other_headers,
                ..
            },
        ) => url == other_url && headers_env == other_headers,
        (Reach::Command { .. }, _) | (_, Reach::Command { .. }) => one == other,
    }
}

fn variable_for(server: &str, header: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    format!("TIDEGATE_{server}_{header}").chars().map(plain).collect()
}

/// Text as TOML and JSON both write it.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::super::document::Document;
    use super::*;

    fn sections(text: &str) -> Result<Sections, Failure> {
        Sections::of(&Document::read(text.into()).unwrap().servers().collect())
    }

    #[test]
    fn values_of_variables_and_headers_stay_out_of_the_configuration() {
        let servers = r#"{"mcpServers": {
            "a b": {"command": "x", "args": ["-y", "q\"uote"], "env": {"KEY": "canary-1"}},
            "crm": {"url": "https://crm.example/mcp", "headers": {"Authorization": "Bearer canary-2"}}
        }}"#;
        let sections = sections(servers).unwrap();
        assert!(!sections.text().contains("canary"));
        assert_eq!(sections.env["KEY"], "canary-1");
        assert_eq!(sections.env["TIDEGATE_CRM_AUTHORIZATION"], "Bearer canary-2");
        let config = checked(&sections.text(), Path::new("tidegate.toml")).unwrap();
        assert_eq!(config.servers.len(), 2);
    }

    #[test]
    fn two_values_for_one_variable_are_refused() {
        let servers = r#"{"servers": {"a": {"command": "x", "env": {"K": "1"}}, "b": {"command": "x", "env": {"K": "2"}}}}"#;
        assert!(sections(servers).is_err());
    }

    #[test]
    fn what_stands_in_the_configuration_is_left_as_it_is() {
        let file = Path::new("tidegate.toml");
        let sections = sections(r#"{"servers": {"a": {"url": "https://a.example/mcp"}}}"#).unwrap();
        let tools = [
            serde_json::json!({"name": "a.read"}),
            serde_json::json!({"name": "a.write"}),
        ];
        let owned = "[servers.a]\nurl = \"https://a.example/mcp\"\nca_file = \"a.pem\"\n[tools.\"a.read\"]\nreturns = \"internal\"\n";
        let config = sections.added_to(owned, file, &tools).unwrap();
        assert!(config.starts_with(owned));
        assert_eq!(config.matches("[servers.").count(), 1, "{config}");
        assert_eq!(config.matches("a.read").count(), 1, "{config}");
        assert_eq!(sections.added_to(&config, file, &tools).unwrap(), config);
        for other in ["[servers.a]\nurl = \"https://b.example/mcp\"\n", "[servers\n"] {
            assert!(sections.added_to(other, file, &tools).is_err(), "{other}");
        }
    }
}
