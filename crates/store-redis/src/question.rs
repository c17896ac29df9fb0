//! What is asked of one server.

use std::time::Duration;

use redis::{Cmd, Script, Value};
use tidegate_store::StoreError;

use crate::failure::{damaged, refused};

/// Commands, in this order. All of their keys are in one slot.
pub(crate) struct Question<'a> {
    pub(crate) commands: Vec<Cmd>,
    /// The script that the first one calls. A server that does not know it yet is told.
    pub(crate) script: Option<&'a Script>,
}

impl<'a> Question<'a> {
    pub(crate) fn of(commands: impl IntoIterator<Item = Cmd>) -> Self {
        Self {
            commands: commands.into_iter().collect(),
            script: None,
        }
    }

    pub(crate) fn call(script: &'a Script, keys: &[&str], args: &[&str]) -> Self {
        let mut call = redis::cmd("EVALSHA");
        call.arg(script.get_hash()).arg(keys.len()).arg(keys).arg(args);
        Self {
            commands: vec![call],
            script: Some(script),
        }
    }

    /// The same, and then a write of its own under `reads` that so many replicas are to have.
    ///
    /// A primary that was deposed does not know it; its replicas do. Only one that they still follow gets their word for a new
    /// write. And a change that too few of them got was refused: it must not come to count by being read, or made again,
    /// before they have it.
    pub(crate) fn proven(mut self, reads: &str, replicas: u32, timeout: Duration) -> Self {
        self.commands.push(Cmd::incr(reads, 1));
        let mut wait = redis::cmd("WAIT");
        wait.arg(replicas)
            .arg(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self.commands.push(wait);
        self
    }
}

/// Takes the proof off the answers to what was asked, and refuses one that is too weak.
pub(crate) fn believed(mut answers: Vec<Value>, replicas: u32) -> Result<Vec<Value>, StoreError> {
    let found = answers
        .pop()
        .and_then(|found| redis::from_redis_value(found).ok());
    let found: u32 = found.ok_or_else(damaged)?;
    if found < replicas {
        return Err(refused(
            "too few replicas of Redis have the change, so it does not count",
        ));
    }
    // How often something was proven tells nobody anything.
    answers.pop();
    Ok(answers)
}
