//! `tidegate mcp` as a client runs it.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::Place;

/// A gateway on standard streams.
pub(crate) struct StdioGateway {
    process: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    next: u64,
}

/// The file of what gateways in a place say on standard error.
pub(crate) const SAID: &str = "said-aside";

fn said_aside(place: &Place) -> File {
    File::options()
        .create(true)
        .append(true)
        .open(place.path(SAID))
        .unwrap()
}

impl StdioGateway {
    pub(crate) fn start(place: &Place, flags: &[&str]) -> Self {
        let mut process = place
            .command(&["mcp"])
            .args(flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(said_aside(place))
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self {
            process,
            input,
            lines,
            next: 0,
        }
    }

    /// Greets it.
    pub(crate) fn greet(&mut self) -> Value {
        let info = json!({"name": "t", "version": "1"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info});
        self.ask("initialize", &params)
    }

    /// Asks and gives the answer to that.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
        let answers = self.lines.by_ref();
        answers
            .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
            .find(|answer| answer["id"] == id)
            .expect("an answer")
    }

    /// Leaves, and waits until it has ended.
    pub(crate) fn leave(mut self) {
        self.input = None;
        self.process.wait().unwrap();
    }
}
