//! A gateway as an operator runs it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;

use super::{Place, tidegate};

/// A gateway in a process of its own. What it says is read all the time, so that it never waits for a reader.
pub(crate) struct Gateway {
    process: Child,
    pub(crate) url: String,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
}

impl Gateway {
    /// Starts one and waits for its only line on standard output.
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        Self::start_with(place, args, &[])
    }

    /// Starts one that is given these variables.
    pub(crate) fn start_with(place: &Place, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.args(args).envs(variables.iter().copied());
        Self::spawn(command)
    }

    /// The same with a command that was prepared.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = listen(process.stderr.take().unwrap());
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let url = line
            .trim_end()
            .strip_prefix("listening on ")
            .unwrap_or_else(|| panic!("{line:?}"))
            .to_owned();
        Self {
            process,
            url,
            stdout: listen(stdout),
            stderr,
        }
    }

    /// Sends and gives the status and the answer.
    pub(crate) fn send(&self, token: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let client = reqwest::blocking::Client::builder().no_proxy().build().unwrap();
        let url = format!("{}{path}", self.url);
        let request = match body {
            Some(body) => client.post(url).json(&body),
            None => client.get(url),
        };
        let answer = request.bearer_auth(token).send().unwrap();
        (answer.status().as_u16(), answer.json().unwrap())
    }

    /// Sends a signal, such as -STOP.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Asks it to stop and gives what it said on standard error.
    pub(crate) fn stop(self) -> String {
        self.stop_and_listen().1
    }

    /// Asks it to stop and gives what it said on standard output, after its first line, and on standard error.
    pub(crate) fn stop_and_listen(mut self) -> (String, String) {
        let pid = self.process.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(asked.success());
        let code = self.process.wait().unwrap().code();
        let said = (self.stdout.join().unwrap(), self.stderr.join().unwrap());
        assert_eq!(code, Some(0), "{}", said.1);
        said
    }

    /// Ends it without a word of warning.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.stdout.join().unwrap();
        self.stderr.join().unwrap();
    }
}

/// A token, as the command line makes it.
pub(crate) fn create_token(place: &Place, role: &str, principal: &str) -> String {
    let made = tidegate(
        place,
        &["token", "create", "--role", role, "--principal", principal],
    );
    assert_eq!(made.code, 0, "{}", made.stderr);
    let token = made.stdout.trim_end().to_owned();
    assert!(
        token.starts_with("tg_") && !token.contains(char::is_whitespace),
        "{token:?}"
    );
    token
}

fn listen(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut said = Vec::new();
        from.read_to_end(&mut said).unwrap();
        String::from_utf8_lossy(&said).into_owned()
    })
}
