//! Calls that were given up: their server may still speak for them, and what it says is nobody else's word.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod mcp_stand;
mod stand;

use std::time::Duration;

use mcp_stand::{Client, options, policy, scripted, server, text_of};
use serde_json::{Value, json};
use stand::{Setting, Stand};
use tidegate_core::{Class, ControlList, FieldClasses, Name, SealRule, Tool, ToolFacts};
use tidegate_engine::Policy;
use tidegate_gateway::mcp::Options;
use tokio::task::JoinHandle;

const LINE: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"a line"}}"#;

/// What is known of a tool of the scripted server.
fn facts(name: &str, returns: Class) -> ToolFacts {
    ToolFacts {
        returns: Some(returns),
        ..ToolFacts::named(Name::parse(name).unwrap())
    }
}

fn fields(path: &str, class: Class) -> FieldClasses {
    FieldClasses::new([(path.parse().unwrap(), class)])
}

/// A gateway whose server has these tools, and otherwise says what is public.
async fn gateway(declared: impl IntoIterator<Item = ToolFacts>) -> Stand {
    let mut tools: Vec<_> = declared.into_iter().map(Tool::declared).collect();
    let others = policy("").control;
    let is_new = |tool: &&Tool| !tools.iter().any(|declared| declared.name == tool.name);
    let others: Vec<_> = others.iter().filter(is_new).cloned().collect();
    tools.extend(others);
    let policy = Policy::new(ControlList::new(tools).unwrap());
    let servers = vec![server("scripted", true, scripted(&[]))];
    let options = Options {
        call_timeout: Duration::from_secs(60),
        ..options()
    };
    Stand::start_mcp(Setting::default(), policy, servers, options).await
}

/// Makes the server say something during a call.
async fn say(client: &mut Client, lines: &[&str]) {
    let result = client.call("say", json!({"lines": lines})).await;
    assert_eq!(text_of(&result), "said");
}

async fn ask_for_logs(client: &mut Client) {
    client.ask("logging/setLevel", json!({"level": "info"})).await;
}

/// Whether something that came beside an answer has a word in it.
fn noted(client: &Client, word: &str) -> bool {
    client.notes.iter().any(|note| note.to_string().contains(word))
}

/// A call that is never answered.
struct Hanging {
    /// The id under which the server has it.
    id: Value,
    ended: JoinHandle<()>,
}

impl Hanging {
    async fn begin(client: &mut Client) -> Self {
        Self::begin_with(client, json!({})).await
    }

    async fn begin_with(client: &mut Client, meta: Value) -> Self {
        let params = json!({"name": "hang", "_meta": meta});
        let hang = json!({"jsonrpc": "2.0", "id": "h", "method": "tools/call", "params": params});
        let sent = client.request(hang.to_string()).send();
        let ended = tokio::spawn(async move {
            sent.await.unwrap().text().await.unwrap();
        });
        for _ in 0..200 {
            let calls = client.call("given_up", json!({})).await;
            let calls: Value = serde_json::from_str(text_of(&calls)).unwrap();
            if let Some(id) = calls["hanging"].get(0).cloned() {
                return Self { id, ended };
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the call did not reach the server");
    }

    /// Takes the call back, and waits until nobody works on it here.
    async fn take_back(self, client: &Client) {
        let told =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "h"}});
        let told = client.request(told.to_string()).send().await.unwrap();
        assert_eq!(told.status(), 202);
        let ended = tokio::time::timeout(Duration::from_secs(20), self.ended).await;
        ended.expect("the call is given up").unwrap();
    }
}

#[tokio::test]
async fn what_a_server_says_counts_as_the_highest_of_what_it_works_on() {
    let stand = gateway([facts("hang", Class::Pii)]).await;
    let mut client = Client::greet(&stand).await;
    ask_for_logs(&mut client).await;
    let hanging = Hanging::begin(&mut client).await;
    assert_eq!(client.label().await, "public");
    say(&mut client, &[LINE]).await;
    assert_eq!(client.label().await, "pii");
    hanging.take_back(&client).await;
}

#[tokio::test]
async fn a_call_that_was_given_up_may_still_speak() {
    for line in [
        LINE,
        r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"data":"a line"}}"#,
        r#"{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"message":"a line"}}"#,
    ] {
        let stand = gateway([facts("hang", Class::Pii)]).await;
        let mut client = Client::greet(&stand).await;
        ask_for_logs(&mut client).await;
        let hanging = Hanging::begin(&mut client).await;
        hanging.take_back(&client).await;
        say(&mut client, &[line]).await;
        // A question is brought to the client beside the call.
        for _ in 0..50 {
            if client.label().await != "public" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(client.label().await, "pii", "{line}");
    }
}

#[tokio::test]
async fn a_call_that_was_answered_late_speaks_no_more() {
    let stand = gateway([facts("hang", Class::Pii)]).await;
    let mut client = Client::greet(&stand).await;
    let hanging = Hanging::begin(&mut client).await;
    let id = hanging.id.clone();
    hanging.take_back(&client).await;
    let late = json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string();
    say(&mut client, &[&late, LINE]).await;
    assert!(client.notified("notifications/message"), "{:?}", client.notes);
    assert_eq!(client.label().await, "public");
}

