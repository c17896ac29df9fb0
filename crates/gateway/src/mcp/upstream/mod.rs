//! The servers behind the gateway: how one is reached, and one conversation with it.

mod aside;
mod call;
mod client;
mod connection;
mod http;
mod late;
mod lines;
mod link;
mod sse;
mod stdio;

use std::path::PathBuf;
use std::time::Duration;

use tidegate_core::Ident;

pub(crate) use call::Call;
pub(crate) use connection::{AtWork, Connection, Incoming, Read};
pub(crate) use link::{Hello, Link};

/// A server behind the gateway, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// What it is called.
    pub name: Ident,
    /// Whether its tools and prompts keep their own names; otherwise each is `name.tool`, to clients and in the control
    /// list alike.
    pub bare_names: bool,
    /// How it is reached.
    pub reach: Reach,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A child process that speaks on its standard streams.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// The variables it is given, by name.
        env: Vec<String>,
    },
    /// A server that is running.
    Url {
        /// Where.
        url: String,
        /// Headers, each with the name of the variable that holds its value.
        headers_env: Vec<(String, String)>,
        /// The authorities whose certificates are trusted, instead of those that browsers trust.
        ca_file: Option<PathBuf>,
    },
}

/// How much a server may ask of the gateway.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The largest message, in bytes.
    pub(crate) message_bytes: usize,
    /// How long a start may take, greeting included.
    pub(crate) start_timeout: Duration,
    /// How long a call may go without a sign of life.
    pub(crate) call_timeout: Duration,
}

/// Why a server gave no answer. The words are for an agent; none of them comes from the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UpstreamError {
    #[error("the server cannot be started or reached: {0}")]
    Unreachable(&'static str),
    #[error("the variable {0} that the server needs is not set")]
    NoVariable(String),
    #[error("the server failed and is being left alone for another {} ms", .0.as_millis())]
    Resting(Duration),
    #[error("the server went away before it answered")]
    Gone,
    #[error("the server did not answer in time")]
    TimedOut,
    #[error("the server sent more than the gateway takes")]
    TooLarge,
    #[error("the server refused the connection with status {0}")]
    Status(u16),
    #[error("the server does not speak a version of the protocol that the gateway knows")]
    Version,
    #[error("the request was taken back")]
    TakenBack,
    #[error("the client went away")]
    Left,
    #[error("no call waits for this input")]
    Unasked,
    #[error("too many calls to the server are under way")]
    Busy,
}
