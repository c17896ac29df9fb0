//! `tidegate wrap` and `tidegate unwrap`: putting the gateway in front of a client's servers, and taking it away.

mod backup;
mod clients;
mod document;
mod probe;
mod propose;
mod sections;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use crate::failure::Failure;
use crate::source::DEFAULT_FILE;
use crate::terminal::{answer, note};
use document::Document;
use sections::Sections;

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
        let program = std::env::current_exe().map_err(Failure::environment)?;
        refuse_wrapped(&file, &document, &program)?;
        let sections = Sections::of(&document.servers)?;
        let before = existing(&self.config)?;
        let tools = seen(&sections, &program)?;
        let config_path = std::path::absolute(&self.config).map_err(Failure::environment)?;
        let config = sections.added_to(&before, &config_path, &tools)?;
        let wrapped = document.with_gateway(
            &program.to_string_lossy(),
            &config_path.to_string_lossy(),
            &sections.env,
        );
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
}

/// Before anything else: a gateway that stood among its own servers would start itself without end.
fn refuse_wrapped(file: &Path, document: &Document, program: &Path) -> Result<(), Failure> {
    let shown = file.display();
    let is_own = |entry: &(&String, &document::Entry)| document::is_own(entry.0, entry.1, program);
    let (own, direct): (Vec<_>, Vec<_>) = document.servers.iter().partition(is_own);
    if !own.is_empty() {
        let direct: Vec<_> = direct.iter().map(|(name, _)| name.as_str()).collect();
        let beside = if direct.is_empty() {
            String::new()
        } else {
            format!(
                ", and {} stands beside Tidegate, without it; take it out, `tidegate unwrap`, put it in again and `tidegate wrap`",
                direct.join(", ")
            )
        };
        return Err(Failure::usage(format_args!("{shown} is wrapped already{beside}")));
    }
    backup::refuse_if_there(file)
}

/// Every tool of the servers.
fn seen(sections: &Sections, program: &Path) -> Result<Vec<Value>, Failure> {
    let trial = tempfile::tempdir().map_err(Failure::environment)?;
    let trial = trial.path().join(DEFAULT_FILE);
    std::fs::write(&trial, sections.text()).map_err(Failure::environment)?;
    note("starting each server once to see its tools ...");
    let tools = probe::tools(program, &trial, &sections.env)?;
    note(format_args!("{} tools found", tools.len()));
    Ok(tools)
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
