//! What a client of the proxy shows to be taken for a session.
//!
//! A session's id is no secret: it stands in logs and records. The credential is a keyed digest of the id and of whom the
//! session was issued to, so nothing has to be kept for each session, and none can be made without the key.

use std::fmt;
use std::path::Path;

use hmac::Mac as _;
use tidegate_core::Ident;
use tidegate_store::Session;
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

    /// The credential of a session.
    pub(super) fn credential(&self, session: &Session) -> Credential {
        let mac = self.0.mac(&bound(session)).finalize().into_bytes();
        let hex = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        Credential {
            session: session.id.clone(),
            password: Zeroizing::new(hex),
        }
    }

    /// Whether a password is the session's, in a time that does not depend on where it differs.
    pub(super) fn is_of(&self, session: &Session, password: &str) -> bool {
        let decoded = decode(password);
        decoded.is_some_and(|mac| self.0.mac(&bound(session)).verify_slice(&mac).is_ok())
    }
}

/// Everything that a credential is bound to, each part with its length so that none can slide into the next.
fn bound(session: &Session) -> Vec<u8> {
    let opened = session.opened_at.0.to_be_bytes();
    let parts = [
        b"egress credential".as_slice(),
        session.id.as_str().as_bytes(),
        session.user.as_str().as_bytes(),
        session.agent.as_str().as_bytes(),
        &opened,
    ];
    let spelled = parts.iter().flat_map(|part| {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes();
        length.into_iter().chain(part.iter().copied())
    });
    spelled.collect()
}

fn decode(hex: &str) -> Option<Zeroizing<Vec<u8>>> {
    if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let bytes = (0..64)
        .step_by(2)
        .map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok());
    bytes.collect::<Option<Vec<_>>>().map(Zeroizing::new)
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
        let credential = key.credential(&own);
        assert!(key.is_of(&own, &credential.password));
        assert!(!other.is_of(&own, &credential.password));
        for stranger in [
            session("s2", "alice", "bot", 1),
            session("s1", "bob", "bot", 1),
            session("s1", "alice", "other", 1),
            session("s1", "alice", "bot", 2),
            session("s1a", "lice", "bot", 1),
        ] {
            assert!(!key.is_of(&stranger, &credential.password));
        }
        for wrong in [
            "",
            "s1",
            "zz",
            &"é".repeat(32),
            &"0".repeat(64),
            &credential.password[1..],
        ] {
            assert!(!key.is_of(&own, wrong));
        }
        assert!(!format!("{credential:?}").contains(credential.password.as_str()));
    }
}
