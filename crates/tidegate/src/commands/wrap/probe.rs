//! Starting the servers once, through the gateway itself, to see which tools they have.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::failure::Failure;

/// How long the servers may take together.
const PATIENCE: Duration = Duration::from_secs(60);

/// Every tool of the servers in a configuration, by the name the gateway gives it.
pub(super) fn tools(
    program: &Path,
    config: &Path,
    env: &BTreeMap<String, String>,
) -> Result<Vec<Value>, Failure> {
    let state = tempfile::tempdir().map_err(Failure::environment)?;
    let child = Command::new(program)
        .arg("mcp")
        .arg("--config")
        .arg(config)
        .arg("--data-dir")
        .arg(state.path())
        .envs(env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = Ended(child.map_err(Failure::environment)?);
    let (Some(mut input), Some(output)) = (child.0.stdin.take(), child.0.stdout.take()) else {
        return Err(Failure::environment("the gateway has no standard streams"));
    };
    let (lines, read) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    let greeting = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tidegate-wrap", "version": env!("CARGO_PKG_VERSION")},
    });
    let mut ask = |id: u64, method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{request}").map_err(Failure::environment)?;
        loop {
            let line = read.recv_timeout(PATIENCE).map_err(|_| {
                Failure::environment("the gateway gave no answer when its servers were started")
            })?;
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message.get("id") == Some(&json!(id)) {
                return Ok::<_, Failure>(message.get("result").cloned().unwrap_or_default());
            }
        }
    };
    ask(1, "initialize", greeting)?;
    let listed = ask(2, "tools/list", json!({}))?;
    let tools = listed
        .get("tools")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let is_own = |tool: &Value| {
        tool["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("tidegate_"))
    };
    Ok(tools.into_iter().filter(|tool| !is_own(tool)).collect())
}

/// A child that does not outlive its use.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        for _ in 0..50 {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
