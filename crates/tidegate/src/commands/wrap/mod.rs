//! `tidegate wrap` and `tidegate unwrap`: putting the gateway in front of a client's servers, and taking it away.

mod backup;
mod clients;
mod document;
mod keys;
mod probe;
mod propose;
mod sections;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use crate::failure::Failure;
use crate::source::DEFAULT_FILE;
use crate::terminal::{answer, note};
use backup::Restored;
use document::{BadDocument, Document, Entry};
use keys::Keys;
use sections::Sections;

/// Put Tidegate in front of the MCP servers of a client
///
/// Moves the servers from the client's configuration into tidegate.toml, starts each once to see its tools, and writes a
/// proposal for every tool: what it returns and what it may be given, with the reason. Review it before you rely on it. The
/// client then has Tidegate alone, in every file that it reads servers from; `tidegate unwrap` restores them byte for byte.
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
///
/// In a file that was changed since it was wrapped, as clients do themselves, the servers alone are put back, beside those that
/// were added.
#[derive(Args, Debug)]
pub(crate) struct Unwrap {
    /// claude-code, claude-desktop, cursor, vscode, windsurf, or the path of a client's configuration
    #[arg(long, value_name = "NAME|PATH", default_value = "claude-code")]
    client: String,
    /// Restore files whole even if they were changed since they were wrapped; the changes are lost
    #[arg(long)]
    force: bool,
}

impl Wrap {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let program = std::env::current_exe().map_err(Failure::environment)?;
        let files = read(&self.client)?;
        refuse_wrapped(&files, &program)?;
        let servers = gathered(&files)?;
        let sections = Sections::of(&servers)?;
        let keys = Keys::in_the_open(&servers)?;
        keys.warn();
        let before = existing(&self.config)?;
        let tools = seen(&sections, &program)?;
        let config_path = std::path::absolute(&self.config).map_err(Failure::environment)?;
        let config = sections.added_to(&before, &config_path, &tools)?;
        let wrapped = wrapped(&files, &document::entry(&program, &config_path, &sections.env));
        if self.dry_run {
            answer(format_args!(
                "# {}\n{}",
                config_path.display(),
                keys.withheld(config)
            ))?;
            for (file, _) in wrapped {
                note(format_args!("{} would be exchanged", file.display()));
            }
            note("The client would have Tidegate alone; nothing was written.");
            return Ok(());
        }
        backup::put(&self.config, &config)?;
        for (file, text) in wrapped {
            backup::exchange(file, &text)?;
            note(format_args!("{} exchanged", file.display()));
        }
        let count = servers.len();
        let noun = if count == 1 { "server" } else { "servers" };
        note(format_args!("{count} {noun} moved to {}", config_path.display()));
        note("Review what is proposed for each tool there, then restart the client.");
        note(format_args!("Undo: tidegate unwrap --client {}", self.client));
        Ok(())
    }
}

/// A file of a client, and what stands in it.
type Read = (PathBuf, Document);

/// Every file of a client that has a place for servers, the nearest first.
fn read(client: &str) -> Result<Vec<Read>, Failure> {
    let mut files = Vec::new();
    let mut without = None;
    for file in clients::files_of(client)? {
        let shown = file.display();
        let text = std::fs::read_to_string(&file)
            .map_err(|error| Failure::environment(format_args!("cannot read {shown}: {error}")))?;
        match Document::read(text) {
            Ok(document) => files.push((file, document)),
            Err(why) => {
                let failure = Failure::usage(format_args!("{shown}: {why}"));
                if why != BadDocument::NoServers {
                    return Err(failure);
                }
                without = Some(failure);
            }
        }
    }
    match without {
        Some(failure) if files.is_empty() => Err(failure),
        _ => Ok(files),
    }
}

