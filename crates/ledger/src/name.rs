//! The texts a record may hold. Each type is a promise about what cannot be inside: a name has no room for prose,
//! a reason is bounded, a digest of content is keyed so that a short value cannot be guessed from it.

use std::fmt;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use tidegate_core::Ident;
use zeroize::Zeroizing;

/// The name of a tool, rule, source, field or destination.
///
/// Wider than [`Ident`] by what paths and addresses need (`$.guest[0].name`, `[::1]:443`), and like it without
/// spaces, quotes or control characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// The most characters a name may have.
    pub const MAX_LEN: usize = 200;

    /// Stands for a text that is no name. It cannot be parsed, so nobody can claim it.
    const UNNAMEABLE: &'static str = "(unnameable)";

    /// Reads a name.
    ///
    /// # Errors
    /// When the text is empty, too long, or holds a character outside the set.
    pub fn parse(text: &str) -> Result<Self, BadName> {
        let fits = (1..=Self::MAX_LEN).contains(&text.len());
        if fits
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-:@+/$[]*#~=,%".contains(&b))
        {
            Ok(Self(text.into()))
        } else {
            Err(BadName)
        }
    }

    /// Reads a name, or keeps only the fact that there was none: for names a client chose, such as the keys of a
    /// call's arguments, which must not stop the record from being written.
    #[must_use]
    pub fn or_unnameable(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|BadName| Self(Self::UNNAMEABLE.into()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&Ident> for Name {
    fn from(ident: &Ident) -> Self {
        Self(ident.as_str().into())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == Self::UNNAMEABLE {
            return Ok(Self(Self::UNNAMEABLE.into()));
        }
        Self::parse(&text).map_err(D::Error::custom)
    }
}

/// The text is no name. It is not repeated: it may hold anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to 200 letters, digits and . _ - : @ + / $ [ ] * # ~ = , %")]
pub struct BadName;

/// What a person wrote to explain an act. Bounded, and on one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason(Arc<str>);

impl Reason {
    /// The most characters that are kept.
    pub const MAX_CHARS: usize = 500;

    /// Keeps the first [`Self::MAX_CHARS`] characters; control characters become spaces.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let line = text
            .chars()
            .take(Self::MAX_CHARS)
            .map(|c| if c.is_control() { ' ' } else { c });
        Self(line.collect::<String>().into())
    }

    /// The reason as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::new(&String::deserialize(deserializer)?))
    }
}

/// The SHA-256 of something that is not confidential: a policy file, say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublicDigest([u8; 32]);

impl PublicDigest {
    const PREFIX: &'static str = "sha256:";

    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

/// A digest of content under a key that stays with the ledger.
///
/// Equal content gives equal digests, which is what tracing a chunk needs; without the key a short value (a phone
/// number) cannot be found by trying them all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyedDigest([u8; 32]);

impl KeyedDigest {
    const PREFIX: &'static str = "hmac-sha256:";

    /// The digest itself.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

/// The key behind every [`KeyedDigest`] of one ledger.
#[derive(Clone)]
pub struct DigestKey(Zeroizing<[u8; 64]>);

impl DigestKey {
    /// Derives the key from another secret. The purpose keeps it apart from every other use of that secret.
    pub(crate) fn derive(secret: &[u8; 32]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(b"tidegate-ledger-content-digest-v1\0");
        hasher.update(secret);
        // HMAC pads a key with zeroes to the hash's block.
        let mut key = Zeroizing::new([0; 64]);
        key.iter_mut()
            .zip(hasher.finalize())
            .for_each(|(to, from)| *to = from);
        Self(key)
    }

    /// The digest of some content.
    #[must_use]
    pub fn digest(&self, content: &[u8]) -> KeyedDigest {
        let mut mac = Hmac::<Sha256>::new((&*self.0).into());
        mac.update(content);
        KeyedDigest(mac.finalize().into_bytes().into())
    }
}

impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestKey")
    }
}

macro_rules! digest_as_text {
    ($digest:ty) => {
        impl fmt::Display for $digest {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", Self::PREFIX, HEXLOWER.encode(&self.0))
            }
        }

        impl Serialize for $digest {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $digest {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.strip_prefix(Self::PREFIX)
                    .and_then(|hex| HEXLOWER.decode(hex.as_bytes()).ok())
                    .and_then(|bytes| bytes.try_into().ok())
                    .map(Self)
                    .ok_or_else(|| D::Error::custom("not a digest"))
            }
        }
    };
}

digest_as_text!(PublicDigest);
digest_as_text!(KeyedDigest);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_name_leaves_no_trace() {
        for text in [
            "",
            "two words",
            "quote\"",
            "line\n",
            "é",
            "(unnameable)",
            &"x".repeat(201),
        ] {
            assert_eq!(Name::parse(text), Err(BadName), "{text:?}");
            assert_eq!(Name::or_unnameable(text).as_str(), Name::UNNAMEABLE);
        }
        assert_eq!(Name::or_unnameable("$.guest[0].name").as_str(), "$.guest[0].name");
    }

    #[test]
    fn a_reason_is_one_bounded_line() {
        assert_eq!(Reason::new("a\nb\u{7}c").as_str(), "a b c");
        assert_eq!(
            Reason::new(&"é".repeat(600)).as_str().chars().count(),
            Reason::MAX_CHARS
        );
    }

    #[test]
    fn a_content_digest_needs_its_key() {
        let (one, other) = (DigestKey::derive(&[1; 32]), DigestKey::derive(&[2; 32]));
        assert_eq!(one.digest(b"555-0100"), one.digest(b"555-0100"));
        assert_ne!(one.digest(b"555-0100"), other.digest(b"555-0100"));
        assert_eq!(format!("{one:?}"), "DigestKey");
    }

    #[test]
    fn digests_read_back() {
        let public = PublicDigest::of(b"policy");
        let text = serde_json::to_string(&public).unwrap();
        assert_eq!(serde_json::from_str::<PublicDigest>(&text).unwrap(), public);
        assert!(serde_json::from_str::<KeyedDigest>(&text).is_err());
    }
}
