//! The tool `run_command` over MCP: bounded, isolated, and a source like any other.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;
mod sandbox;

use std::fs;

use run::Place;
use run::gateway::{Gateway, create_token};
use sandbox::{Cable, Greeter, can_isolate, workspace};
use serde_json::{Value, json};

/// A client of one session, without streams.
struct Client<'a> {
    gateway: &'a Gateway,
    token: &'a str,
    session: String,
}

impl<'a> Client<'a> {
    fn greet(gateway: &'a Gateway, token: &'a str) -> Self {
        let mut client = Self {
            gateway,
            token,
            session: String::new(),
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let answer = client.post("initialize", &hello);
        client.session = answer.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        client
    }

    fn post(&self, method: &str, params: &Value) -> reqwest::blocking::Response {
        let http = reqwest::blocking::Client::builder().no_proxy().build().unwrap();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = http
            .post(format!("{}/mcp", self.gateway.url))
            .bearer_auth(self.token)
            .header("accept", "application/json, text/event-stream")
            .json(&body);
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session);
        }
        request.send().unwrap()
    }

    fn ask(&self, method: &str, params: &Value) -> Value {
        let text = self.post(method, params).text().unwrap();
        let answers = text
            .lines()
            .map(|line| line.strip_prefix("data: ").unwrap_or(line));
        let mut answers = answers.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let answer = answers.rfind(|answer| answer.get("method").is_none());
        answer.unwrap_or_else(|| panic!("{text}"))
    }

    /// What a command says, all of it as one text, and whether it failed.
    fn run(&self, arguments: Value) -> (String, bool) {
        let answer = self.ask(
            "tools/call",
            &json!({"name": "run_command", "arguments": arguments}),
        );
        let result = &answer["result"];
        let blocks = result["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
        let texts: Vec<_> = blocks
            .iter()
            .map(|block| block["text"].as_str().unwrap())
            .collect();
        (texts.join("\n"), result["isError"] == true)
    }

    fn label(&self) -> String {
        let path = format!("/v1/session/{}", self.session);
        let (_, state) = self.gateway.send(self.token, &path, None);
        state["sensitivity"].as_str().unwrap().to_owned()
    }
}

