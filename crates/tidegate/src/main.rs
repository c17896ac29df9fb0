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

/// A call takes a few hundred small pieces of memory and gives them back, often on another thread; the system's own way of
/// keeping them is a good part of what such a call costs.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
