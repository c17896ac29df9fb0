//! The vault's keys: one in use, older ones until rotation is done.

use std::path::PathBuf;

use data_encoding::HEXLOWER;
use zeroize::Zeroizing;

use super::VaultError;
use crate::key_file::{self, not_a_key};

/// Where the vault's keys come from. Each key is written `<16 hex digits> <64 hex digits>`: its public id and the key.
/// The first is in use; the others still open what was put away under them.
#[derive(Clone)]
pub enum KeySource {
    /// A file for the owner alone, one key on each line; created on first start.
    File(PathBuf),
    /// Given by the operator, keys separated by commas or lines. To rotate, start with the new key first and the old
    /// one behind it, rotate, and leave the old one out from then on.
    Given(Zeroizing<String>),
}

impl KeySource {
    /// The keys in an environment variable, if it is set.
    ///
    /// # Errors
    /// When what it holds is no text.
    pub fn from_environment(variable: &str) -> Result<Option<Self>, VaultError> {
        match std::env::var(variable) {
            Ok(text) => Ok(Some(Self::Given(Zeroizing::new(text)))),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => Err(VaultError::NotKeys),
        }
    }
}

pub(super) struct Key {
    id: [u8; 8],
    secret: Zeroizing<[u8; 32]>,
}

impl Key {
    pub(super) const fn id(&self) -> &[u8; 8] {
        &self.id
    }

    pub(super) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    fn generate() -> Result<Self, VaultError> {
        Ok(Self {
            id: key_file::random()?,
            secret: Zeroizing::new(key_file::random()?),
        })
    }

    fn copy(&self) -> Self {
        Self {
            id: self.id,
            secret: self.secret.clone(),
        }
    }
}

/// INVARIANT (there is a key): at least one.
pub(super) struct KeyRing {
    current: Key,
    older: Vec<Key>,
}

impl KeyRing {
    pub(super) const fn current(&self) -> &Key {
        &self.current
    }

    pub(super) fn find(&self, id: &[u8; 8]) -> Option<&Key> {
        std::iter::once(&self.current)
            .chain(&self.older)
            .find(|key| key.id == *id)
    }

    fn to_text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity((self.older.len() + 1) * 82));
        for key in std::iter::once(&self.current).chain(&self.older) {
            text.push_str(&shown_id(&key.id));
            text.push(' ');
            text.push_str(&Zeroizing::new(HEXLOWER.encode(&*key.secret)));
            text.push('\n');
        }
        text
    }
}

/// Reads the keys, or nothing if there are none yet.
pub(super) fn load(source: &KeySource) -> Result<Option<KeyRing>, VaultError> {
    match source {
        KeySource::Given(text) => parse(text).map(Some).ok_or(VaultError::NotKeys),
        KeySource::File(path) => match key_file::read(path)? {
            None => Ok(None),
            Some(text) => Ok(Some(parse(&text).ok_or_else(|| not_a_key(path))?)),
        },
    }
}

/// A first key, kept where the source says.
pub(super) fn create(source: &KeySource) -> Result<KeyRing, VaultError> {
    let ring = KeyRing {
        current: Key::generate()?,
        older: Vec::new(),
    };
    save(source, &ring)?;
    Ok(ring)
}

/// The first step of a rotation: a new key in use, the old ones still there. Given keys are the operator's to change.
pub(super) fn add(source: &KeySource, ring: &KeyRing) -> Result<KeyRing, VaultError> {
    let all = || std::iter::once(&ring.current).chain(&ring.older).map(Key::copy);
    let grown = match source {
        KeySource::File(_) => KeyRing {
            current: Key::generate()?,
            older: all().collect(),
        },
        KeySource::Given(_) => KeyRing {
            current: ring.current.copy(),
            older: all().skip(1).collect(),
        },
    };
    save(source, &grown)?;
    Ok(grown)
}

/// The last step of a rotation: nothing lies under the old keys any more.
pub(super) fn drop_old(source: &KeySource, ring: &KeyRing) -> Result<KeyRing, VaultError> {
    let alone = KeyRing {
        current: ring.current.copy(),
        older: Vec::new(),
    };
    save(source, &alone)?;
    Ok(alone)
}

/// How a key's public id is shown.
pub(super) fn shown_id(id: &[u8; 8]) -> String {
    HEXLOWER.encode(id)
}

pub(super) fn parse(text: &str) -> Option<KeyRing> {
    let mut keys = text
        .split([',', '\n'])
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(parse_one);
    let current = keys.next()??;
    let older: Vec<Key> = keys.collect::<Option<_>>()?;
    let ring = KeyRing { current, older };
    // Two keys under one id: which one would open what?
    let distinct = ring.older.iter().enumerate().all(|(n, key)| {
        key.id != ring.current.id && ring.older.iter().take(n).all(|earlier| earlier.id != key.id)
    });
    distinct.then_some(ring)
}

fn parse_one(entry: &str) -> Option<Key> {
    let (id, secret) = entry.split_once(' ')?;
    let id = HEXLOWER.decode(id.as_bytes()).ok()?.try_into().ok()?;
    let secret = Zeroizing::new(HEXLOWER.decode(secret.trim_start().as_bytes()).ok()?);
    Some(Key {
        id,
        secret: Zeroizing::new(secret.as_slice().try_into().ok()?),
    })
}

fn save(source: &KeySource, ring: &KeyRing) -> Result<(), VaultError> {
    match source {
        KeySource::File(path) => Ok(key_file::overwrite_durably(path, &ring.to_text())?),
        KeySource::Given(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_and_nothing_else_does() {
        let one = format!("{} {}", "0a".repeat(8), "0b".repeat(32));
        let two = format!("{} {}", "0c".repeat(8), "0d".repeat(32));
        let ring = parse(&format!("{one}, {two}\n")).unwrap();
        assert_eq!(ring.current.id, [0x0a; 8]);
        assert_eq!(ring.find(&[0x0c; 8]).unwrap().secret(), &[0x0d; 32]);
        assert_eq!(ring.to_text().as_str(), format!("{one}\n{two}\n"));
        for bad in [
            "",
            "\n",
            "0a",
            &one[1..],
            &one.to_uppercase(),
            &format!("{one},{one}"),
        ] {
            assert!(parse(bad).is_none(), "{bad:?}");
        }
    }
}
