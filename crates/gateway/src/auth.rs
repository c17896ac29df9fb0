//! Bearer tokens: making them, and knowing who holds one.

use axum::extract::FromRequestParts;
use axum::http::{header, request::Parts};
use sha2::{Digest, Sha256};
use tidegate_core::{Ident, Moment, Role};
use tidegate_engine::Caller;
use tidegate_store::{TokenDigest, TokenRecord};

use crate::App;
use crate::problem::Problem;

/// A caller whose token was found. Handlers that take it are reached by nobody else.
pub(crate) struct Known(pub(crate) Caller);

impl FromRequestParts<App> for Known {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let header = parts.headers.get(header::AUTHORIZATION);
        let header =
            header.ok_or_else(|| Problem::unauthorized("send the header `Authorization: Bearer TOKEN`"))?;
        let token = header.to_str().ok().and_then(bearer);
        let token =
            token.ok_or_else(|| Problem::unauthorized("the Authorization header is not `Bearer TOKEN`"))?;
        let record = app.tokens.find(&digest(token)).await?;
        let record = record.filter(|record| record.revoked_at.is_none());
        let record = record.ok_or_else(|| Problem::unauthorized("this token is unknown or revoked"))?;
        Ok(Self(caller_of(&record)))
    }
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
