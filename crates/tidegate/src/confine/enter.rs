//! The two steps of this binary that run inside. They are called by [`tidegate_sandbox`] and by nobody else.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use tidegate_sandbox::Limits;
use tidegate_sandbox::enter::{Entry, enter, hand_out};

use crate::failure::Failure;
use crate::terminal::note;

/// The word for entering a sandbox and becoming a program.
pub(crate) const ENTER: &str = "sandbox-enter";
/// The word for handing a socket out of a container's network.
pub(crate) const HAND_OUT: &str = "sandbox-hand-out";

/// Put up the walls and become a command
#[derive(Args, Debug)]
pub(crate) struct Enter {
    #[arg(long)]
    door: PathBuf,
    #[arg(long)]
    readable: Vec<PathBuf>,
    #[arg(long)]
    writable: Vec<PathBuf>,
    #[arg(long)]
    memory_bytes: Option<u64>,
    #[arg(long)]
    cpu_seconds: Option<u64>,
    #[arg(long)]
    file_bytes: Option<u64>,
    #[arg(long)]
    unix_sockets: bool,
    #[arg(last = true)]
    command: Vec<OsString>,
}

impl Enter {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let error = enter(Entry {
            door: self.door,
            readable: self.readable,
            writable: self.writable,
            limits: Limits {
                memory_bytes: self.memory_bytes,
                cpu_seconds: self.cpu_seconds,
                file_bytes: self.file_bytes,
            },
            unix_sockets: self.unix_sockets,
            command: self.command,
        });
        note(format_args!("tidegate: {error}"));
        Err(Failure::passed_on(error.code()))
    }
}

/// Make the proxy's socket in this network and hand it out
#[derive(Args, Debug)]
pub(crate) struct HandOut {
    #[arg(long)]
    door: PathBuf,
}

impl HandOut {
    pub(crate) fn run(self) -> Result<(), Failure> {
        hand_out(&self.door).map_err(Failure::environment)
    }
}
