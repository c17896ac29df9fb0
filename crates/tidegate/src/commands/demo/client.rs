//! The demo's agent: plain HTTP, as any agent would speak it.

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::failure::Failure;

/// Speaks to one gateway with one token.
pub(super) struct Client {
    http: reqwest::Client,
    base: String,
    token: String,
}

impl Client {
    pub(super) fn new(base: &str, token: &str) -> Result<Self, Failure> {
        // The gateway is on this machine: a proxy from the environment has no part in this.
        let http = reqwest::Client::builder()
            .no_proxy()
            .build()
            .map_err(Failure::environment)?;
        Ok(Self {
            http,
            base: format!("{base}/v1"),
            token: token.to_owned(),
        })
    }

    /// Asks; anything but success is a failure of the demo.
    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        expect_success(path, self.send(Method::GET, path, None).await?)
    }

    /// Tells; anything but success is a failure of the demo.
    pub(super) async fn post(&self, path: &str, body: Value) -> Result<Value, Failure> {
        expect_success(path, self.send(Method::POST, path, Some(body)).await?)
    }

    /// Tells, and takes a refusal for an answer.
    pub(super) async fn try_post(&self, path: &str, body: Value) -> Result<(StatusCode, Value), Failure> {
        self.send(Method::POST, path, Some(body)).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<(StatusCode, Value), Failure> {
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.base))
            .bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.map_err(Failure::environment)?;
        let status = answer.status();
        let body = answer.json().await.map_err(Failure::environment)?;
        Ok((status, body))
    }
}

fn expect_success(path: &str, (status, body): (StatusCode, Value)) -> Result<Value, Failure> {
    if status.is_success() {
        return Ok(body);
    }
    let detail = super::text_at(&body, "/detail");
    Err(Failure::no(format_args!(
        "the gateway answered {path} with {status}: {detail}"
    )))
}
