//! `tidegate gates`: what waits for a person, at a running gateway.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::asking::{Asking, field};
use crate::failure::Failure;
use crate::terminal::{answer, note};

/// See and decide what waits for a person
///
/// It asks a running gateway, with a token of a human-operator, a pii-authorized-reviewer or an administrator. Nobody approves
/// their own: use a principal other than the agent's.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tidegate gates list
  tidegate gates show gate_1234
  tidegate gates approve gate_1234 --reason \"the guest asked for it\"
  tidegate gates deny gate_1234 --reason \"wrong address\"")]
pub(crate) struct Gates {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// List what waits, longest waiting first; exits with 1 when nothing does
    List {
        /// open, decided or all
        #[arg(long, default_value = "open")]
        state: String,
        #[command(flatten)]
        asking: Asking,
    },
    /// Show one gate, redacted to the token's role
    Show {
        /// The gate
        id: String,
        #[command(flatten)]
        asking: Asking,
    },
    /// Release what a gate is about, once
    Approve {
        /// The gate
        id: String,
        /// Why, without values
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        asking: Asking,
    },
    /// Refuse it
    Deny {
        /// The gate
        id: String,
        /// Why, without values
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        asking: Asking,
    },
}

impl Gates {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.verb {
            Verb::List { state, asking } => list(&asking, &state),
            Verb::Show { id, asking } => {
                let gate = asking.ask(&["v1", "gates", &id], None)?;
                let text = serde_json::to_string_pretty(&gate).map_err(Failure::environment)?;
                answer(text)
            }
            Verb::Approve { id, reason, asking } => decide(&asking, &id, "approve", &reason),
            Verb::Deny { id, reason, asking } => decide(&asking, &id, "deny", &reason),
        }
    }
}

fn list(asking: &Asking, state: &str) -> Result<(), Failure> {
    let page = asking.page(&["v1", "gates"], state)?;
    let gates = page.get("gates").and_then(Value::as_array);
    let gates = gates.map(Vec::as_slice).unwrap_or_default();
    for gate in gates {
        let field = |name: &str| field(gate, name);
        answer(format_args!(
            "{} {:<8} {:<14} {:<12} {} {} {}",
            field("gate_id"),
            field("state"),
            field("kind"),
            field("class"),
            field("user"),
            field("agent"),
            field("tool")
        ))?;
    }
    if page.get("next").is_some_and(Value::is_string) {
        note("there are more");
    }
    if gates.is_empty() {
        return Err(Failure::no("nothing waits for a person"));
    }
    Ok(())
}

fn decide(asking: &Asking, id: &str, decision: &str, reason: &str) -> Result<(), Failure> {
    let body = json!({"decision": decision, "reason": reason});
    let gate = asking.ask(&["v1", "gates", id, "decision"], Some(body))?;
    let state = gate.get("state").and_then(Value::as_str).unwrap_or_default();
    if decision == "approve" && state == "open" {
        note("noted; it needs one more person");
        return Ok(());
    }
    note(state);
    Ok(())
}
