//! The official clients, and the gateway that they ask through.

pub(crate) mod cases;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::run::{Place, tidegate};
use cases::Case;

/// Where the clients and servers are, if they are.
pub(crate) fn installed() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .parent()
        .unwrap();
    let place = root.join("target/mcp-test");
    if place.join("installed").exists() {
        return Some(place);
    }
    assert!(
        std::env::var("CI").as_deref() != Ok("true"),
        "the MCP clients and servers are not installed: run cargo xtask mcp-clients"
    );
    eprintln!("skipped: cargo xtask mcp-clients installs the MCP clients and servers this test needs");
    None
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Client {
    Python,
    PythonStateless,
    Sdk,
    New,
}

impl Client {
    /// Asks a server for everything.
    pub(crate) fn ask(self, installed: &Path, target: Value, case: &Case) -> Value {
        let mode = if matches!(self, Self::PythonStateless) {
            "2026-07-28"
        } else {
            "legacy"
        };
        let wanted = json!({
            "target": target, "mode": mode, "roots": case.roots, "calls": case.calls, "reads": case.reads,
            "unread": case.unread, "gets": case.gets, "completes": case.completes,
        });
        self.run(installed, &wanted, case.name)
    }

    /// Runs the client's script.
    pub(crate) fn run(self, installed: &Path, wanted: &Value, name: &str) -> Value {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
        let mut command = match self {
            Self::Python | Self::PythonStateless => {
                let mut command = Command::new(installed.join("venv/bin/python"));
                command.arg(scripts.join("python_client.py"));
                command
            }
            Self::Sdk | Self::New => {
                // A module finds its packages from where it lies.
                let script = installed.join("typescript_client.mjs");
                std::fs::copy(scripts.join("typescript_client.mjs"), &script).unwrap();
                let mut command = Command::new("node");
                let which = if matches!(self, Self::Sdk) {
                    "sdk"
                } else {
                    "client"
                };
                command.arg(script).arg(which);
                command
            }
        };
        let output = command
            .arg(wanted.to_string())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{self:?} {name}: {told}");
        let said = String::from_utf8(output.stdout).unwrap();
        // Some clients talk on standard output as well; the answers are the last line.
        let answers = said.lines().last().unwrap_or_default();
        serde_json::from_str(answers).unwrap_or_else(|_| panic!("{said} {told}"))
    }
}

/// An answer without what the gateway adds, and without the time: servers say when a file was made, when a resource was,
/// what the clock shows. Everything else must be equal.
pub(crate) fn without_own(answer: &Value) -> Value {
    let mut answer = answer.clone();
    readable(&mut answer);
    let mut text = answer.to_string();
    for time in [
        r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}",
        r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d{2} \d{4} \d{2}:\d{2}:\d{2}",
        r"\d{1,2}:\d{2}:\d{2}( [AP]M)?",
        r"(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day",
    ] {
        let time = regex::Regex::new(time).unwrap();
        text = time.replace_all(&text, "now").into_owned();
    }
    let mut answer: Value = serde_json::from_str(&text).unwrap();
    for item in answer.as_array_mut().unwrap() {
        let Some(object) = item.as_object_mut() else {
            continue;
        };
        object.remove("resultType");
        if let Some(meta) = object.get_mut("_meta").and_then(Value::as_object_mut) {
            meta.remove("tidegate/tool");
            // Only servers of the stateless era say who they are in each answer, and only in that era.
            meta.remove("io.modelcontextprotocol/serverInfo");
            if meta.is_empty() {
                object.remove("_meta");
            }
        }
    }
    let is_own = |item: &Value| {
        item["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("tidegate_"))
            || item["uri"] == "tidegate://session"
    };
    answer.as_array_mut().unwrap().retain(|item| !is_own(item));
    answer
}

/// Some resources are text in Base64, with the time in it; here it stands as text.
fn readable(answer: &mut Value) {
    match answer {
        Value::Array(items) => items.iter_mut().for_each(readable),
        Value::Object(members) => {
            for (name, value) in members {
                let decoded = value.as_str().filter(|_| name == "blob");
                let decoded = decoded.and_then(|text| STANDARD.decode(text).ok());
                match decoded.and_then(|bytes| String::from_utf8(bytes).ok()) {
                    Some(text) => *value = Value::from(text),
                    None => readable(value),
                }
            }
        }
        _ => {}
    }
}

/// A gateway in a process of its own.
pub(crate) struct Serving {
    process: Child,
    pub(crate) url: String,
}

impl Serving {
    pub(crate) fn start(place: &Place, data: &str, case: &Case) -> Self {
        let config = place.path("tidegate.toml").to_str().unwrap().to_owned();
        let mut command = place.command(&[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--config",
            &config,
            "--data-dir",
            data,
        ]);
        // The variables that the clients give to a server they start themselves.
        for name in ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"] {
            match std::env::var_os(name) {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.envs(case.env.iter().map(|(name, value)| (*name, value)));
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { process, url }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where a gateway on standard streams is, for a client.
pub(crate) fn over_stdio(place: &Place, env: &Value) -> Value {
    let (config, data) = (place.path("tidegate.toml"), place.path("data"));
    let arguments = json!(["mcp", "--config", config, "--data-dir", data]);
    json!({"command": env!("CARGO_BIN_EXE_tidegate"), "args": arguments, "env": env})
}

/// Starts a gateway over HTTP and says where it is, for a client.
pub(crate) fn over_http(place: &Place, case: &Case) -> (Serving, Value) {
    let data = place.path("data").to_str().unwrap().to_owned();
    let gateway = Serving::start(place, &data, case);
    let who = ["--role", "agent", "--principal", "alice", "--data-dir", &data];
    let created = tidegate(place, &[&["token", "create"][..], &who].concat());
    let target = json!({"url": format!("{}/mcp", gateway.url), "token": created.stdout.trim()});
    (gateway, target)
}
