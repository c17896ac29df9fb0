//! A gateway with a scripted MCP server behind it, and a plain client that shows every byte.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part of the stand"
)]

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_core::{Class, ControlList, Ident, Name, Tool, ToolFacts};
use tidegate_engine::Policy;
use tidegate_gateway::mcp::{Options, Reach, Upstream};

use crate::stand::{Holder, Setting, Stand};

/// The scripted server, built beside the tests.
pub fn scripted(arguments: &[String]) -> Reach {
    let tests = std::env::current_exe().unwrap();
    let program: PathBuf = tests
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples/scripted_upstream");
    assert!(program.exists(), "cargo builds the examples with the tests");
    Reach::Command {
        command: program.to_str().unwrap().to_owned(),
        args: arguments.to_vec(),
        env: Vec::new(),
    }
}

pub fn server(name: &str, bare_names: bool, reach: Reach) -> Upstream {
    Upstream {
        name: Ident::parse(name).unwrap(),
        bare_names,
        reach,
    }
}

/// Bounds that a test can wait for.
pub fn options() -> Options {
    Options {
        start_timeout: Duration::from_secs(20),
        call_timeout: Duration::from_secs(2),
        message_bytes: 1 << 20,
        ..Options::STANDARD
    }
}

/// What the tests declare; everything else the scripted server has is undeclared.
pub fn policy(prefix: &str) -> Policy {
    let facts = |name: &str| ToolFacts::named(Name::parse(&format!("{prefix}{name}")).unwrap());
    let harmless = |name| {
        Tool::declared(ToolFacts {
            returns: Some(Class::Public),
            ..facts(name)
        })
    };
    let mut tools: Vec<_> = [
        "echo",
        "die",
        "hang",
        "garbage",
        "flood",
        "change",
        "fail",
        "exotic",
        "ask",
        "log",
        "log_later",
        "twice",
        "given_up",
        "say",
        "heard",
        "beside",
        "say_aside",
    ]
    .into_iter()
    .map(harmless)
    .collect();
    tools.push(Tool::declared(ToolFacts {
        returns: Some(Class::Internal),
        ..facts("read_mail")
    }));
    tools.push(Tool::declared(ToolFacts {
        external: true,
        ..facts("search")
    }));
    Policy::new(ControlList::new(tools).unwrap())
}

/// One scripted server that keeps its names.
pub async fn gateway() -> Stand {
    let servers = vec![server("scripted", true, scripted(&[]))];
    Stand::start_mcp(Setting::default(), policy(""), servers, options()).await
}

/// A client that greets and then speaks JSON-RPC over HTTP.
pub struct Client {
    http: reqwest::Client,
    url: String,
    pub holder: Holder,
    pub session: String,
    pub greeting: Value,
    /// Everything that came beside answers, in order.
    pub notes: Vec<Value>,
    next: u64,
}

impl Client {
    pub async fn greet(stand: &Stand) -> Self {
        let holder = stand.alice().await;
        Self::greet_as(stand, holder).await
    }

    pub async fn greet_as(stand: &Stand, holder: Holder) -> Self {
        let mut client = Self {
            http: reqwest::Client::new(),
            url: stand.url("/mcp"),
            holder,
            session: String::new(),
            greeting: Value::Null,
            notes: Vec::new(),
            next: 0,
        };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params});
        let response = client.request(body.to_string()).send().await.unwrap();
        assert_eq!(response.status(), 200);
        client.session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let greeting = client.read(response.text().await.unwrap());
        client.greeting = serde_json::from_str::<Value>(&greeting).unwrap()["result"].clone();
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let told = client.request(told.to_string()).send().await.unwrap();
        assert_eq!(told.status(), 202);
        client
    }

    pub fn request(&self, body: String) -> reqwest::RequestBuilder {
        let request = self
            .http
            .post(&self.url)
            .bearer_auth(&self.holder.token)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(body);
        if self.session.is_empty() {
            request
        } else {
            request.header("mcp-session-id", &self.session)
        }
    }

    /// Asks for a stream.
    pub fn listen(&self) -> reqwest::RequestBuilder {
        self.http
            .get(&self.url)
            .bearer_auth(&self.holder.token)
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &self.session)
    }

    /// Asks for the session to be ended.
    pub fn end(&self) -> reqwest::RequestBuilder {
        self.http
            .delete(&self.url)
            .bearer_auth(&self.holder.token)
            .header("mcp-session-id", &self.session)
    }

    pub async fn post(&mut self, body: String) -> String {
        let response = self.request(body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let text = response.text().await.unwrap();
        self.read(text)
    }

    /// The answer in a response; whatever came before it is kept.
    fn read(&mut self, text: String) -> String {
        if text.starts_with('{') {
            return text;
        }
        let mut answer = String::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
            let message: Value = serde_json::from_str(line).unwrap();
            if message.get("method").is_some() {
                self.notes.push(message);
            } else {
                answer = line.to_owned();
            }
        }
        answer
    }

    pub async fn exchange(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let body = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        let answer: Value = serde_json::from_str(&self.post(body.to_string()).await).unwrap();
        assert_eq!(answer["id"], self.next);
        answer
    }

    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.exchange(method, params).await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
            .await
    }

    pub async fn raw_call(&mut self, tool: &str) -> String {
        let body = json!({"jsonrpc": "2.0", "id": "raw", "method": "tools/call", "params": {"name": tool}});
        self.post(body.to_string()).await
    }

    pub async fn label(&mut self) -> String {
        let read = self
            .ask("resources/read", json!({"uri": "tidegate://session"}))
            .await;
        let state: Value = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
        state["sensitivity"].as_str().unwrap().to_owned()
    }

    pub fn notified(&self, method: &str) -> bool {
        self.notes.iter().any(|note| note["method"] == method)
    }
}

pub fn text_of(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{result}"))
}
