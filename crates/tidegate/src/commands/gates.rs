//! `tidegate gates`: what waits for a person, at a running gateway.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use url::Url;

use super::answer_now;
use super::remote::{token_of, unanswered};
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

#[derive(Args, Debug)]
struct Asking {
    /// The gateway's address
    #[arg(
        long,
        value_name = "URL",
        env = "TIDEGATE_URL",
        default_value = "http://127.0.0.1:7413"
    )]
    gateway: Url,
    /// The token to ask with
    #[arg(long, env = "TIDEGATE_TOKEN", hide_env_values = true)]
    token: Option<String>,
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
    let mut asked = Asking {
        gateway: asking.gateway.clone(),
        token: asking.token.clone(),
    };
    asked
        .gateway
        .query_pairs_mut()
        .clear()
        .append_pair("state", state)
        .append_pair("limit", "200");
    let page = asked.ask(&["v1", "gates"], None)?;
    let gates = page.get("gates").and_then(Value::as_array);
    let gates = gates.map(Vec::as_slice).unwrap_or_default();
    for gate in gates {
        // What a client named is shown so that a terminal does nothing with it.
        let field = |name: &str| {
            let text = gate.get(name).and_then(Value::as_str).unwrap_or("-");
            text.escape_debug().to_string()
        };
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

impl Asking {
    /// Asks, and gives the answer.
    fn ask(&self, path: &[&str], body: Option<Value>) -> Result<Value, Failure> {
        let mut url = self.gateway.clone();
        // Each part by itself, so that an id cannot lead elsewhere.
        match url.path_segments_mut() {
            Ok(mut segments) => {
                segments.pop_if_empty().extend(path);
            }
            Err(()) => return Err(Failure::usage("the gateway's address cannot be one")),
        }
        answer_now(send(url, token_of(self.token.as_deref())?, body))?
    }
}

async fn send(url: Url, token: &str, body: Option<Value>) -> Result<Value, Failure> {
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .map_err(Failure::environment)?;
    let request = match &body {
        Some(body) => client.post(url.clone()).json(body),
        None => client.get(url.clone()),
    };
    let response = request
        .bearer_auth(token)
        .send()
        .await
        .map_err(|error| unanswered(&url, &error))?;
    let status = response.status();
    let document: Value = response.json().await.unwrap_or_default();
    if status.is_success() {
        return Ok(document);
    }
    let detail = document.get("detail").and_then(Value::as_str);
    let message = format!(
        "the gateway refused ({status}): {}",
        detail.unwrap_or("no reason was given")
    );
    Err(match status.is_server_error() {
        true => Failure::environment(message),
        false => Failure::no(message),
    })
}
