//! A gateway as an operator runs it: the binary, in a directory of its own, asked over HTTP.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use reqwest::blocking::Client;
use serde_json::Value;
use tempfile::TempDir;

use crate::steps::{cargo, root};

/// Builds the binary.
pub(super) fn build() -> Result<(), String> {
    cargo(&["build", "--quiet", "--package", "tidegate"], &[])
}

/// A gateway that serves, and a token each for the agent and for the program that takes the user's words.
pub(super) struct Gateway {
    process: Child,
    url: String,
    client: Client,
    agent: String,
    speaker: String,
    _directory: TempDir,
}

impl Gateway {
    /// Starts one on a configuration and waits until it listens.
    pub(super) fn start(config: &str) -> Result<Self, String> {
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = directory.path();
        std::fs::write(path.join("tidegate.toml"), config).map_err(|error| error.to_string())?;
        let command = |args: &[&str]| {
            let mut command = Command::new(binary());
            command.args(args).current_dir(path);
            command.env_clear().env("HOME", path);
            command
        };
        let mut process = command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "state"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("the gateway does not start: {error}"))?;
        let mut line = String::new();
        let read = process
            .stdout
            .take()
            .map(|stdout| BufReader::new(stdout).read_line(&mut line));
        let Some(url) = line.trim_end().strip_prefix("listening on ") else {
            let mut said = String::new();
            let _ = process
                .stderr
                .take()
                .map(|mut stderr| stderr.read_to_string(&mut said));
            return Err(format!("the gateway does not listen ({read:?}): {said}"));
        };
        // What it says from here on is read away, so that it never waits for a reader.
        if let Some(mut stderr) = process.stderr.take() {
            std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        }
        let token = |role: &str| -> Result<String, String> {
            let args = [
                "token",
                "create",
                "--role",
                role,
                "--principal",
                role,
                "--data-dir",
                "state",
            ];
            let made = command(&args).output().map_err(|error| error.to_string())?;
            let text = String::from_utf8_lossy(&made.stdout).trim().to_owned();
            if made.status.success() {
                Ok(text)
            } else {
                Err("a token cannot be made".to_owned())
            }
        };
        let client = Client::builder().no_proxy().build();
        Ok(Self {
            url: url.to_owned(),
            client: client.map_err(|error| error.to_string())?,
            agent: token("agent")?,
            speaker: token("connector")?,
            process,
            _directory: directory,
        })
    }

    /// Asks as the agent.
    pub(super) fn ask(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.post(&self.agent, path, body)
    }

    /// Says something as the program that takes the user's words.
    pub(super) fn speak(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.post(&self.speaker, path, body)
    }

    fn post(&self, token: &str, path: &str, body: &Value) -> Result<Value, String> {
        let request = self.client.post(format!("{}{path}", self.url));
        let answer = request.bearer_auth(token).json(body).send();
        let answer = answer.map_err(|error| format!("{path}: {error}"))?;
        let status = answer.status();
        let value: Value = answer.json().map_err(|error| format!("{path}: {error}"))?;
        if status.is_success() {
            Ok(value)
        } else {
            Err(format!("{path}: {status} {value}"))
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn binary() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.join("debug").join("tidegate")
}
