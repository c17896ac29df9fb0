//! `tidegate init`: a commented configuration to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use clap::Args;

use crate::config;
use crate::failure::Failure;
use crate::source::DEFAULT_FILE;
use crate::terminal::note;

/// Write a commented tidegate.toml to start from
#[derive(Args, Debug)]
pub(crate) struct Init {
    /// Where to write it
    #[arg(default_value = DEFAULT_FILE, value_name = "FILE")]
    file: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

impl Init {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let shown = self.file.display();
        let mut options = OpenOptions::new();
        options.write(true);
        // Asked for in one step, so that a file that appears in between is not written over.
        if self.force {
            options.create(true).truncate(true);
        } else {
            options.create_new(true);
        }
        let mut file = match options.open(&self.file) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(Failure::usage(format_args!(
                    "{shown} exists; --force writes over it"
                )));
            }
            Err(error) => {
                return Err(Failure::environment(format_args!(
                    "cannot write {shown}: {error}"
                )));
            }
        };
        let written = file
            .write_all(config::EXAMPLE.as_bytes())
            .and_then(|()| file.sync_all());
        written.map_err(|error| Failure::environment(format_args!("cannot write {shown}: {error}")))?;
        note(format_args!("Wrote {shown}. Next:"));
        note("  1. Replace the example tools in it by your own: what each returns, what it may be given.");
        note(format_args!("  2. tidegate check {shown}"));
        note(format_args!("  3. tidegate serve --config {shown}"));
        Ok(())
    }
}
