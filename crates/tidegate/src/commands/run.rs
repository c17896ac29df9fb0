//! `tidegate run`: a command whose network follows its session's label.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use tidegate_core::Ident;
use url::Url;

use crate::failure::Failure;
use crate::source::Places;

/// Run a command, isolated, with the network that its session's label leaves it
///
/// The command sees the system's programs, its workspace and nothing else of this machine. Its only way out is the gateway's
/// proxy, and that closes at once, with every open connection, when the session's label rises above what any destination may
/// be given. Where that cannot be had nothing is run, and the exit code is 3; else it is the command's own.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tidegate run -- npm test
  tidegate run --workspace ~/projects/one -- python3 agent.py
  tidegate run --session sess_1234 -- sh           go on with a session, with the label it has
  TIDEGATE_TOKEN=... tidegate run --gateway http://127.0.0.1:7413 -- sh      a session of a running gateway
  tidegate run --image python:3.12 -- python3 agent.py
  tidegate run --container devbox -- make test     in a container that is there
  tidegate doctor                                  what this machine can isolate")]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "commands are isolated on Linux alone")
)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) places: Places,
    /// Go on with this session, with the label it has; one that is not there is opened [default: a new session]
    #[arg(long, value_name = "ID", value_parser = Ident::parse)]
    pub(crate) session: Option<Ident>,
    /// The running gateway that the session is of, with TIDEGATE_TOKEN as its token [default: the state of this machine]
    #[arg(long, value_name = "URL", env = "TIDEGATE_URL")]
    pub(crate) gateway: Option<Url>,
    /// The token for the gateway
    #[arg(long, value_name = "TOKEN", env = "TIDEGATE_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// The directory that the command works in, and may change [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Run the command in a new container of this image, without a network of its own
    #[arg(long, value_name = "IMAGE", conflicts_with = "container")]
    pub(crate) image: Option<String>,
    /// Run the command in this container; its network is taken from it when the label rises, its files are kept
    #[arg(long, value_name = "NAME")]
    pub(crate) container: Option<String>,
    /// The socket of the container engine [default: where Podman or Docker listens]
    #[arg(long, value_name = "PATH")]
    pub(crate) engine: Option<PathBuf>,
    /// Pass this variable on; can be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// Who a new session belongs to
    #[arg(long, value_name = "NAME", value_parser = Ident::parse, default_value = "local")]
    pub(crate) principal: Ident,
    /// Which agent it belongs to
    #[arg(long, value_name = "NAME", value_parser = Ident::parse, default_value = "run")]
    pub(crate) agent: Ident,
    /// Say nothing beside what the command says
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[cfg(target_os = "linux")]
impl Run {
    pub(crate) fn run(self) -> Result<(), Failure> {
        crate::confine::run(self)
    }
}

#[cfg(not(target_os = "linux"))]
impl Run {
    pub(crate) fn run(self) -> Result<(), Failure> {
        Err(Failure::environment(
            "nothing was run: commands are isolated by namespaces of Linux, which this system does not have",
        ))
    }
}
