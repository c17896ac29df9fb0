//! Tokens as rows.

use std::sync::Arc;

use async_trait::async_trait;
use tidegate_core::{Ident, Moment};
use tidegate_store::{StoreError, TokenDigest, TokenRecord, TokenStore};

use crate::failure::damaged;
use crate::query::Query;
use crate::rows::PostgresRows;

#[async_trait]
impl TokenStore for PostgresRows {
    async fn issue(&self, token: TokenRecord) -> Result<(), StoreError> {
        let issued = self
            .change(
                Query::Issue,
                &[
                    &token.id.as_str(),
                    &token.digest.0.as_slice(),
                    &token.role.as_str(),
                    &token.principal.as_str(),
                    &token.agent.as_ref().map(Ident::as_str),
                    &token.issued_at.0,
                    &token.revoked_at.map(|at| at.0),
                ],
            )
            .await;
        match issued? {
            0 => Err(StoreError::TokenTaken),
            _ => Ok(()),
        }
    }

    async fn find(&self, digest: &TokenDigest) -> Result<Option<Arc<TokenRecord>>, StoreError> {
        let rows = self.ask(Query::FindToken, &[&digest.0.as_slice()]).await?;
        rows.first().map(read).transpose()
    }

    async fn revoke(&self, id: &Ident, at: Moment) -> Result<bool, StoreError> {
        Ok(self.change(Query::Revoke, &[&id.as_str(), &at.0]).await? == 1)
    }

    async fn tokens(&self) -> Result<Vec<Arc<TokenRecord>>, StoreError> {
        let rows = self.ask(Query::Tokens, &[]).await?;
        rows.iter().map(read).collect()
    }
}

fn read(row: &tokio_postgres::Row) -> Result<Arc<TokenRecord>, StoreError> {
    let text = |column: usize| row.try_get::<_, &str>(column).map_err(|_| damaged());
    let ident = |text: &str| Ident::parse(text).map_err(|_| damaged());
    let digest: &[u8] = row.try_get(1).map_err(|_| damaged())?;
    let agent: Option<&str> = row.try_get(4).map_err(|_| damaged())?;
    let revoked_at: Option<i64> = row.try_get(6).map_err(|_| damaged())?;
    Ok(Arc::new(TokenRecord {
        id: ident(text(0)?)?,
        digest: TokenDigest(digest.try_into().map_err(|_| damaged())?),
        role: text(2)?.parse().map_err(|_| damaged())?,
        principal: ident(text(3)?)?,
        agent: agent.map(ident).transpose()?,
        issued_at: Moment(row.try_get(5).map_err(|_| damaged())?),
        revoked_at: revoked_at.map(Moment),
    }))
}
