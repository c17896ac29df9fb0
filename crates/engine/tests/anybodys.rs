//! What one of several tools said, and nobody knows which: nothing of it is shown that one of them alone would not show.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod house;

use house::{House, name, sealed, sink, source};
use serde_json::{Value, json};
use tidegate_core::{Class, Ident};
use tidegate_detect::RuleId;
use tidegate_detect::exits::{Exit, Exits};
use tidegate_engine::{Bringing, Form, Payload};

/// What no detector knows.
const CODE: &str = "quokka-ledger-blue";

const EMAIL: &str = "anna.schmidt@example.org";

fn house(directory: &std::path::Path) -> House {
    let status = [("**.status", Class::Public)];
    let exit = |name: &str, tool: &str| Exit {
        name: name.into(),
        tool: Some(tool.into()),
        rule: Some(RuleId::built_in("email")),
        value: None,
    };
    House::with_exits(
        directory,
        [
            source("codes", Class::Pii, &[("code", Class::Pii)]),
            source("slow", Class::Confidential, &[]),
            source("page", Class::Public, &[]),
            source("keys", Class::Secret, &status),
            sealed(source("crm", Class::Public, &[])),
            sink("draft", Class::Pii),
        ],
        Exits::new(vec![exit("slow-mail", "slow"), exit("draft-mail", "draft")]).unwrap(),
    )
}

/// A session in which a sink was given the code in place of its stub.
async fn session(house: &House, id: &str) -> Ident {
    let id = house.open(id).await;
    let shown = house.shown(&id, "codes", json!({"code": CODE})).await;
    assert_eq!(shown, json!({"code": "{CODE_1}"}));
    let sent = house.reaches(&id, "draft", &json!({"text": "{CODE_1}"})).await;
    assert_eq!(sent, Ok(json!({"text": CODE})));
    assert_eq!(house.label(&id).await, Class::Public);
    id
}

/// What is shown of words that any of these tools may have said, and the label after them.
async fn said(house: &House, id: &Ident, tools: &[&str], words: &Value) -> (Option<Value>, Class) {
    let (first, others) = tools.split_first().unwrap();
    let bringing = Bringing {
        form: Form::Notice,
        perhaps: others.iter().map(|tool| name(tool)).collect(),
        ..Bringing::plain(Payload::new(words.clone()))
    };
    let first = name(first);
    let delivered = house.engine.bring(&house.caller, id, &first, bringing);
    let shown = delivered.await.unwrap().content.map(Payload::into_exposed);
    (shown, house.label(id).await)
}

#[tokio::test]
async fn no_more_is_shown_than_either_tool_would_show() {
    let directory = tempfile::tempdir().unwrap();
    let house = house(directory.path());
    let coded = json!({"data": format!("got {CODE}")});
    let stubbed = Some(json!({"data": "got {CODE_1}"}));
    let plain = json!({"data": "a line"});
    let status = json!({"data": {"status": "words of somebody"}});
    let mailed = json!({"data": format!("to {EMAIL}")});
    let mail_stubbed = Some(json!({"data": "to {EMAIL_1}"}));
    for (number, (tools, words, expected)) in [
        // A sink may give back what it was given, whoever else may have spoken.
        (&["draft"][..], &coded, (stubbed.clone(), Class::Public)),
        (&["draft", "slow"], &coded, (stubbed.clone(), Class::Confidential)),
        (&["draft", "page"], &coded, (stubbed.clone(), Class::Public)),
        // What one of them seals has no place beside an answer.
        (&["crm"], &plain, (None, Class::Public)),
        (&["crm", "slow"], &plain, (None, Class::Public)),
        // One tool's cleared fields clear nothing of another's.
        (&["keys"], &status, (Some(status.clone()), Class::Public)),
        (
            &["keys", "slow"],
            &status,
            (Some(json!("{RESULT_1}")), Class::Secret),
        ),
        // An exit holds only where it holds for all.
        (&["slow"], &mailed, (Some(mailed.clone()), Class::Confidential)),
        (
            &["slow", "slow"],
            &mailed,
            (Some(mailed.clone()), Class::Confidential),
        ),
        (&["slow", "page"], &mailed, (mail_stubbed.clone(), Class::Pii)),
        (&["slow", "draft"], &mailed, (mail_stubbed.clone(), Class::Pii)),
    ]
    .into_iter()
    .enumerate()
    {
        let mut tools = tools.to_vec();
        for turn in ["as-named", "turned"] {
            let id = session(&house, &format!("case-{number}-{turn}")).await;
            let seen = said(&house, &id, &tools, words).await;
            assert_eq!(seen, expected, "{tools:?}: {words}");
            tools.reverse();
        }
    }
}
