//! The last step before the program: this runs inside, in the namespaces that bubblewrap made, and becomes the program.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Limits;
use crate::door::Inner;
use crate::walls::{self, CallsError, FilesError, LimitsError};

/// What is to be done inside.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Where the door is.
    pub door: PathBuf,
    /// What may be read.
    pub readable: Vec<PathBuf>,
    /// What may also be written.
    pub writable: Vec<PathBuf>,
    /// The bounds of each process.
    pub limits: Limits,
    /// Whether unix sockets may be made.
    pub unix_sockets: bool,
    /// The program and its arguments.
    pub command: Vec<OsString>,
}

/// Why the program did not begin.
#[derive(Debug, thiserror::Error)]
pub enum EnterError {
    /// There is nothing to run.
    #[error("no command was given")]
    NoCommand,
    /// What was inherited cannot be closed.
    #[error("it cannot be told which files were left open for the command: {0}")]
    Inherited(io::Error),
    /// The socket could not be handed out.
    #[error("the way out cannot be handed out: {0}")]
    Door(#[from] io::Error),
    /// Resources are not bounded.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// Files are not confined.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// System calls are not filtered.
    #[error(transparent)]
    Calls(#[from] CallsError),
    /// The program is not there or cannot be run.
    #[error("cannot run the command: {0}")]
    Command(io::Error),
}

impl EnterError {
    /// The exit code that shells use for it.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Command(error) if error.kind() == io::ErrorKind::NotFound => 127,
            Self::Command(_) => 126,
            _ => 3,
        }
    }
}

/// Puts up the walls, hands out the socket, and becomes the program. It comes back only when that fails.
#[must_use]
pub fn enter(entry: Entry) -> EnterError {
    match prepare(entry) {
        Ok(mut command) => EnterError::Command(command.exec()),
        Err(error) => error,
    }
}

/// Makes the socket in the network that this process is in, and hands it out.
///
/// # Errors
/// When it cannot be made, or nobody takes it.
pub fn hand_out(door: &Path) -> Result<(), EnterError> {
    Ok(Inner::at(door)?.hand_out(0)?)
}

fn prepare(entry: Entry) -> Result<Command, EnterError> {
    close_inherited().map_err(EnterError::Inherited)?;
    let (program, arguments) = entry.command.split_first().ok_or(EnterError::NoCommand)?;
    let mut command = Command::new(program);
    command.args(arguments);
    let inner = Inner::at(&entry.door)?;
    let landlock = walls::allow_files(&entry.readable, &entry.writable)?;
    let landlock = landlock.map_or(0, |version| u8::try_from(version).unwrap_or(u8::MAX));
    walls::allow_calls(entry.unix_sockets)?;
    inner.hand_out(landlock)?;
    // Last, because a bound on memory may be less than this process itself holds.
    walls::set_limits(entry.limits)?;
    Ok(command)
}

/// Whatever somebody left open for this process, a socket perhaps, is not for the program.
fn close_inherited() -> io::Result<()> {
    let open: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd > 2)
        .collect();
    for fd in open {
        // The one that listed them is closed already.
        let _ = nix::unistd::close(fd);
    }
    Ok(())
}