/// Before anything else: a gateway that stood among its own servers would start itself without end.
fn refuse_wrapped(files: &[Read], program: &Path) -> Result<(), Failure> {
    let mut wrapped = Vec::new();
    let mut direct = Vec::new();
    for (file, document) in files {
        for (name, entry) in document.servers() {
            if document::is_own(name, entry, program) {
                wrapped.push(file.display().to_string());
            } else {
                direct.push(format!("{name} ({})", file.display()));
            }
        }
    }
    wrapped.dedup();
    if wrapped.is_empty() {
        return files
            .iter()
            .try_for_each(|(file, _)| backup::refuse_if_there(file));
    }
    let by_hand = files
        .iter()
        .all(|(file, _)| backup::refuse_if_there(file).is_ok());
    let remedy = if by_hand {
        "take Tidegate out there, and `tidegate wrap` takes them along"
    } else {
        "`tidegate unwrap` keeps them, and `tidegate wrap` then takes them along"
    };
    let beside = if direct.is_empty() {
        String::new()
    } else {
        format!(", but not in front of {}: {remedy}", direct.join(", "))
    };
    Err(Failure::usage(format_args!(
        "{} is wrapped already{beside}",
        wrapped.join(", ")
    )))
}

/// Every server of the client. One name for two servers would lose one of them.
fn gathered(files: &[Read]) -> Result<BTreeMap<&str, &Entry>, Failure> {
    let mut servers = BTreeMap::new();
    for (name, entry) in files.iter().flat_map(|(_, document)| document.servers()) {
        if servers.insert(name, entry).is_some_and(|other| other != entry) {
            return Err(Failure::usage(format_args!(
                "{name}: two servers of this client have this name; give one of them another name"
            )));
        }
    }
    if servers.is_empty() {
        let looked: Vec<_> = files.iter().map(|(file, _)| file.display().to_string()).collect();
        return Err(Failure::usage(format_args!(
            "there is no server in {}; nothing was written",
            looked.join(", ")
        )));
    }
    Ok(servers)
}

/// The files that change, and how. The gateway stands once, so that there is one session and one label, and in the file that is
/// farthest from the project: it holds the keys of all servers, and files of a project are shared.
fn wrapped<'a>(files: &'a [Read], entry: &Value) -> Vec<(&'a Path, String)> {
    let full = files.iter().rev();
    let full = full.filter(|(_, document)| document.servers().next().is_some());
    full.enumerate()
        .map(|(index, (file, document))| {
            let entry = (index == 0).then_some(entry);
            (file.as_path(), document.with_gateway(entry))
        })
        .collect()
}

/// Every tool of the servers.
fn seen(sections: &Sections, program: &Path) -> Result<Vec<Value>, Failure> {
    let trial = tempfile::tempdir().map_err(Failure::environment)?;
    let trial = trial.path().join(DEFAULT_FILE);
    std::fs::write(&trial, sections.text()).map_err(Failure::environment)?;
    note("starting each server once to see its tools ...");
    let tools = probe::tools(program, &trial, &sections.env)?;
    note(format_args!("{} tools found", tools.len()));
    for server in sections.names().filter(|server| !has_tool(&tools, server)) {
        note(format_args!(
            "{server}: no tools were seen; if it could not be started, nothing is proposed for what it has"
        ));
    }
    Ok(tools)
}

fn has_tool(tools: &[Value], server: &str) -> bool {
    let mut names = tools.iter().filter_map(|tool| tool.get("name")?.as_str());
    names.any(|name| name.split_once('.').is_some_and(|(owner, _)| owner == server))
}

impl Unwrap {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let program = std::env::current_exe().map_err(Failure::environment)?;
        let files = clients::files_of(&self.client)?;
        let mut restored = false;
        for file in &files {
            let shown = file.display();
            match backup::restore(file, self.force, &program)? {
                Restored::Nothing => continue,
                Restored::Whole => note(format_args!("{shown} is as it was before")),
                Restored::Servers => note(format_args!(
                    "{shown} has its servers as before; what else was changed since it was wrapped is kept"
                )),
            }
            restored = true;
        }
        if restored {
            return Ok(());
        }
        let looked: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        Err(Failure::no(format_args!(
            "{} is not wrapped: there is no backup beside it",
            looked.join(", ")
        )))
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
