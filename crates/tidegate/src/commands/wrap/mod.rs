//! `tidegate wrap` and `tidegate unwrap`: putting the gateway in front of a client's servers, and taking it away.

mod backup;
mod clients;
mod document;
mod probe;
mod propose;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use tidegate_core::Ident;

use crate::config::PROPOSED;
use crate::failure::Failure;
use crate::source::DEFAULT_FILE;
use crate::terminal::{answer, note};
use document::{Document, Entry};

/// Put Tidegate in front of the MCP servers of a client
///
/// Moves the servers from the client's configuration into tidegate.toml, starts each once to see its tools, and writes a
/// proposal for every tool: what it returns and what it may be given, with the reason. Review it before you rely on it. The
/// client's file then names Tidegate alone; `tidegate unwrap` restores it byte for byte.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tidegate wrap --client claude-code --dry-run     show what would be written
  tidegate wrap --client claude-desktop
  tidegate wrap --client path/to/mcp.json --config path/to/tidegate.toml
  tidegate unwrap --client claude-desktop")]
pub(crate) struct Wrap {
    /// claude-code, claude-desktop, cursor, vscode, windsurf, or the path of a client's configuration
    #[arg(long, value_name = "NAME|PATH", default_value = "claude-code")]
    client: String,
    /// Where the servers are moved to; added to when it is there
    #[arg(long, value_name = "FILE", default_value = DEFAULT_FILE)]
    config: PathBuf,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Take Tidegate away from a client and restore its configuration byte for byte
#[derive(Args, Debug)]
pub(crate) struct Unwrap {
    /// claude-code, claude-desktop, cursor, vscode, windsurf, or the path of a client's configuration
    #[arg(long, value_name = "NAME|PATH", default_value = "claude-code")]
    client: String,
    /// Restore even if the file was changed since it was wrapped; the changes are lost
    #[arg(long)]
    force: bool,
}

impl Wrap {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let file = clients::file_of(&self.client)?;
        let shown = file.display();
        let text = std::fs::read_to_string(&file)
            .map_err(|error| Failure::environment(format_args!("cannot read {shown}: {error}")))?;
        let document = Document::read(text).map_err(|why| Failure::usage(format_args!("{shown}: {why}")))?;
        if document.is_wrapped() {
            return Err(Failure::usage(format_args!("{shown} is wrapped already")));
        }
        let (servers, env) = moved(&document.servers)?;
        let before = existing(&self.config)?;
        let program = std::env::current_exe().map_err(Failure::environment)?;
        let config = self.proposed(&before, &servers, &program, &env)?;
        let config_path = std::path::absolute(&self.config).map_err(Failure::environment)?;
        let wrapped = document.with_gateway(&program.to_string_lossy(), &config_path.to_string_lossy(), &env);
        if self.dry_run {
            answer(format_args!("# {}\n{config}", config_path.display()))?;
            note(format_args!(
                "{shown} would name Tidegate alone; nothing was written"
            ));
            return Ok(());
        }
        backup::put(&self.config, &config)?;
        backup::exchange(&file, &wrapped)?;
        note(format_args!(
            "{} servers moved to {}",
            document.servers.len(),
            config_path.display()
        ));
        note("Review what is proposed for each tool there, then restart the client.");
        note(format_args!("Undo: tidegate unwrap --client {}", self.client));
        Ok(())
    }

    /// The configuration with the servers and a proposal for each of their tools.
    fn proposed(
        &self,
        before: &str,
        servers: &str,
        program: &Path,
        env: &BTreeMap<String, String>,
    ) -> Result<String, Failure> {
        let trial = tempfile::tempdir().map_err(Failure::environment)?;
        let trial = trial.path().join(DEFAULT_FILE);
        std::fs::write(&trial, servers).map_err(Failure::environment)?;
        note("starting each server once to see its tools ...");
        let tools = probe::tools(program, &trial, env)?;
        let mut config = before.to_owned();
        if !config.is_empty() && !config.ends_with('\n') {
            config.push('\n');
        }
        config.push_str(servers);
        for tool in &tools {
            let proposal = propose::propose(tool);
            let _ = write!(
                config,
                "\n{PROPOSED}{}.\n[tools.{}]\n{}",
                proposal.reason,
                tool.get("name").unwrap_or(&serde_json::Value::Null),
                proposal.lines
            );
        }
        note(format_args!("{} tools found", tools.len()));
        Ok(config)
    }
}

