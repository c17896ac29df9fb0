//! Running programs in a sandbox: what `tidegate run` and the tool `run_command` share.
//!
//! The sandbox follows a flow; here the flow is made from a session's label and from what any destination may be given.

mod contain;
mod enter;
mod follow;
mod local;
mod named;
mod remote;
mod room;
mod run;
mod shell;
mod trust;
mod way;

pub(crate) use enter::{ENTER, Enter, HAND_OUT, HandOut};
pub(crate) use run::run;
pub(crate) use shell::SandboxShell;

use local::LocalSession;
use remote::RemoteSession;
use room::room;

/// The dataset that stands for what lies in the workspace.
const WORKSPACE: &str = "workspace";
