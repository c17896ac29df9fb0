//! The official clients, through the gateway, to the official servers: everything is as when asked directly.
//!
//! `cargo xtask test` installs the clients and servers into target/mcp-test. Without them the test says that it was
//! skipped, except where CI=true, where it fails.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test stops at the first surprise, and says when it was skipped"
)]

mod run;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use run::{Place, tidegate};
use serde_json::{Value, json};

/// Where the clients and servers are, if they are.
fn installed() -> Option<PathBuf> {
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
enum Client {
    Python,
    PythonStateless,
    Sdk,
    New,
}

/// A server, and everything that is asked of it.
struct Case {
    name: &'static str,
    command: String,
    args: Vec<String>,
    /// Variables that it needs.
    env: Vec<(&'static str, String)>,
    calls: Value,
    reads: Value,
    gets: Value,
}

impl Client {
    /// Asks a server for everything.
    fn ask(self, installed: &Path, target: Value, case: &Case) -> Value {
        let mode = if matches!(self, Self::PythonStateless) {
            "2026-07-28"
        } else {
            "legacy"
        };
        let wanted = json!({
            "target": target, "mode": mode, "calls": case.calls, "reads": case.reads, "gets": case.gets,
        });
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
        assert!(output.status.success(), "{self:?} {}: {told}", case.name);
        let said = String::from_utf8(output.stdout).unwrap();
        // Some clients talk on standard output as well; the answers are the last line.
        let answers = said.lines().last().unwrap_or_default();
        serde_json::from_str(answers).unwrap_or_else(|_| panic!("{said} {told}"))
    }
}

/// Asks directly, then through the gateway on standard streams and over HTTP, and compares.
fn check(client: Client, make: fn(&Path, &Path) -> Case) {
    let Some(installed) = installed() else { return };
    let place = Place::new();
    let work = place.path("work");
    let case = make(&installed, &work);
    let env: serde_json::Map<_, _> = case
        .env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect();
    let direct = json!({"command": case.command, "args": case.args, "env": env});
    let base = if matches!(client, Client::PythonStateless) {
        Client::Python
    } else {
        client
    };
    let expected = base.ask(&installed, direct, &case);
    place.write("tidegate.toml", &configuration(&case, &expected));

    let case = make(&installed, &work);
    let data = place.path("data");
    let arguments = json!(["mcp", "--config", place.path("tidegate.toml"), "--data-dir", data]);
    let through = json!({"command": env!("CARGO_BIN_EXE_tidegate"), "args": arguments, "env": env});
    compare(
        &client.ask(&installed, through, &case),
        &expected,
        client,
        &case,
        "stdio",
    );

    let case = make(&installed, &work);
    let data = place.path("data").to_str().unwrap().to_owned();
    let gateway = Serving::start(&place, &data, &case);
    let created = tidegate(
        &place,
        &[
            "token",
            "create",
            "--role",
            "agent",
            "--principal",
            "alice",
            "--data-dir",
            &data,
        ],
    );
    let through = json!({"url": format!("{}/mcp", gateway.url), "token": created.stdout.trim()});
    compare(
        &client.ask(&installed, through, &case),
        &expected,
        client,
        &case,
        "http",
    );
}

/// Everything the server has, declared harmless, so that nothing is closed.
fn configuration(case: &Case, said: &Value) -> String {
    let env: Vec<_> = case.env.iter().map(|(name, _)| *name).collect();
    let mut text = format!(
        "[servers.{}]\nbare_names = true\ncommand = {:?}\nargs = {:?}\nenv = {env:?}\n",
        case.name, case.command, case.args
    );
    for tool in said["tools"].as_array().unwrap() {
        text.push_str(&format!("[tools.{}]\nreturns = \"public\"\n", tool["name"]));
    }
    for surface in ["resources", "prompts", "completion", "logging", "other", "roots"] {
        text.push_str(&format!(
            "[tools.\"{}:{surface}\"]\nreturns = \"public\"\n",
            case.name
        ));
    }
    text
}

fn compare(through: &Value, direct: &Value, client: Client, case: &Case, wire: &str) {
    for part in [
        "tools",
        "resources",
        "templates",
        "prompts",
        "calls",
        "reads",
        "gets",
    ] {
        let (got, wanted) = (without_own(&through[part]), without_own(&direct[part]));
        assert_eq!(got, wanted, "{part} of {} with {client:?} over {wire}", case.name);
    }
    assert!(direct["calls"].as_array().unwrap().len() == case.calls.as_array().unwrap().len());
}

/// An answer without what the gateway adds, and without the time of day.
fn without_own(answer: &Value) -> Value {
    let clock = regex::Regex::new(r"\d{1,2}:\d{2}:\d{2}").unwrap();
    let text = answer.to_string();
    let mut answer: Value = serde_json::from_str(&clock.replace_all(&text, "now")).unwrap();
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

/// A gateway in a process of its own.
struct Serving {
    process: Child,
    url: String,
}

impl Serving {
    fn start(place: &Place, data: &str, case: &Case) -> Self {
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
        command.env("PATH", std::env::var_os("PATH").unwrap());
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

fn node_server(installed: &Path, package: &str) -> String {
    let path = installed.join(format!(
        "node_modules/@modelcontextprotocol/{package}/dist/index.js"
    ));
    path.to_str().unwrap().to_owned()
}

fn everything(installed: &Path, _: &Path) -> Case {
    Case {
        name: "everything",
        command: "node".into(),
        args: vec![node_server(installed, "server-everything")],
        env: Vec::new(),
        calls: json!([
            {"tool": "echo", "arguments": {"message": "héllo \u{1f30a} \"quoted\""}},
            {"tool": "get-annotated-message", "arguments": {"messageType": "error", "includeImage": true}},
            {"tool": "get-resource-links", "arguments": {"count": 2}},
            {"tool": "get-resource-reference", "arguments": {"resourceType": "Text", "resourceId": 1}},
            {"tool": "get-structured-content", "arguments": {"location": "Chicago"}},
            {"tool": "get-sum", "arguments": {"a": 1.5, "b": 2}},
            {"tool": "get-sum", "arguments": {"a": "one"}},
            {"tool": "get-tiny-image"},
            {"tool": "trigger-long-running-operation", "arguments": {"duration": 0.2, "steps": 2}},
        ]),
        reads: json!([
            "demo://resource/static/document/features.md",
            "demo://resource/nowhere"
        ]),
        gets: json!([
            {"name": "simple-prompt"},
            {"name": "args-prompt", "arguments": {"city": "Berlin", "state": "BE"}},
            {"name": "args-prompt"},
            {"name": "completable-prompt", "arguments": {"department": "Engineering", "name": "Alice"}},
        ]),
    }
}

fn filesystem(installed: &Path, work: &Path) -> Case {
    let _ = std::fs::remove_dir_all(work);
    std::fs::create_dir_all(work.join("inner")).unwrap();
    std::fs::write(work.join("a.txt"), "one\ntwo\nthree\n").unwrap();
    std::fs::write(work.join("inner/b.txt"), "b").unwrap();
    let path = |name: &str| work.join(name).to_str().unwrap().to_owned();
    Case {
        name: "filesystem",
        command: "node".into(),
        args: vec![node_server(installed, "server-filesystem"), path("")],
        env: Vec::new(),
        calls: json!([
            {"tool": "list_allowed_directories"},
            {"tool": "read_text_file", "arguments": {"path": path("a.txt")}},
            {"tool": "read_file", "arguments": {"path": path("a.txt"), "head": 1}},
            {"tool": "read_multiple_files", "arguments": {"paths": [path("a.txt"), path("none.txt")]}},
            {"tool": "list_directory", "arguments": {"path": path("")}},
            {"tool": "list_directory_with_sizes", "arguments": {"path": path("")}},
            {"tool": "directory_tree", "arguments": {"path": path("")}},
            {"tool": "search_files", "arguments": {"path": path(""), "pattern": "**/*.txt"}},
            {"tool": "create_directory", "arguments": {"path": path("new")}},
            {"tool": "write_file", "arguments": {"path": path("new/c.txt"), "content": "c"}},
            {"tool": "edit_file", "arguments": {"path": path("a.txt"), "edits": [{"oldText": "two", "newText": "zwei"}]}},
            {"tool": "move_file", "arguments": {"source": path("new/c.txt"), "destination": path("d.txt")}},
            {"tool": "read_media_file", "arguments": {"path": path("d.txt")}},
            {"tool": "read_text_file", "arguments": {"path": "/etc/hostname"}},
        ]),
        reads: json!([]),
        gets: json!([]),
    }
}

fn memory(installed: &Path, work: &Path) -> Case {
    let _ = std::fs::remove_dir_all(work);
    std::fs::create_dir_all(work).unwrap();
    let entity = |name: &str| json!({"name": name, "entityType": "person", "observations": ["is here"]});
    Case {
        name: "memory",
        command: "node".into(),
        args: vec![node_server(installed, "server-memory")],
        env: vec![(
            "MEMORY_FILE_PATH",
            work.join("memory.jsonl").to_str().unwrap().to_owned(),
        )],
        calls: json!([
            {"tool": "create_entities", "arguments": {"entities": [entity("ann"), entity("bo")]}},
            {"tool": "create_relations", "arguments": {"relations": [{"from": "ann", "to": "bo", "relationType": "knows"}]}},
            {"tool": "add_observations", "arguments": {"observations": [{"entityName": "ann", "contents": ["sings"]}]}},
            {"tool": "search_nodes", "arguments": {"query": "sings"}},
            {"tool": "open_nodes", "arguments": {"names": ["bo"]}},
            {"tool": "delete_observations", "arguments": {"deletions": [{"entityName": "ann", "observations": ["sings"]}]}},
            {"tool": "delete_relations", "arguments": {"relations": [{"from": "ann", "to": "bo", "relationType": "knows"}]}},
            {"tool": "delete_entities", "arguments": {"entityNames": ["bo"]}},
            {"tool": "read_graph"},
        ]),
        reads: json!([]),
        gets: json!([]),
    }
}

fn git(installed: &Path, work: &Path) -> Case {
    let _ = std::fs::remove_dir_all(work);
    std::fs::create_dir_all(work).unwrap();
    let date = "2024-01-01T00:00:00Z";
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command
            .arg("-C")
            .arg(work)
            .args(["-c", "user.name=t", "-c", "user.email=t"]);
        command
            .env("GIT_AUTHOR_DATE", date)
            .env("GIT_COMMITTER_DATE", date);
        assert!(command.args(args).output().unwrap().status.success(), "{args:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    std::fs::write(work.join("a.txt"), "one\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    git(&["config", "user.name", "t"]);
    git(&["config", "user.email", "t"]);
    std::fs::write(work.join("a.txt"), "one\ntwo\n").unwrap();
    let repo = work.to_str().unwrap();
    Case {
        name: "git",
        command: installed
            .join("venv/bin/mcp-server-git")
            .to_str()
            .unwrap()
            .to_owned(),
        args: vec!["--repository".into(), repo.to_owned()],
        env: vec![
            ("GIT_AUTHOR_DATE", date.into()),
            ("GIT_COMMITTER_DATE", date.into()),
        ],
        calls: json!([
            {"tool": "git_status", "arguments": {"repo_path": repo}},
            {"tool": "git_diff_unstaged", "arguments": {"repo_path": repo}},
            {"tool": "git_add", "arguments": {"repo_path": repo, "files": ["a.txt"]}},
            {"tool": "git_diff_staged", "arguments": {"repo_path": repo}},
            {"tool": "git_commit", "arguments": {"repo_path": repo, "message": "second"}},
            {"tool": "git_log", "arguments": {"repo_path": repo}},
            {"tool": "git_show", "arguments": {"repo_path": repo, "revision": "HEAD"}},
            {"tool": "git_create_branch", "arguments": {"repo_path": repo, "branch_name": "side"}},
            {"tool": "git_checkout", "arguments": {"repo_path": repo, "branch_name": "side"}},
            {"tool": "git_diff", "arguments": {"repo_path": repo, "target": "main"}},
            {"tool": "git_branch", "arguments": {"repo_path": repo, "branch_type": "local"}},
            {"tool": "git_reset", "arguments": {"repo_path": repo}},
            {"tool": "git_status", "arguments": {"repo_path": "/nowhere"}},
        ]),
        reads: json!([]),
        gets: json!([]),
    }
}

fn time(installed: &Path, _: &Path) -> Case {
    Case {
        name: "time",
        command: installed
            .join("venv/bin/mcp-server-time")
            .to_str()
            .unwrap()
            .to_owned(),
        args: vec!["--local-timezone".into(), "UTC".into()],
        env: Vec::new(),
        calls: json!([
            {"tool": "convert_time", "arguments": {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}},
            {"tool": "get_current_time", "arguments": {"timezone": "Nowhere/Land"}},
        ]),
        reads: json!([]),
        gets: json!([]),
    }
}

macro_rules! differential {
    ($($name:ident: $client:expr, $case:ident;)*) => {
        $(#[test] fn $name() { check($client, $case); })*
    };
}

differential! {
    python_everything: Client::Python, everything;
    python_filesystem: Client::Python, filesystem;
    python_memory: Client::Python, memory;
    python_git: Client::Python, git;
    python_time: Client::Python, time;
    python_stateless_everything: Client::PythonStateless, everything;
    python_stateless_time: Client::PythonStateless, time;
    sdk_everything: Client::Sdk, everything;
    sdk_filesystem: Client::Sdk, filesystem;
    sdk_memory: Client::Sdk, memory;
    sdk_git: Client::Sdk, git;
    sdk_time: Client::Sdk, time;
    new_everything: Client::New, everything;
    new_filesystem: Client::New, filesystem;
    new_memory: Client::New, memory;
    new_git: Client::New, git;
    new_time: Client::New, time;
}

/// A protected file is read, and what reaches out closes; the client hears of it.
fn check_ratchet(client: Client, over_http: bool) {
    let Some(installed) = installed() else { return };
    let place = Place::new();
    let work = place.path("work");
    let mut case = filesystem(&installed, &work);
    let file = work.join("a.txt");
    case.calls = json!([
        {"tool": "everything.echo", "arguments": {"message": "out"}},
        {"tool": "filesystem.read_text_file", "arguments": {"path": file}},
        {"tool": "everything.echo", "arguments": {"message": "out"}},
    ]);
    let everything = node_server(&installed, "server-everything");
    place.write(
        "tidegate.toml",
        &format!(
            "[servers.filesystem]\ncommand = \"node\"\nargs = {:?}\n[servers.everything]\ncommand = \"node\"\nargs = [{everything:?}]\n\
             [tools.\"filesystem.read_text_file\"]\nreturns = \"internal\"\n[tools.\"everything.echo\"]\nexternal = true\n",
            case.args
        ),
    );
    let data = place.path("data").to_str().unwrap().to_owned();
    let mut serving = None;
    let target = if over_http {
        let gateway = Serving::start(&place, &data, &case);
        let created = tidegate(
            &place,
            &[
                "token",
                "create",
                "--role",
                "agent",
                "--principal",
                "alice",
                "--data-dir",
                &data,
            ],
        );
        let target = json!({"url": format!("{}/mcp", gateway.url), "token": created.stdout.trim()});
        serving = Some(gateway);
        target
    } else {
        let arguments = json!(["mcp", "--config", place.path("tidegate.toml"), "--data-dir", data]);
        json!({"command": env!("CARGO_BIN_EXE_tidegate"), "args": arguments})
    };
    let said = client.ask(&installed, target, &case);
    drop(serving);
    let calls = said["calls"].as_array().unwrap();
    assert_eq!(calls[0]["content"][0]["text"], "Echo: out", "{said}");
    assert_eq!(calls[1]["content"][0]["text"], "one\ntwo\nthree\n", "{said}");
    assert_eq!(calls[2]["isError"], true);
    assert_eq!(calls[2]["structuredContent"]["rule"], "label-above-ceiling");
    let notes = said["notes"].as_array().unwrap();
    assert!(
        notes.contains(&json!("notifications/tools/list_changed")),
        "{client:?} {over_http}: {notes:?}"
    );
}

#[test]
fn a_protected_file_closes_what_reaches_out_for_every_client() {
    for client in [Client::Python, Client::Sdk, Client::New] {
        for over_http in [false, true] {
            check_ratchet(client, over_http);
        }
    }
}