impl Unwrap {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let file = clients::file_of(&self.client)?;
        backup::restore(&file, self.force)?;
        note(format_args!("{} is as it was before", file.display()));
        Ok(())
    }
}

fn existing(config: &Path) -> Result<String, Failure> {
    match std::fs::read_to_string(config) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failure::environment(format_args!(
            "cannot read {}: {error}",
            config.display()
        ))),
    }
}

/// The servers as sections of tidegate.toml, and the variables that hold what must not stand there.
fn moved(servers: &BTreeMap<String, Entry>) -> Result<(String, BTreeMap<String, String>), Failure> {
    let mut env: BTreeMap<String, String> = BTreeMap::new();
    let mut keep = |server: &str, name: &str, value: &str| {
        let kept = env.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        if kept == value {
            return Ok(());
        }
        Err(Failure::usage(format_args!(
            "{server}: two servers want a different value for the variable {name}; give one of them another name"
        )))
    };
    let mut text = String::new();
    for (name, entry) in servers {
        let server = name.replace(['.', ' ', '/'], "-");
        Ident::parse(&server).map_err(|why| Failure::usage(format_args!("a server's name: {why}")))?;
        let _ = write!(text, "\n[servers.{}]\n", quoted(&server));
        match (&entry.command, &entry.url) {
            (Some(command), _) => {
                let args: Vec<_> = entry.args.iter().map(|arg| quoted(arg)).collect();
                let names: Vec<_> = entry.env.keys().map(|name| quoted(name)).collect();
                let _ = writeln!(
                    text,
                    "command = {}\nargs = [{}]",
                    quoted(command),
                    args.join(", ")
                );
                if !names.is_empty() {
                    let _ = writeln!(text, "env = [{}]", names.join(", "));
                }
                for (variable, value) in &entry.env {
                    keep(&server, variable, value)?;
                }
            }
            (None, Some(url)) => {
                let _ = writeln!(text, "url = {}", quoted(url));
                let mut headers = Vec::new();
                for (header, value) in &entry.headers {
                    let variable = variable_for(&server, header);
                    keep(&server, &variable, value)?;
                    headers.push(format!("{} = {}", quoted(header), quoted(&variable)));
                }
                if !headers.is_empty() {
                    let _ = writeln!(text, "headers_env = {{ {} }}", headers.join(", "));
                }
            }
            (None, None) => {
                return Err(Failure::usage(format_args!(
                    "{server} has neither a command nor a url"
                )));
            }
        }
    }
    Ok((text, env))
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
fn quoted(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_variables_and_headers_stay_out_of_the_configuration() {
        let servers = r#"{"mcpServers": {
            "a b": {"command": "x", "args": ["-y", "q\"uote"], "env": {"KEY": "canary-1"}},
            "crm": {"url": "https://crm.example/mcp", "headers": {"Authorization": "Bearer canary-2"}}
        }}"#;
        let document = Document::read(servers.into()).unwrap();
        let (text, env) = moved(&document.servers).unwrap();
        assert!(!text.contains("canary"));
        assert_eq!(env["KEY"], "canary-1");
        assert_eq!(env["TIDEGATE_CRM_AUTHORIZATION"], "Bearer canary-2");
        let checked = crate::config::check(&text, Path::new("."), &crate::config::Overrides::default());
        let config = checked
            .config
            .unwrap_or_else(|| panic!("{:?}\n{text}", checked.problems));
        assert_eq!(config.servers.len(), 2);
    }

    #[test]
    fn two_values_for_one_variable_are_refused() {
        let servers = r#"{"servers": {"a": {"command": "x", "env": {"K": "1"}}, "b": {"command": "x", "env": {"K": "2"}}}}"#;
        let document = Document::read(servers.into()).unwrap();
        assert!(moved(&document.servers).is_err());
    }
}
