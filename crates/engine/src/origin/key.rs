//! The key under which values are remembered: whoever reads the store learns nothing of them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tidegate_core::Ident;
use zeroize::Zeroizing;

/// The key of all digests of one state.
pub struct OriginKey(Zeroizing<[u8; 32]>);

/// Why the key cannot be used. The key itself is never part of it.
#[derive(Debug, thiserror::Error)]
pub enum OriginKeyError {
    /// Others than its owner may read or write it.
    #[error("the key file is open to others: allow its owner alone (chmod 600)")]
    OpenToOthers,
    /// It is not what was written there.
    #[error("the key file does not hold a key of 32 bytes")]
    NotAKey,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
    /// The system refused.
    #[error("the key file cannot be used: {0}")]
    Io(io::ErrorKind),
}

impl From<io::Error> for OriginKeyError {
    fn from(error: io::Error) -> Self {
        Self::Io(error.kind())
    }
}

impl OriginKey {
    /// The key in a file; made on first use, for its owner alone. Of processes that make it at once, one wins.
    ///
    /// # Errors
    /// When the file cannot be made or read, is open to others or holds no key.
    pub fn in_file(path: &Path) -> Result<Self, OriginKeyError> {
        match Self::read(path) {
            Err(OriginKeyError::Io(io::ErrorKind::NotFound)) => {
                Self::make_durably(path)?;
                Self::read(path)
            }
            read => read,
        }
    }

    /// A key that several gateways derive from what they share.
    #[must_use]
    pub fn derived(key: [u8; 32]) -> Self {
        Self(Zeroizing::new(key))
    }

    fn read(path: &Path) -> Result<Self, OriginKeyError> {
        let mut file = File::open(path)?;
        if file.metadata()?.mode() & 0o077 != 0 {
            return Err(OriginKeyError::OpenToOthers);
        }
        let mut key = Zeroizing::new([0; 32]);
        file.read_exact(&mut *key).map_err(|_| OriginKeyError::NotAKey)?;
        if file.read(&mut [0])? != 0 {
            return Err(OriginKeyError::NotAKey);
        }
        Ok(Self(key))
    }

    /// Written beside and linked into place, so that the file is there whole or not at all.
    fn make_durably(path: &Path) -> Result<(), OriginKeyError> {
        let mut key = Zeroizing::new([0; 32]);
        let mut name = [0; 8];
        getrandom::fill(&mut *key).map_err(|_| OriginKeyError::NoRandom)?;
        getrandom::fill(&mut name).map_err(|_| OriginKeyError::NoRandom)?;
        let fresh = path.with_extension(format!("{:016x}", u64::from_ne_bytes(name)));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)?;
        let written = file.write_all(&*key).and_then(|()| file.sync_all());
        let linked = written.and_then(|()| std::fs::hard_link(&fresh, path));
        std::fs::remove_file(&fresh)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        let directory = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        Ok(File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?)
    }

    /// What digests the values of one session: the same value has another digest in another session.
    pub(super) fn of_session(&self, session: &Ident) -> Digester {
        let mut mac = keyed(&self.0);
        mac.update(session.as_str().as_bytes());
        let own: [u8; 32] = mac.finalize().into_bytes().into();
        Digester(keyed(&own))
    }

    /// A digest of something else than a value, under a key of the same making.
    pub(crate) fn mac(&self, text: &[u8]) -> Hmac<Sha256> {
        let mut mac = keyed(&self.0);
        mac.update(text);
        mac
    }

    /// Another key, for another use of the same secret.
    pub(crate) fn for_purpose(&self, purpose: &[u8]) -> Zeroizing<[u8; 32]> {
        let mut mac = keyed(&self.0);
        // A session's name cannot begin like this, so its key is never the same.
        mac.update(b"/");
        mac.update(purpose);
        Zeroizing::new(mac.finalize().into_bytes().into())
    }

    #[cfg(test)]
    pub(crate) fn fixed() -> Self {
        Self(Zeroizing::new([7; 32]))
    }
}

/// A key is filled up with zeros to the hash's block, as HMAC has it.
fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    let mut block = Zeroizing::new([0; 64]);
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    Hmac::<Sha256>::new((&*block).into())
}

/// Digests the values of one session.
#[derive(Clone)]
pub(super) struct Digester(Hmac<Sha256>);

impl Digester {
    /// The digest of a strict spelling.
    pub(super) fn strict(&self, text: &str) -> u64 {
        self.digest(b'S', text)
    }

    /// The digest of a loose spelling.
    pub(super) fn loose(&self, text: &str) -> u64 {
        self.digest(b'L', text)
    }

    fn digest(&self, spelling: u8, text: &str) -> u64 {
        let mut mac = self.0.clone();
        mac.update(&[spelling]);
        mac.update(text.as_bytes());
        let whole: [u8; 32] = mac.finalize().into_bytes().into();
        let (short, _) = whole.as_chunks::<8>();
        short.first().map_or(0, |bytes| u64::from_be_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_key_is_made_once_and_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("origin.key");
        let session = Ident::parse("s").unwrap();
        let digest = |path: &Path| {
            let key = OriginKey::in_file(path).unwrap();
            key.of_session(&session).strict("value")
        };
        assert_eq!(digest(&path), digest(&path));
        assert_ne!(digest(&path), digest(&dir.path().join("other.key")));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(
            OriginKey::in_file(&path),
            Err(OriginKeyError::OpenToOthers)
        ));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, [1; 31]).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(OriginKey::in_file(&path), Err(OriginKeyError::NotAKey)));
    }

    #[test]
    fn sessions_and_spellings_have_digests_of_their_own() {
        let key = OriginKey::fixed();
        let digester = |id| key.of_session(&Ident::parse(id).unwrap());
        let all = [
            digester("a").strict("x"),
            digester("a").loose("x"),
            digester("b").strict("x"),
            digester("a").strict("y"),
        ];
        let different: std::collections::HashSet<_> = all.into_iter().collect();
        assert_eq!(different.len(), all.len());
    }
}
