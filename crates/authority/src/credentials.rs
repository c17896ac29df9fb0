//! How the gateway shows the server who it is: not at all, by a pre-shared key, or by access tokens that it gets from a
//! token server with client credentials. A token is renewed before it ends, and at once when the server refuses it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tidegate_core::{Class, Confined};
use ureq::Agent;
use url::form_urlencoded::Serializer;

use crate::CallError;

/// How long a token holds whose server does not say.
const UNSAID_LIFE: Duration = Duration::from_secs(300);

/// A token is renewed when this much of its life is left, or a tenth if that is less.
const RENEWED_BEFORE: Duration = Duration::from_secs(30);

const MOST_ANSWER_BYTES: u64 = 64 * 1024;

/// What the gateway shows.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// Nothing.
    None,
    /// A key that the server knows.
    PresharedKey(Confined<String>),
    /// Access tokens from a token server.
    ClientCredentials(ClientCredentials),
}

impl Credentials {
    /// A key that the server knows.
    #[must_use]
    pub fn preshared_key(key: String) -> Self {
        Self::PresharedKey(Confined::new(Class::Secret, key))
    }
}

/// How access tokens are had.
#[derive(Clone, Debug)]
pub struct ClientCredentials {
    /// The address of the token server's token endpoint.
    pub token_url: String,
    /// Who the gateway is there.
    pub client_id: String,
    /// Its secret.
    pub client_secret: Confined<String>,
    /// For whom the tokens are, where the token server wants to know.
    pub audience: Option<String>,
    /// What they are to be good for, where it wants to know.
    pub scopes: Option<String>,
}

/// The credentials, and the token that is held now.
#[derive(Debug)]
pub(crate) struct Bearer {
    credentials: Credentials,
    held: Mutex<Option<Token>>,
}

#[derive(Clone, Debug)]
struct Token {
    text: Confined<String>,
    renewed_at: Instant,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    expires_in: Option<u64>,
}

impl Bearer {
    pub(crate) const fn new(credentials: Credentials) -> Self {
        Self {
            credentials,
            held: Mutex::new(None),
        }
    }

    /// What the next call is to show, if anything.
    pub(crate) fn current(
        &self,
        agent: &Agent,
        deadline: Instant,
    ) -> Result<Option<Confined<String>>, CallError> {
        let client = match &self.credentials {
            Credentials::None => return Ok(None),
            Credentials::PresharedKey(key) => return Ok(Some(key.clone())),
            Credentials::ClientCredentials(client) => client,
        };
        // Held while it is fetched: those who wait need the same token, and the fetch ends with its deadline.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = held.as_ref().filter(|token| Instant::now() < token.renewed_at) {
            return Ok(Some(token.text.clone()));
        }
        let token = client.fetch(agent, deadline)?;
        let text = token.text.clone();
        *held = Some(token);
        Ok(Some(text))
    }

    /// The server refused what it was shown. Whether another try can help.
    pub(crate) fn was_refused(&self) -> bool {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = None;
        matches!(self.credentials, Credentials::ClientCredentials(_))
    }
}

impl ClientCredentials {
    fn fetch(&self, agent: &Agent, deadline: Instant) -> Result<Token, CallError> {
        let asked = Instant::now();
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials")
            .append_pair("client_id", &self.client_id)
            .append_pair("client_secret", self.client_secret.expose());
        for (name, value) in [("audience", &self.audience), ("scope", &self.scopes)] {
            if let Some(value) = value {
                form.append_pair(name, value);
            }
        }
        let left = deadline.saturating_duration_since(asked);
        let request = agent
            .post(&self.token_url)
            .content_type("application/x-www-form-urlencoded")
            .config()
            .timeout_global(Some(left.max(Duration::from_millis(1))))
            .build();
        let mut answer = request.send(form.finish()).map_err(|_| CallError::NoToken)?;
        if answer.status().as_u16() != 200 {
            return Err(CallError::NoToken);
        }
        let body = answer.body_mut().with_config().limit(MOST_ANSWER_BYTES);
        let body = body.read_to_vec().map_err(|_| CallError::NoToken)?;
        let answer: TokenAnswer = serde_json::from_slice(&body).map_err(|_| CallError::NoToken)?;
        let life = answer.expires_in.map_or(UNSAID_LIFE, Duration::from_secs);
        let life = life.min(Duration::from_secs(86_400));
        Ok(Token {
            text: Confined::new(Class::Secret, answer.access_token),
            renewed_at: asked + life.saturating_sub(RENEWED_BEFORE.min(life / 10)),
        })
    }
}
