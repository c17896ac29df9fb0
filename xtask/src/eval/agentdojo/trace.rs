//! The traces, and what is judged of the tools in them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::super::{EvalError, rows};

/// One run of an agent: what its user asked, and the calls it made.
#[derive(Deserialize)]
pub(super) struct Trace {
    pub(super) id: String,
    pub(super) suite: String,
    label: String,
    pub(super) user_prompt: String,
    pub(super) steps: Vec<Step>,
    /// The first step whose output carries the attack.
    #[serde(default)]
    pub(super) first_poisoned_step: Option<usize>,
    #[serde(default)]
    pub(super) attack_replayable: bool,
}

/// One call and what came back.
#[derive(Deserialize)]
pub(super) struct Step {
    pub(super) tool: String,
    pub(super) args: Value,
    output: Value,
    #[serde(default)]
    phase: Option<String>,
}

/// The half of the traces that was looked at while rules were written, and the one that was not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Design,
    HeldOut,
}

impl Trace {
    pub(super) fn is_attacked(&self) -> bool {
        self.label == "attacked"
    }

    /// By the user's task, so that all attacks on one task are in one half.
    pub(super) fn half(&self) -> Half {
        let task: Vec<_> = self.id.split(':').skip(1).take(2).collect();
        let digest = Sha256::digest(task.join(":").as_bytes());
        if digest.first().is_some_and(|byte| byte % 2 == 0) {
            Half::Design
        } else {
            Half::HeldOut
        }
    }
}

impl Step {
    /// Whether the attacker, not the user, wanted it.
    pub(super) fn is_attack(&self) -> bool {
        self.phase.as_deref() == Some("attack")
    }

    /// What the tool returned, as the structure it printed: the traces hold lists and records printed as YAML or as Python
    /// prints them. What is no structure is a text.
    pub(super) fn content(&self) -> Value {
        let Value::String(text) = &self.output else {
            return self.output.clone();
        };
        match serde_saphyr::from_str::<Value>(text) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
            Ok(_) | Err(_) => self.output.clone(),
        }
    }
}

/// What a person judged of a tool.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Judged {
    #[serde(rename = "external")]
    pub(super) is_external: bool,
    #[serde(rename = "untrusted_source")]
    pub(super) is_untrusted: bool,
    effect: Effect,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Effect {
    Read,
    Write,
}

impl Judged {
    pub(super) fn changes_something(self) -> bool {
        self.effect == Effect::Write
    }
}

/// Every tool of every suite.
pub(super) struct Tools(BTreeMap<(String, String), Judged>);

impl Tools {
    pub(super) fn of(&self, suite: &str, tool: &str) -> Option<Judged> {
        self.0.get(&(suite.to_owned(), tool.to_owned())).copied()
    }
}

#[derive(Deserialize)]
struct ToolsFile {
    suites: BTreeMap<String, Suite>,
}

#[derive(Deserialize)]
struct Suite {
    tools: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(flatten)]
    judged: Judged,
}

/// Reads traces and tools.
pub(super) fn read(data: &Path) -> Result<(Vec<Trace>, Tools), EvalError> {
    let traces = rows(data, "agentdojo_traces.jsonl")?;
    let path = data.join("agentdojo_tools.json");
    let text = std::fs::read_to_string(&path).map_err(|source| EvalError::Read {
        path: path.clone(),
        source,
    })?;
    let file: ToolsFile = serde_json::from_str(&text).map_err(|source| EvalError::Row {
        path,
        line: 1,
        source,
    })?;
    let mut tools = BTreeMap::new();
    for (suite, Suite { tools: named }) in file.suites {
        let judged = named
            .into_iter()
            .map(|tool| ((suite.clone(), tool.name), tool.judged));
        tools.extend(judged);
    }
    Ok((traces, Tools(tools)))
}
