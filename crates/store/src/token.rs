//! Bearer tokens as a store keeps them: a digest, never the token.

use tidegate_core::{Ident, Moment, Role};

/// The SHA-256 of a token's text. Tokens carry 256 random bits, so a plain digest cannot be guessed back.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenDigest(pub [u8; 32]);

impl std::fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenDigest(..)")
    }
}

/// Who holds a token and what it is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// A short public name to revoke it by.
    pub id: Ident,
    /// The digest it is found by.
    pub digest: TokenDigest,
    /// What it is good for.
    pub role: Role,
    /// Who holds it.
    pub principal: Ident,
    /// The agent it is bound to, if it is bound to one.
    pub agent: Option<Ident>,
    /// When it was issued.
    pub issued_at: Moment,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Moment>,
}