#[test]
fn an_agent_has_a_shell_whose_network_and_label_follow_what_it_has_seen() {
    if !can_isolate() {
        return;
    }
    let (place, cable) = (Place::new(), Cable::lay(4));
    let workspace = workspace(&place);
    let greeter = Greeter::at(cable.listed);
    let (address, port) = (cable.listed, greeter.port);
    place.write(
        "tidegate.toml",
        &format!(
            "[sandbox]\nenabled = true\nworkspace = \"work\"\ntimeout_ms = 20000\nmemory_bytes = 268435456\nprocesses = 20\noutput_bytes = 2048\n\
             [egress.destinations.\"{address}\"]\nceiling = \"public\"\nports = [{port}]\n"
        ),
    );
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let gateway = Gateway::spawn(command);
    let token = create_token(&place, "agent", "alice");
    let client = Client::greet(&gateway, &token);

    let listed = client.ask("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "run_command"), "{listed}");

    // In a file, because an address inside is internal by itself and would count as told.
    let fetch = format!("import urllib.request as u; print(u.urlopen('http://{address}:{port}/').read())");
    fs::write(workspace.join("fetch.py"), fetch).unwrap();
    let fetch = "python3 fetch.py 2> errors";
    for (arguments, says, failed) in [
        (
            json!({"command": "echo one > kept; cat kept; echo two >&2"}),
            "one",
            false,
        ),
        (json!({"command": "pwd", "directory": "."}), "work", false),
        (json!({"command": "exit 3"}), "exit code 3", true),
        (
            json!({"command": "pwd", "directory": "../"}),
            "not in the workspace",
            true,
        ),
        (
            json!({"command": "sleep 60", "timeout_ms": 300}),
            "longer than it may",
            true,
        ),
        (
            json!({"command": "yes | head -c 100000"}),
            "longer than is shown",
            false,
        ),
        (
            json!({"command": "for i in $(seq 40); do sleep 30 & done; wait"}),
            "more processes",
            true,
        ),
        (
            json!({"command": "python3 -c 'x = bytearray(1 << 30)'"}),
            "MemoryError",
            true,
        ),
        (json!({"command": fetch}), "hello", false),
    ] {
        let (said, is_error) = client.run(arguments.clone());
        assert!(said.contains(says), "{arguments}: {said}");
        assert_eq!(is_error, failed, "{arguments}: {said}");
        assert!(said.len() < 5_000, "{arguments}");
    }
    assert_eq!(client.label(), "public");
    assert_eq!(greeter.count(), 1);
    assert_eq!(fs::read_to_string(workspace.join("kept")).unwrap(), "one\n");

    // What a shell has shown lies in its workspace: the session counts it, though the agent sees a stub.
    fs::write(
        workspace.join("guests"),
        "card 4111 1111 1111 1111 of anna.meyer@example.org",
    )
    .unwrap();
    let (said, _) = client.run(json!({"command": "cat guests"}));
    assert!(!said.contains("4111 1111 1111 1111"), "{said}");
    assert_eq!(client.label(), "pii");
    let (said, is_error) = client.run(json!({"command": fetch}));
    assert!(is_error && said.contains("no network"), "{said}");
    assert_eq!(greeter.count(), 0);
    gateway.stop();
}

#[test]
fn what_a_command_is_told_counts_too() {
    if !can_isolate() {
        return;
    }
    let place = Place::new();
    workspace(&place);
    place.write(
        "tidegate.toml",
        "[sandbox]\nenabled = true\nworkspace = \"work\"\nworkspace_class = \"internal\"\n",
    );
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let gateway = Gateway::spawn(command);
    let token = create_token(&place, "agent", "alice");
    let client = Client::greet(&gateway, &token);
    client.run(json!({"command": "true"}));
    assert_eq!(client.label(), "internal", "of the workspace");
    client.run(json!({"command": "echo 4111 1111 1111 1111 > card"}));
    assert_eq!(client.label(), "pii");
    gateway.stop();
}

#[test]
fn a_command_cannot_change_the_configuration_of_its_gateway() {
    if !can_isolate() {
        return;
    }
    let place = Place::new();
    let workspace = workspace(&place);
    let serve = |config: &str| {
        let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "state"]);
        command
            .args(["--config", config])
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    };
    let text = "[sandbox]\nenabled = true\nworkspace = \".\"\n";
    place.write("work/tidegate.toml", text);
    let gateway = Gateway::spawn(serve("work/tidegate.toml"));
    let made = place
        .command(&[
            "token",
            "create",
            "--data-dir",
            "state",
            "--role",
            "agent",
            "--principal",
            "alice",
        ])
        .output()
        .unwrap();
    let token = String::from_utf8(made.stdout).unwrap().trim_end().to_owned();
    let client = Client::greet(&gateway, &token);
    for command in [
        "echo '# changed' >> tidegate.toml",
        "rm -f tidegate.toml",
        "mv tidegate.toml other.toml",
        "echo '# changed' > new.toml; mv -f new.toml tidegate.toml",
    ] {
        let (said, is_error) = client.run(json!({"command": command}));
        assert!(is_error, "{command}: {said}");
        assert_eq!(
            fs::read_to_string(workspace.join("tidegate.toml")).unwrap(),
            text,
            "{command}"
        );
    }
    gateway.stop();

    fs::create_dir(workspace.join("conf")).unwrap();
    place.write("work/conf/tidegate.toml", &text.replace("\".\"", "\"..\""));
    let refused: run::Ran = serve("work/conf/tidegate.toml").output().unwrap().into();
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("lies in the workspace"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_gateway_that_cannot_isolate_does_not_start_with_a_shell() {
    let place = Place::new();
    workspace(&place);
    place.write(
        "tidegate.toml",
        "[sandbox]\nenabled = true\nworkspace = \"work\"\n",
    );
    let ran = run::tidegate(&place, &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("bubblewrap"), "{}", ran.stderr);
}
