//! Asking a running gateway over HTTP.

use clap::Args;
use serde_json::Value;
use url::Url;

use super::answer_now;
use super::remote::{token_of, unanswered};
use crate::failure::Failure;

#[derive(Args, Debug)]
pub(super) struct Asking {
    /// The gateway's address
    #[arg(
        long,
        value_name = "URL",
        env = "TIDEGATE_URL",
        default_value = "http://127.0.0.1:7413"
    )]
    gateway: Url,
    /// The token to ask with
    #[arg(long, env = "TIDEGATE_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

impl Asking {
    /// Asks, and gives the answer.
    pub(super) fn ask(&self, path: &[&str], body: Option<Value>) -> Result<Value, Failure> {
        self.send(self.address(path)?, body)
    }

    /// The first page of what is in this state, as long as a page may be.
    pub(super) fn page(&self, path: &[&str], state: &str) -> Result<Value, Failure> {
        let mut url = self.address(path)?;
        url.query_pairs_mut()
            .clear()
            .append_pair("state", state)
            .append_pair("limit", "200");
        self.send(url, None)
    }

    fn send(&self, url: Url, body: Option<Value>) -> Result<Value, Failure> {
        answer_now(send(url, token_of(self.token.as_deref())?, body))?
    }

    fn address(&self, path: &[&str]) -> Result<Url, Failure> {
        let mut url = self.gateway.clone();
        // Each part by itself, so that an id cannot lead elsewhere.
        match url.path_segments_mut() {
            Ok(mut segments) => {
                segments.pop_if_empty().extend(path);
            }
            Err(()) => return Err(Failure::usage("the gateway's address cannot be one")),
        }
        Ok(url)
    }
}

/// A text of an answer. What a client named is shown so that a terminal does nothing with it.
pub(super) fn field(answer: &Value, name: &str) -> String {
    let text = answer.get(name).and_then(Value::as_str).unwrap_or("-");
    text.escape_debug().to_string()
}

async fn send(url: Url, token: &str, body: Option<Value>) -> Result<Value, Failure> {
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .map_err(Failure::environment)?;
    let request = match &body {
        Some(body) => client.post(url.clone()).json(body),
        None => client.get(url.clone()),
    };
    let response = request
        .bearer_auth(token)
        .send()
        .await
        .map_err(|error| unanswered(&url, &error))?;
    let status = response.status();
    let document: Value = response.json().await.unwrap_or_default();
    if status.is_success() {
        return Ok(document);
    }
    let detail = document.get("detail").and_then(Value::as_str);
    let message = format!(
        "the gateway refused ({status}): {}",
        detail.unwrap_or("no reason was given")
    );
    Err(match status.is_server_error() {
        true => Failure::environment(message),
        false => Failure::no(message),
    })
}
