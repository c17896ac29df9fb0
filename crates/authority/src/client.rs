//! One call over HTTP: bounded in time and size, to the configured address and nowhere else.
//!
//! Calls block; whoever must not wait puts them on a blocking thread. Every call has a deadline, so a question of several
//! calls ends in time as well.

use std::time::Instant;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tidegate_core::Confined;
use ureq::Agent;

use crate::credentials::Bearer;
use crate::{CallError, Settings};

const MOST_ANSWER_BYTES: u64 = 4 << 20;

/// Connections that are kept for the next call; as many as there are questions at once.
pub(crate) const MOST_CONNECTIONS: usize = 32;

/// A server and the credentials for it.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    bearer: Bearer,
    pub(crate) settings: Settings,
}

impl Client {
    /// Prepares the client. Nothing is sent yet. Neither redirects nor proxies of the environment are followed.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let agent = Agent::config_builder()
            .timeout_global(Some(settings.timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .max_idle_connections(MOST_CONNECTIONS)
            .max_idle_connections_per_host(MOST_CONNECTIONS)
            .build()
            .new_agent();
        let bearer = Bearer::new(settings.credentials.clone());
        Self {
            agent,
            bearer,
            settings,
        }
    }

    /// When a question that is asked now must have ended.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.settings.timeout
    }

    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str, deadline: Instant) -> Result<T, CallError> {
        self.call(path, None, deadline)
    }

    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
        deadline: Instant,
    ) -> Result<T, CallError> {
        self.call(path, Some(body.to_string()), deadline)
    }

    fn call<T: DeserializeOwned>(
        &self,
        path: &str,
        body: Option<String>,
        deadline: Instant,
    ) -> Result<T, CallError> {
        let shown = self.bearer.current(&self.agent, deadline)?;
        let answer = match self.send(path, body.as_deref(), shown.as_ref(), deadline) {
            Err(CallError::Unauthorized) if self.bearer.was_refused() => {
                let shown = self.bearer.current(&self.agent, deadline)?;
                self.send(path, body.as_deref(), shown.as_ref(), deadline)?
            }
            answer => answer?,
        };
        serde_json::from_slice(&answer).map_err(|_| CallError::Unreadable)
    }

    fn send(
        &self,
        path: &str,
        body: Option<&str>,
        shown: Option<&Confined<String>>,
        deadline: Instant,
    ) -> Result<Vec<u8>, CallError> {
        let url = format!("{}{path}", self.settings.url);
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(CallError::TimedOut);
        }
        let bearer = shown.map(|token| format!("Bearer {}", token.expose()));
        let sent = match body {
            Some(body) => {
                let mut request = self.agent.post(&url).content_type("application/json");
                if let Some(bearer) = bearer {
                    request = request.header("authorization", bearer);
                }
                request.config().timeout_global(Some(left)).build().send(body)
            }
            None => {
                let mut request = self.agent.get(&url);
                if let Some(bearer) = bearer {
                    request = request.header("authorization", bearer);
                }
                request.config().timeout_global(Some(left)).build().call()
            }
        };
        let mut answer = sent.map_err(|error| failure(&error))?;
        match answer.status().as_u16() {
            200..=299 => {}
            401 | 403 => return Err(CallError::Unauthorized),
            status => return Err(CallError::Status(status)),
        }
        let body = answer.body_mut().with_config().limit(MOST_ANSWER_BYTES);
        body.read_to_vec().map_err(|error| failure(&error))
    }
}

fn failure(error: &ureq::Error) -> CallError {
    match error {
        ureq::Error::Timeout(_) => CallError::TimedOut,
        ureq::Error::BodyExceedsLimit(_)
        | ureq::Error::LargeResponseHeader(..)
        | ureq::Error::Protocol(_) => CallError::Unreadable,
        _ => CallError::Unreachable,
    }
}