#[tokio::test]
async fn a_line_that_nobody_asked_for_does_not_close_a_session_over_a_call_that_was_given_up() {
    for (given_up, asked, speaking, shown, label) in [
        (Class::Confidential, false, Class::Public, false, "public"),
        (Class::Confidential, true, Class::Public, true, "confidential"),
        // The line is kept back only where the call that was given up makes it more.
        (
            Class::Confidential,
            false,
            Class::Confidential,
            true,
            "confidential",
        ),
        (Class::Public, false, Class::Public, true, "public"),
    ] {
        let stand = gateway([facts("hang", given_up), facts("log", speaking)]).await;
        let mut client = Client::greet(&stand).await;
        if asked {
            ask_for_logs(&mut client).await;
        }
        let hanging = Hanging::begin(&mut client).await;
        hanging.take_back(&client).await;
        client.call("log", json!({})).await;
        let case = format!("{given_up} {asked} {speaking}");
        assert_eq!(noted(&client, "a line"), shown, "{case}: {:?}", client.notes);
        assert_eq!(client.label().await, label, "{case}");
    }
}

/// A line that any of two calls may have said, one of them given up.
struct Said {
    given_up: ToolFacts,
    /// The tool that is called, and what with.
    calls: (ToolFacts, Value),
    /// What the client is shown, and what it is not.
    shown: Option<&'static str>,
    hidden: &'static str,
    label: &'static str,
}

#[tokio::test]
async fn beside_a_call_that_was_given_up_nothing_is_shown_that_a_tool_alone_keeps_back() {
    let line = |data: Value| {
        let params = json!({"level": "info", "data": data});
        let line = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
        json!({"lines": [line.to_string()]})
    };
    let sink = ToolFacts {
        sink: true,
        ..facts("say", Class::Public)
    };
    let sealed = ToolFacts {
        seal: SealRule::Always,
        ..facts("log", Class::Public)
    };
    let split = ToolFacts {
        fields: fields("**.status", Class::Public),
        ..facts("hang", Class::Secret)
    };
    for (number, said) in [
        Said {
            given_up: facts("hang", Class::Confidential),
            calls: (sink, line(json!("got {CODE_1}"))),
            shown: Some("got {CODE_1}"),
            hidden: "quokka",
            label: "confidential",
        },
        Said {
            given_up: facts("hang", Class::Confidential),
            calls: (sealed, json!({})),
            shown: None,
            hidden: "a line",
            label: "public",
        },
        Said {
            given_up: split,
            calls: (
                facts("say", Class::Confidential),
                line(json!({"status": "words"})),
            ),
            shown: None,
            hidden: "words",
            label: "secret",
        },
    ]
    .into_iter()
    .enumerate()
    {
        let codes = ToolFacts {
            fields: fields("code", Class::Pii),
            ..facts("read_mail", Class::Pii)
        };
        let (called, arguments) = said.calls;
        let name = called.name.clone();
        let stand = gateway([codes, said.given_up, called]).await;
        let mut client = Client::greet(&stand).await;
        ask_for_logs(&mut client).await;
        let read = client.call("read_mail", json!({"code": "quokka"})).await;
        assert_eq!(text_of(&read), r#"{"code":"{CODE_1}"}"#);
        let hanging = Hanging::begin(&mut client).await;
        hanging.take_back(&client).await;
        let answer = client.call(name.as_str(), arguments).await;
        assert_ne!(answer["isError"], true, "{number}: {answer}");
        assert!(!noted(&client, said.hidden), "{number}: {:?}", client.notes);
        let is_shown = said.shown.is_none_or(|shown| noted(&client, shown));
        assert!(is_shown, "{number}: {:?}", client.notes);
        assert_eq!(client.label().await, said.label, "{number}");
    }
}

#[tokio::test]
async fn progress_is_the_word_of_every_call_with_its_token() {
    let (number, text, other) = (json!(7), json!("7"), json!(8));
    for (token, is_given_up, words, label) in [
        (&number, true, false, "public"),
        (&text, true, false, "public"),
        (&other, true, true, "public"),
        (&text, false, true, "confidential"),
        (&other, false, true, "public"),
    ] {
        let stand = gateway([facts("hang", Class::Confidential)]).await;
        let mut client = Client::greet(&stand).await;
        let hanging = Hanging::begin_with(&mut client, json!({"progressToken": token})).await;
        let mut waiting = Some(hanging);
        if is_given_up && let Some(hanging) = waiting.take() {
            hanging.take_back(&client).await;
        }
        let told = json!({"progressToken": 7, "progress": 1, "total": 2, "message": "CANARY"});
        let line = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": told});
        let params = json!({
            "name": "say", "arguments": {"lines": [line.to_string()]}, "_meta": {"progressToken": 7},
        });
        client.ask("tools/call", params).await;
        let case = format!("{token} {is_given_up}");
        assert_eq!(noted(&client, "CANARY"), words, "{case}: {:?}", client.notes);
        // How far it is says nothing of what it is about.
        assert!(
            client.notified("notifications/progress"),
            "{case}: {:?}",
            client.notes
        );
        assert_eq!(client.label().await, label, "{case}");
        if let Some(hanging) = waiting {
            hanging.take_back(&client).await;
        }
    }
}
