//! Tokens as entries of a hash.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use data_encoding::HEXLOWER;
use redis::Cmd;
use serde::{Deserialize, Serialize};
use tidegate_core::{Ident, Moment};
use tidegate_store::{StoreError, TokenDigest, TokenRecord, TokenStore};

use crate::failure::damaged;
use crate::question::Question;
use crate::rows::{RedisRows, verdict};

/// A token as it is kept. When it was revoked stands apart, so that no change rewrites this.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    id: String,
    role: String,
    principal: String,
    agent: Option<String>,
    issued_at: i64,
}

#[async_trait]
impl TokenStore for RedisRows {
    async fn issue(&self, token: TokenRecord) -> Result<(), StoreError> {
        let [tokens, digests, _] = self.keys.tokens();
        let digest = HEXLOWER.encode(&token.digest.0);
        let kept = Kept {
            id: token.id.to_string(),
            role: token.role.as_str().to_owned(),
            principal: token.principal.to_string(),
            agent: token.agent.as_ref().map(Ident::to_string),
            issued_at: token.issued_at.0,
        };
        let kept = serde_json::to_string(&kept).map_err(|_| damaged())?;
        let keys = [tokens.as_str(), &digests];
        let args = [digest.as_str(), token.id.as_str(), &kept];
        let reads = self.keys.token_reads();
        let answer = self.call(&reads, &self.scripts.issue, &keys, &args).await?;
        match (verdict(&answer)?, token.revoked_at) {
            ("done", None) => Ok(()),
            ("done", Some(at)) => self.revoke(&token.id, at).await.map(|_| ()),
            _ => Err(StoreError::TokenTaken),
        }
    }

    async fn find(&self, digest: &TokenDigest) -> Result<Option<Arc<TokenRecord>>, StoreError> {
        let [tokens, _, revocations] = self.keys.tokens();
        let field = HEXLOWER.encode(&digest.0);
        // In this order: what is revoked between the two is found to be.
        let both = Question::of([Cmd::hget(tokens, &field), Cmd::hget(revocations, &field)]);
        let found: (Option<String>, Option<i64>) = self.ask(&self.keys.token_reads(), both).await?;
        let (kept, revoked_at) = found;
        let read = |kept: String| read(&kept, *digest, revoked_at);
        kept.map(read).transpose()
    }

    async fn revoke(&self, id: &Ident, at: Moment) -> Result<bool, StoreError> {
        let all = self.keys.tokens();
        let keys = all.each_ref().map(String::as_str);
        let args = [id.as_str(), &at.0.to_string()];
        let reads = self.keys.token_reads();
        let answer = self.call(&reads, &self.scripts.revoke, &keys, &args).await?;
        Ok(verdict(&answer)? == "done")
    }

    async fn tokens(&self) -> Result<Vec<Arc<TokenRecord>>, StoreError> {
        let [tokens, digests, revocations] = self.keys.tokens();
        type Found = (
            HashMap<String, String>,
            HashMap<String, String>,
            HashMap<String, i64>,
        );
        // In this order: whatever comes between them, a token that is listed has its place and its revocation.
        let all = Question::of([tokens, digests, revocations].map(Cmd::hgetall));
        let (kept, places, revoked): Found = self.ask(&self.keys.token_reads(), all).await?;
        let mut listed = Vec::with_capacity(kept.len());
        for (digest, kept) in &kept {
            let bytes = HEXLOWER.decode(digest.as_bytes()).map_err(|_| damaged())?;
            let bytes = TokenDigest(bytes.try_into().map_err(|_| damaged())?);
            let token = read(kept, bytes, revoked.get(digest).copied())?;
            let place = places.get(token.id.as_str()).cloned().unwrap_or_default();
            listed.push((token.issued_at, place, token));
        }
        listed.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        Ok(listed.into_iter().map(|(_, _, token)| token).collect())
    }
}

fn read(kept: &str, digest: TokenDigest, revoked_at: Option<i64>) -> Result<Arc<TokenRecord>, StoreError> {
    let kept: Kept = serde_json::from_str(kept).map_err(|_| damaged())?;
    let ident = |text: &str| Ident::parse(text).map_err(|_| damaged());
    Ok(Arc::new(TokenRecord {
        id: ident(&kept.id)?,
        digest,
        role: kept.role.parse().map_err(|_| damaged())?,
        principal: ident(&kept.principal)?,
        agent: kept.agent.as_deref().map(ident).transpose()?,
        issued_at: Moment(kept.issued_at),
        revoked_at: revoked_at.map(Moment),
    }))
}
