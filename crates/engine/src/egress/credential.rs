//! What a client of the proxy shows to be taken for a session.
//!
//! A session's id is no secret: it stands in logs and records. The password is a keyed digest of the id, of whom the
//! session was issued to and of the token that asked for it, so nothing has to be kept for each session, and none can be made
//! without the key. The token's own digest stands behind it: a credential is good for as long as its token is. The digest is
//! no token, and none can be made of it.

use std::fmt;
use std::path::Path;

use data_encoding::HEXLOWER;
use hmac::Mac as _;
use tidegate_core::Ident;
use tidegate_store::{Session, TokenDigest};
use zeroize::Zeroizing;

use crate::origin::{OriginKey, OriginKeyError};

/// The key under which credentials are made.
pub struct EgressKey(OriginKey);

impl EgressKey {
    /// The key in a file; made on first use, for its owner alone.
    ///
    /// # Errors
    /// When the file cannot be made or read, is open to others or holds no key.
    pub fn in_file(path: &Path) -> Result<Self, OriginKeyError> {
        OriginKey::in_file(path).map(Self)
    }

    /// The credential of a session for whoever holds this token.
    pub(super) fn credential(&self, session: &Session, token: &TokenDigest) -> Credential {
        let mac = self.0.mac(&bound(session, token)).finalize().into_bytes();
        let hex = mac.iter().chain(&token.0).map(|byte| format!("{byte:02x}"));
        Credential {
            session: session.id.clone(),
            password: Zeroizing::new(hex.collect()),
        }
    }

    /// The token that a password of the session's was given to, told in a time that does not depend on where it differs.
    pub(super) fn token_of(&self, session: &Session, password: &str) -> Option<TokenDigest> {
        let (mac, token) = password.split_at_checked(HEX_DIGITS)?;
        let (mac, token) = (decode(mac)?, TokenDigest(*decode(token)?));
        let is_own = self.0.mac(&bound(session, &token)).verify_slice(&*mac).is_ok();
        is_own.then_some(token)
    }
}

/// Everything that a credential is bound to, each part with its length so that none can slide into the next.
fn bound(session: &Session, token: &TokenDigest) -> Vec<u8> {
    let opened = session.opened_at.0.to_be_bytes();
    let parts = [
        b"egress credential".as_slice(),
        session.id.as_str().as_bytes(),
        session.user.as_str().as_bytes(),
        session.agent.as_str().as_bytes(),
        &opened,
        &token.0,
    ];
    let spelled = parts.iter().flat_map(|part| {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes();
        length.into_iter().chain(part.iter().copied())
    });
    spelled.collect()
}

/// How many digits each half of a password has.
const HEX_DIGITS: usize = 64;

fn decode(hex: &str) -> Option<Zeroizing<[u8; HEX_DIGITS / 2]>> {
    let bytes = Zeroizing::new(HEXLOWER.decode(hex.as_bytes()).ok()?);
    bytes.as_slice().try_into().ok().map(Zeroizing::new)
}

/// What a client shows: the session's id and its password. It does not print.
pub struct Credential {
    /// The session.
    pub session: Ident,
    /// The password.
    pub password: Zeroizing<String>,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({})", self.session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::{ContextState, Moment};

    #[test]
    fn a_credential_is_of_one_session_one_user_one_agent_and_one_key() {
        let dir = tempfile::tempdir().unwrap();
        let key = EgressKey::in_file(&dir.path().join("egress.key")).unwrap();
        let other = EgressKey::in_file(&dir.path().join("other.key")).unwrap();
        let session = |id, user, agent, at| Session {
            id: Ident::parse(id).unwrap(),
            user: Ident::parse(user).unwrap(),
            agent: Ident::parse(agent).unwrap(),
            opened_at: Moment(at),
            context: ContextState::clean(),
        };
        let own = session("s1", "alice", "bot", 1);
        let token = TokenDigest([7; 32]);
        let credential = key.credential(&own, &token);
        assert_eq!(key.token_of(&own, &credential.password), Some(token));
        assert_eq!(other.token_of(&own, &credential.password), None);
        let (mac, _) = credential.password.split_at(HEX_DIGITS);
        let of_another_token = format!("{mac}{}", "08".repeat(32));
        assert_eq!(key.token_of(&own, &of_another_token), None);
        for stranger in [
            session("s2", "alice", "bot", 1),
            session("s1", "bob", "bot", 1),
            session("s1", "alice", "other", 1),
            session("s1", "alice", "bot", 2),
            session("s1a", "lice", "bot", 1),
        ] {
            assert_eq!(key.token_of(&stranger, &credential.password), None);
        }
        for wrong in [
            "",
            "s1",
            "zz",
            mac,
            &"é".repeat(64),
            &"0".repeat(128),
            &credential.password[1..],
        ] {
            assert_eq!(key.token_of(&own, wrong), None);
        }
        assert!(!format!("{credential:?}").contains(credential.password.as_str()));
    }
}
