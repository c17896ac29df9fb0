//! A shell for agents: the tool `run_command`, judged and let in like any tool.
//!
//! The gateway knows no sandbox. It is given something that runs commands, which promises isolation and a network that follows
//! the session's label, and does here what every tool gets: the call is decided before it is made, and what comes back is let
//! in before it is shown. One thing is different: what a shell was given or has shown lies in its workspace in the clear. So
//! the session is labelled with it even where the agent itself sees stubs.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tidegate_core::{Cleared, Ident};
use tidegate_engine::Caller;

use super::object::Object;

/// The tool's name.
pub const RUN_COMMAND: &str = "run_command";

/// The longest command, in bytes.
const MOST_COMMAND_BYTES: usize = 64 << 10;

/// Something that runs commands, isolated, with the network that a session's label leaves them.
#[async_trait]
pub trait Shell: Send + Sync {
    /// Runs a command to its end. Dropping the future ends it.
    ///
    /// # Errors
    /// When it was not run.
    async fn run(&self, wanted: Cleared<Wanted>) -> Result<Ran, NotRun>;
}

/// A command to be run.
#[derive(Clone)]
pub struct Wanted {
    /// Who asks.
    pub caller: Caller,
    /// In which session.
    pub session: Ident,
    /// What the shell is told.
    pub command: String,
    /// Where in the workspace.
    pub directory: Option<String>,
    /// How long it may take, if less than it may at most.
    pub timeout: Option<Duration>,
}

/// A command that ran.
#[derive(Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended, where it ended by itself.
    pub exit_code: Option<i32>,
    /// What it said.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
    /// Whether some of that is left out.
    pub truncated: bool,
    /// Why it was ended, where it was.
    pub ended: Option<String>,
    /// Whether it had any network.
    pub network: bool,
}

/// A command that was not run.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct NotRun {
    /// Why not, in words for an agent.
    pub reason: String,
    /// Whether the same may pass later.
    pub retryable: bool,
}

/// The tool as it is listed.
pub(super) fn tool() -> Object {
    Object::default()
        .with("name", RUN_COMMAND)
        .with("title", "Run a command")
        .with(
            "description",
            "Runs a shell command in an isolated workspace and gives its output. It has bounded time, memory and output. Its \
             network goes through a proxy that knows this session's label: once the session holds private data, nothing \
             leaves. Files in the workspace stay.",
        )
        .with(
            "inputSchema",
            json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "maxLength": MOST_COMMAND_BYTES, "description": "for sh -c"},
                    "directory": {"type": "string", "description": "below the workspace; left out: the workspace"},
                    "timeout_ms": {"type": "integer", "minimum": 1},
                },
                "required": ["command"],
            }),
        )
        .with(
            "annotations",
            json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true, "idempotentHint": false}),
        )
}

/// What an agent asked for, if it is a command.
pub(super) fn wanted(caller: &Caller, session: &Ident, arguments: &Value) -> Option<Wanted> {
    let command = arguments.get("command")?.as_str()?;
    let timeout = match arguments.get("timeout_ms") {
        Some(millis) => Some(Duration::from_millis(millis.as_u64()?)),
        None => None,
    };
    let directory = match arguments.get("directory") {
        Some(directory) => Some(directory.as_str()?.to_owned()),
        None => None,
    };
    let is_command = !command.is_empty() && command.len() <= MOST_COMMAND_BYTES && !command.contains('\0');
    is_command.then(|| Wanted {
        caller: caller.clone(),
        session: session.clone(),
        command: command.to_owned(),
        directory,
        timeout,
    })
}

/// A command that ran, as a tool's result.
pub(super) fn result(ran: &Ran) -> Value {
    let mut last = match (ran.exit_code, &ran.ended) {
        (_, Some(why)) => format!("ended before it was done: {why}"),
        (Some(code), None) => format!("exit code {code}"),
        (None, None) => "ended".to_owned(),
    };
    if ran.truncated {
        last.push_str("; the output was longer than is shown");
    }
    if !ran.network {
        last.push_str("; it had no network, because of what this session holds");
    }
    let texts = [&ran.stdout, &ran.stderr]
        .into_iter()
        .filter(|text| !text.is_empty());
    let content: Vec<_> = texts
        .chain([&last])
        .map(|text| json!({"type": "text", "text": text}))
        .collect();
    json!({"content": content, "isError": ran.exit_code != Some(0)})
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::Role;

    #[test]
    fn only_a_command_is_one() {
        let ident = |text| Ident::parse(text).unwrap();
        let caller = Caller {
            principal: ident("alice"),
            agent: None,
            role: Role::Agent,
            token_id: ident("tok"),
        };
        for (arguments, is_command) in [
            (json!({"command": "ls"}), true),
            (
                json!({"command": "ls", "timeout_ms": 5, "directory": "src"}),
                true,
            ),
            (json!({"command": ""}), false),
            (json!({"command": ["ls"]}), false),
            (json!({"command": "a\u{0}b"}), false),
            (json!({"command": "ls", "timeout_ms": "soon"}), false),
            (json!({"command": "x".repeat(MOST_COMMAND_BYTES + 1)}), false),
            (json!({}), false),
            (Value::Null, false),
        ] {
            let found = wanted(&caller, &ident("s"), &arguments).is_some();
            assert_eq!(found, is_command, "{arguments}");
        }
    }
}
