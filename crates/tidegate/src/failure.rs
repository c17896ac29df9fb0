//! Why a command did not do what it was asked, and the exit code that says so.

use std::fmt;
use std::process::ExitCode;

/// A command that did not succeed. The message is for people; the kind is for scripts.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    No,
    Usage,
    Environment,
    PassedOn(u8),
}

impl Failure {
    /// The question was answered, and the answer is no: exit code 1.
    pub(crate) fn no(message: impl fmt::Display) -> Self {
        Self::new(Kind::No, message)
    }

    /// The command line or the configuration is wrong: exit code 2.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// A file, an address or the system failed: exit code 3.
    pub(crate) fn environment(message: impl fmt::Display) -> Self {
        Self::new(Kind::Environment, message)
    }

    /// A program that was run for somebody ended so; it has said why itself.
    pub(crate) fn passed_on(code: u8) -> Self {
        Self::new(Kind::PassedOn(code), "")
    }

    /// Whether there is something to say.
    pub(crate) const fn is_silent(&self) -> bool {
        self.message.is_empty()
    }

    /// The exit code.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(match self.kind {
            Kind::No => 1,
            Kind::Usage => 2,
            Kind::Environment => 3,
            Kind::PassedOn(code) => code,
        })
    }

    fn new(kind: Kind, message: impl fmt::Display) -> Self {
        Self {
            kind,
            message: message.to_string(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
