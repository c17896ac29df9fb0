//! Agents that bring data into sessions and try to get out with it, on all gateways at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::blocking::Client;
use serde_json::{Value, json};

use super::history::{Asked, What};

/// Whoever asks, of several gateways in turn.
pub(crate) struct Agents<'a> {
    pub(crate) urls: Vec<String>,
    pub(crate) token: &'a str,
    pub(crate) since: Instant,
    pub(crate) history: Mutex<Vec<Asked>>,
    pub(crate) stop: AtomicBool,
}

impl Agents<'_> {
    /// One session after the other: one agent brings data by one gateway while others call out by all of them.
    pub(crate) fn work(&self, team: usize) {
        let client = client();
        for number in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let session = format!("t{team}-{number}");
            let opened = self.post(
                &client,
                team + number,
                "/v1/sessions",
                &json!({"session_id": session}),
            );
            if opened.is_none() {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            }
            std::thread::scope(|scope| {
                for caller in 0..2 {
                    let session = &session;
                    scope.spawn(move || self.call_out(session, caller));
                }
                std::thread::sleep(Duration::from_millis(u64::try_from(number % 5 * 10).unwrap()));
                self.bring(&client, team + number + 1, &session);
                // After the answer, every gateway knows.
                for gateway in 0..self.urls.len() {
                    self.call(&client, gateway, &session);
                }
            });
        }
    }

    fn call_out(&self, session: &str, caller: usize) {
        let client = client();
        for attempt in 0..4 {
            self.call(&client, caller + attempt, session);
        }
    }

    fn bring(&self, client: &Client, gateway: usize, session: &str) {
        let body = json!({"tool": "search_email", "content": {"text": "minutes of the meeting"}});
        let path = format!("/v1/session/{session}/responses");
        self.note(session, || match self.post(client, gateway, &path, &body) {
            Some(_) => What::Raised,
            None => What::MayHaveRaised,
        });
    }

    fn call(&self, client: &Client, gateway: usize, session: &str) {
        let body = json!({"tool": "web_search", "arguments": {"query": "weather"}});
        let path = format!("/v1/session/{session}/authorize");
        self.note(session, || {
            let answer = self.post(client, gateway, &path, &body);
            match answer.and_then(|answer| answer["allowed"].as_bool()) {
                Some(true) => What::Passed,
                Some(false) => What::Blocked,
                None => What::NoDecision,
            }
        });
    }

    fn note(&self, session: &str, ask: impl FnOnce() -> What) {
        let began = self.since.elapsed();
        let what = ask();
        let asked = Asked {
            session: session.to_owned(),
            what,
            began,
            ended: self.since.elapsed(),
        };
        self.history.lock().unwrap().push(asked);
    }

    fn post(&self, client: &Client, gateway: usize, path: &str, body: &Value) -> Option<Value> {
        let url = &self.urls[gateway % self.urls.len()];
        let answer = client
            .post(format!("{url}{path}"))
            .bearer_auth(self.token)
            .json(body)
            .send();
        let answer = answer.ok().filter(|answer| answer.status().is_success());
        answer?.json().ok()
    }
}

pub(crate) fn client() -> Client {
    Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(4))
        .build()
        .unwrap()
}
