//! `tidegate pins`: definitions of tools, prompts and resources as they were first seen, and those that changed since.

use clap::{Args, Subcommand};
use tidegate_gateway::mcp::Pins as Store;

use crate::failure::Failure;
use crate::source::Places;
use crate::terminal::{answer, note};

/// List and approve the definitions of MCP tools, prompts and resources
///
/// What a tool says of itself is remembered when it is first seen. If it says something else later, it is neither shown
/// nor called until a person approves it here. So are prompts and resources, named prompt:NAME and resource:ADDRESS.
#[derive(Args, Debug)]
pub(crate) struct Pins {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// List every tool with the digest of its definition
    List {
        /// Only those that wait for approval; exits with 1 when there are some
        #[arg(long)]
        held: bool,
        #[command(flatten)]
        places: Places,
    },
    /// Trust the new definition of a tool; exits with 1 when none waits
    Approve {
        /// The server
        server: String,
        /// The tool, as the server calls it; a prompt as prompt:NAME
        tool: String,
        #[command(flatten)]
        places: Places,
    },
}

impl Pins {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let store = |places: &Places| Ok::<_, Failure>(Store::in_directory(&places.data_dir()?));
        let failed = |error| Failure::environment(format_args!("the pins cannot be used: {error}"));
        match self.verb {
            Verb::List { held, places } => {
                let mut waiting = 0;
                for (server, tool, pin) in store(&places)?.list().map_err(failed)? {
                    waiting += usize::from(pin.held.is_some());
                    if held && pin.held.is_none() {
                        continue;
                    }
                    let state = if pin.held.is_some() { "held" } else { "trusted" };
                    let digest = pin.held.as_ref().unwrap_or(&pin.pinned);
                    answer(format_args!(
                        "{state:<8} {server} {} {digest}",
                        tool.escape_debug()
                    ))?;
                }
                if held && waiting > 0 {
                    return Err(Failure::no(format_args!("{waiting} wait for approval")));
                }
                Ok(())
            }
            Verb::Approve { server, tool, places } => {
                if !store(&places)?.approve(&server, &tool).map_err(failed)? {
                    return Err(Failure::no("no definition of that tool waits for approval"));
                }
                note("approved; sessions see it when they next list their tools");
                Ok(())
            }
        }
    }
}
