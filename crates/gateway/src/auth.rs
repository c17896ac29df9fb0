//! Bearer tokens: making them, and knowing who holds one.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::{header, request::Parts};
use futures_util::stream::{self, Stream, StreamExt as _};
use sha2::{Digest, Sha256};
use tidegate_core::{Ident, Moment, Role};
use tidegate_engine::Caller;
use tidegate_store::{TokenDigest, TokenRecord, TokenStore};

use crate::App;
use crate::problem::Problem;

/// A caller whose token was found. Handlers that take it are reached by nobody else.
pub(crate) struct Known(pub(crate) Caller);

impl FromRequestParts<App> for Known {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let record = app.tokens.find(&digest(shown(parts)?)).await?;
        let record = record.filter(|record| record.revoked_at.is_none());
        let record = record.ok_or_else(|| Problem::unauthorized("this token is unknown or revoked"))?;
        Ok(Self(caller_of(&record)))
    }
}

/// The token that a request shows, for what goes on after the request was let in: it is looked up again, since it may be
/// revoked meanwhile. A handler takes [`Known`] beside it.
pub(crate) struct Shown {
    pub(crate) digest: TokenDigest,
    tokens: Arc<dyn TokenStore>,
}

/// How often a stream on which nothing happens makes sure that its token still holds.
const CHECK_EVERY: Duration = Duration::from_secs(2);

impl FromRequestParts<App> for Shown {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        Ok(Self {
            digest: digest(shown(parts)?),
            tokens: Arc::clone(&app.tokens),
        })
    }
}

impl Shown {
    /// The stream, which ends when the token is revoked: its holder is told nothing more.
    pub(crate) fn end_with_it<S>(self, stream: S) -> impl Stream<Item = S::Item> + Send
    where
        S: Stream<Item: Send> + Send,
    {
        stream::unfold((self, Box::pin(stream)), |(shown, mut stream)| async move {
            let item = shown.next(&mut stream).await?;
            Some((item, (shown, stream)))
        })
    }

    async fn next<S: Stream>(&self, stream: &mut Pin<Box<S>>) -> Option<S::Item> {
        loop {
            let next = tokio::time::timeout(CHECK_EVERY, stream.next()).await;
            if !self.holds().await {
                return None;
            }
            if let Ok(item) = next {
                return item;
            }
        }
    }

    async fn holds(&self) -> bool {
        let token = self.tokens.find(&self.digest).await;
        token.is_ok_and(|token| token.is_some_and(|token| token.revoked_at.is_none()))
    }
}

/// The token in the header of a request.
fn shown(parts: &Parts) -> Result<&str, Problem> {
    let header = parts.headers.get(header::AUTHORIZATION);
    let header =
        header.ok_or_else(|| Problem::unauthorized("send the header `Authorization: Bearer TOKEN`"))?;
    let token = header.to_str().ok().and_then(bearer);
    token.ok_or_else(|| Problem::unauthorized("the Authorization header is not `Bearer TOKEN`"))
}

/// Whoever a token speaks for.
pub(crate) fn caller_of(record: &TokenRecord) -> Caller {
    Caller {
        principal: record.principal.clone(),
        agent: record.agent.clone(),
        role: record.role,
        token_id: record.id.clone(),
    }
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// A token that was just made: the text for its holder, the record for the store.
pub struct NewToken {
    /// The token itself; it is shown once and kept nowhere.
    pub text: String,
    /// What the store keeps.
    pub record: TokenRecord,
}

/// Makes a token of 256 random bits.
///
/// # Errors
/// When the system's source of randomness fails.
pub fn new_token(
    role: Role,
    principal: Ident,
    agent: Option<Ident>,
    at: Moment,
) -> Result<NewToken, NoRandomness> {
    let mut bytes = [0u8; 36];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // The first 32 bits name the token, so that it can be listed and revoked; the rest is the secret.
    let (id, _) = hex.split_at(8);
    let id = Ident::parse(&format!("tok_{id}")).map_err(|_| NoRandomness)?;
    let text = format!("tg_{hex}");
    let record = TokenRecord {
        id,
        digest: digest(&text),
        role,
        principal,
        agent,
        issued_at: at,
        revoked_at: None,
    };
    Ok(NewToken { text, record })
}

/// The digest a token is found by.
#[must_use]
pub fn digest(token: &str) -> TokenDigest {
    TokenDigest(Sha256::digest(token.as_bytes()).into())
}

/// The system's source of randomness failed.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the system gave no random bytes, so no token was made")]
pub struct NoRandomness;
