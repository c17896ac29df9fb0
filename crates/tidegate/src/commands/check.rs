//! `tidegate check`: everything that is wrong with a configuration, at once.

use std::path::PathBuf;

use clap::Args;

use crate::config::{self, Checked, Overrides};
use crate::failure::Failure;
use crate::source::{DEFAULT_FILE, Source, summary};
use crate::terminal::answer;

/// Check a configuration: every mistake at once, each with its line
///
/// Errors and warnings are printed as FILE:LINE:COLUMN: MESSAGE, as editors understand it. The exit code is 0 when the
/// configuration can be used and 2 when it cannot.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The configuration
    #[arg(default_value = DEFAULT_FILE, value_name = "FILE")]
    file: PathBuf,
}

impl Check {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let source = Source::read(&self.file)?;
        let Checked { config, problems } =
            config::check(&source.text, &source.directory, &Overrides::default());
        for problem in &problems {
            answer(problem.line(&source.name))?;
        }
        let summary = summary(&source.name, &problems);
        let Some(config) = config else {
            return Err(Failure::usage(summary));
        };
        let (tools, servers) = (config.policy.control.iter().count(), config.servers.len());
        let version = &config.policy.version;
        answer(format_args!(
            "{summary}; tools: {tools}, servers: {servers}, policy version: {version}"
        ))
    }
}
