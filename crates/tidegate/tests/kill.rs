//! A gateway that is killed under load, again and again: what it had answered for is there when it comes back.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod run;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use reqwest::blocking::Client;
use run::gateway::{Gateway, create_token};
use run::{Place, tidegate};
use serde_json::{Value, json};

const ROUNDS: usize = 10;
const WRITERS: usize = 6;

/// Raises one fresh session after the other, and tells of each rise that was answered for.
fn write(
    url: &str,
    token: &str,
    name: &str,
    stop: &AtomicBool,
    acknowledged: &Sender<(String, &'static str)>,
) {
    let client = Client::builder().no_proxy().build().unwrap();
    let post = |path: &str, body: Value| {
        let answer = client
            .post(format!("{url}{path}"))
            .bearer_auth(token)
            .json(&body)
            .send();
        answer.is_ok_and(|answer| answer.status().is_success() && answer.bytes().is_ok())
    };
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let session = format!("{name}-{number}");
        let (tool, text, class) = match number % 3 {
            0 => ("search_email", "minutes of the meeting", "internal"),
            1 => ("search_email", "write to ann@example.org", "pii"),
            _ => ("search_docs", "minutes of the meeting", "internal"),
        };
        if !post("/v1/sessions", json!({"session_id": session})) {
            return;
        }
        let brought = json!({"tool": tool, "content": {"text": text}});
        if !post(&format!("/v1/session/{session}/responses"), brought) {
            return;
        }
        if acknowledged.send((session, class)).is_err() {
            return;
        }
    }
}

/// One round: load, kill once enough was answered for, and give what was.
fn round(place: &Place, token: &str, round: usize) -> Vec<(String, &'static str)> {
    let gateway = Gateway::start(place, &[]);
    let stop = AtomicBool::new(false);
    let (sender, receiver) = channel();
    let url = gateway.url.clone();
    let mut answered = Vec::new();
    std::thread::scope(|scope| {
        let (stop, url) = (&stop, &url);
        for writer in 0..WRITERS {
            let sender = sender.clone();
            scope.spawn(move || write(url, token, &format!("r{round}w{writer}"), stop, &sender));
        }
        drop(sender);
        answered.extend(receiver.iter().take(10 + 7 * round));
        gateway.kill();
        stop.store(true, Ordering::Relaxed);
    });
    // Whatever was answered for until the very end counts too.
    answered.extend(receiver.iter());
    answered
}

fn verify(place: &Place) {
    let verified = tidegate(place, &["ledger", "verify"]);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
}

#[test]
fn no_rise_that_was_answered_for_is_lost() {
    let place = Place::new();
    let token = create_token(&place, "agent", "alice");
    let mut answered = Vec::new();
    for number in 0..ROUNDS {
        answered.extend(round(&place, &token, number));
        verify(&place);
    }
    let gateway = Gateway::start(&place, &[]);
    for (session, class) in &answered {
        let (status, state) = gateway.send(&token, &format!("/v1/session/{session}"), None);
        assert_eq!(
            (status, state["sensitivity"].as_str().unwrap()),
            (200, *class),
            "{session}"
        );
    }
    gateway.stop();
    verify(&place);
    let rises = tidegate(&place, &["ledger", "export", "--event", "rise"]);
    let recorded: BTreeSet<String> = rises
        .stdout
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["session"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    for (session, _) in &answered {
        assert!(recorded.contains(session), "{session} rose without a record");
    }
    assert!(answered.len() >= ROUNDS * 10);
}
