//! Running the real binary in a directory of its own.
#![allow(dead_code, reason = "each test file uses its own part")]

#[cfg(unix)]
pub(crate) mod gateway;
#[cfg(unix)]
pub(crate) mod stdio;

use std::path::PathBuf;
use std::process::{Command, Output};

/// A directory that goes away with the test.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// The binary, in this directory, knowing nothing of the user's own settings.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(args).current_dir(self.0.path());
        command.env_clear().env("HOME", self.0.path().join("home"));
        command
    }
}

/// What a finished run left.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs the binary to its end.
pub(crate) fn tidegate(place: &Place, args: &[&str]) -> Ran {
    place.command(args).output().unwrap().into()
}
