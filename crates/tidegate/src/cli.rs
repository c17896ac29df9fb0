//! The command line.

use clap::{Parser, Subcommand};

use crate::commands::{
    check, completions, demo, doctor, egress, evidence, explain, fga, gates, init, ledger, mcp, pdf_text,
    pins, reviews, run, scan, serve, session, token, wrap,
};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  tidegate demo                                     see it work, nothing to set up
  tidegate serve                                    run a gateway on this machine
  tidegate wrap --client claude-code                put it in front of a client's MCP servers
  tidegate init && tidegate check tidegate.toml     write a configuration of your own and check it
  tidegate token create --role agent --principal alice --agent assistant
  tidegate session show sess_1234                   what a session has seen
  tidegate run -- make test                         run a command whose network follows its session's label
  tidegate scan notes.txt                           what the detectors find in a file
  tidegate ledger verify                            whether the record is what was written

Exit codes: 0 done, 1 the answer is no, 2 bad usage or configuration, 3 the environment failed.";

/// A gateway between AI agents and their tools that keeps data from leaking.
///
/// Tidegate labels each agent session with the highest class of data that has entered it (public, internal,
/// confidential, pii, secret). The label never falls by itself, and a tool call passes only if neither the label nor the
/// call's own arguments are above what the tool may be given.
#[derive(Parser, Debug)]
#[command(name = "tidegate", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Serve(serve::Serve),
    Mcp(mcp::Mcp),
    Wrap(wrap::Wrap),
    Unwrap(wrap::Unwrap),
    Run(run::Run),
    Doctor(doctor::Doctor),
    Demo(demo::Demo),
    Init(init::Init),
    Check(check::Check),
    Token(token::Token),
    Pins(pins::Pins),
    Session(session::Session),
    Gates(gates::Gates),
    Reviews(reviews::Reviews),
    Scan(scan::Scan),
    Explain(explain::Explain),
    Ledger(ledger::Ledger),
    Evidence(evidence::Evidence),
    Egress(egress::Egress),
    Fga(fga::Fga),
    Completions(completions::Completions),
    #[command(hide = true)]
    PdfText(pdf_text::PdfText),
    #[cfg(target_os = "linux")]
    #[command(name = crate::confine::ENTER, hide = true)]
    SandboxEnter(crate::confine::Enter),
    #[cfg(target_os = "linux")]
    #[command(name = crate::confine::HAND_OUT, hide = true)]
    SandboxHandOut(crate::confine::HandOut),
}

impl Cli {
    /// Does what was asked.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Serve(command) => command.run(),
            Command::Mcp(command) => command.run(),
            Command::Wrap(command) => command.run(),
            Command::Unwrap(command) => command.run(),
            Command::Pins(command) => command.run(),
            Command::Run(command) => command.run(),
            Command::Doctor(command) => command.run(),
            Command::Demo(command) => command.run(),
            Command::Init(command) => command.run(),
            Command::Check(command) => command.run(),
            Command::Token(command) => command.run(),
            Command::Session(command) => command.run(),
            Command::Gates(command) => command.run(),
            Command::Reviews(command) => command.run(),
            Command::Scan(command) => command.run(),
            Command::Explain(command) => command.run(),
            Command::Ledger(command) => command.run(),
            Command::Evidence(command) => command.run(),
            Command::Egress(command) => command.run(),
            Command::Fga(command) => command.run(),
            Command::Completions(command) => command.run(),
            Command::PdfText(command) => command.run(),
            #[cfg(target_os = "linux")]
            Command::SandboxEnter(command) => command.run(),
            #[cfg(target_os = "linux")]
            Command::SandboxHandOut(command) => command.run(),
        }
    }
}
