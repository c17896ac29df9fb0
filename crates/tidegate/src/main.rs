//! The `tidegate` binary: raw configuration to checked configuration to wiring.

mod authority;
mod cli;
mod commands;
mod config;
#[cfg(target_os = "linux")]
mod confine;
mod connect;
mod console;
mod context;
mod descriptors;
mod egress;
mod failure;
mod gates;
mod model;
mod source;
mod state;
mod terminal;
mod vault;
mod wiring;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_silent() {
                terminal::note(format_args!("tidegate: {failure}"));
            }
            failure.code()
        }
    }
}
