//! `tidegate completions`: for the shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::terminal::written;

/// Print completions for a shell
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  tidegate completions bash > ~/.local/share/bash-completion/completions/tidegate"
)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<(), Failure> {
        // Into memory first: the generator panics when its writer fails, as a closed pipe does.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "tidegate", &mut script);
        written(std::io::Write::write_all(&mut std::io::stdout().lock(), &script))
    }
}
