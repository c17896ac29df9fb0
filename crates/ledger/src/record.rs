//! One record: a fixed binary envelope around an event in JSON.
//!
//! The envelope is binary so that the verifier hashes and links records without parsing any text; the event is JSON
//! so that a person with a hex dump can read what was recorded. The record's hash is at the same time the leaf of the
//! Merkle tree (the leaf rule of RFC 6962), so verifying hashes every byte once.

use std::fmt;
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};
use tidegate_core::Ident;

use crate::bytes::Bytes;

/// A SHA-256.
pub type Hash = [u8; 32];

/// The version of the format that this code writes.
pub const FORMAT_VERSION: u8 = 1;

/// What precedes the first record of a chain.
pub(crate) const NO_HASH: Hash = [0; 32];

const LEAF: u8 = 0;

/// Which chain a record belongs to. A session can never take the gateway's place, whatever it is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Chain {
    /// What concerns no single session: start, stop, policy, administrators.
    Gateway,
    /// One session's own history.
    Session(Ident),
}

impl Chain {
    const GATEWAY: u8 = 0;
    const SESSION: u8 = 1;

    /// The session, if the chain is one's.
    #[must_use]
    pub const fn session(&self) -> Option<&Ident> {
        match self {
            Self::Gateway => None,
            Self::Session(session) => Some(session),
        }
    }

    /// The chain as the envelope holds it: kind, length, name.
    pub(crate) fn encode(&self, into: &mut Vec<u8>) {
        let (kind, name) = match self {
            Self::Gateway => (Self::GATEWAY, ""),
            Self::Session(session) => (Self::SESSION, session.as_str()),
        };
        // An ident has at most 128 bytes.
        into.extend([kind, u8::try_from(name.len()).unwrap_or(u8::MAX)]);
        into.extend(name.as_bytes());
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [Self::GATEWAY, 0] => Some(Self::Gateway),
            [Self::SESSION, len, name @ ..] if usize::from(*len) == name.len() => std::str::from_utf8(name)
                .ok()
                .and_then(|name| Ident::parse(name).ok())
                .map(Self::Session),
            _ => None,
        }
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway => f.write_str("gateway"),
            Self::Session(session) => write!(f, "session {session}"),
        }
    }
}

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Among all records of the ledger.
    pub(crate) index: u64,
    /// In its chain.
    pub(crate) seq: u64,
    /// The hash of the record before it in its chain.
    pub(crate) prev: Hash,
}

/// Writes one record, length first, and gives its hash.
pub(crate) fn encode(chain: &Chain, place: Place, at_ms: i64, event: &[u8], into: &mut Vec<u8>) -> Hash {
    let start = into.len();
    into.extend([0; 4]);
    into.push(FORMAT_VERSION);
    chain.encode(into);
    into.extend(place.index.to_le_bytes());
    into.extend(place.seq.to_le_bytes());
    into.extend(at_ms.to_le_bytes());
    into.extend(place.prev);
    into.extend(u32::try_from(event.len()).unwrap_or(u32::MAX).to_le_bytes());
    into.extend(event);
    let body = into.get(start + 4..).unwrap_or_default();
    let hash = hash_body(body);
    let len = u32::try_from(body.len() + hash.len()).unwrap_or(u32::MAX);
    into.extend(hash);
    if let Some(field) = into.get_mut(start..start + 4) {
        field.copy_from_slice(&len.to_le_bytes());
    }
    hash
}

/// A record as it lies in a segment. Its hash has not been checked.
#[derive(Clone, Copy)]
pub(crate) struct RecordView<'a> {
    /// Everything the hash covers.
    pub(crate) body: &'a [u8],
    /// Kind, length and name of the chain, as encoded.
    pub(crate) chain: &'a [u8],
    pub(crate) index: u64,
    pub(crate) seq: u64,
    pub(crate) at_ms: i64,
    pub(crate) prev: &'a Hash,
    pub(crate) event: &'a [u8],
    pub(crate) hash: &'a Hash,
}

impl<'a> RecordView<'a> {
    /// Takes one record from the front.
    pub(crate) fn take(bytes: &mut Bytes<'a>) -> Option<Self> {
        let len = bytes.len32()?;
        let (body, hash) = bytes.take(len)?.split_last_chunk::<32>()?;
        Self::parse(body, hash)
    }

    /// Reads a record from what its hash covers.
    pub(crate) fn parse(body: &'a [u8], hash: &'a Hash) -> Option<Self> {
        let mut rest = Bytes::new(body);
        if rest.u8()? != FORMAT_VERSION {
            return None;
        }
        let mut after = rest;
        let [_, name_len] = *after.array()?;
        let chain = rest.take(2 + usize::from(name_len))?;
        let (index, seq, at_ms, prev) = (rest.u64()?, rest.u64()?, rest.i64()?, rest.array()?);
        let event_len = rest.len32()?;
        let event = rest.take(event_len)?;
        rest.is_empty().then_some(Self {
            body,
            chain,
            index,
            seq,
            at_ms,
            prev,
            event,
            hash,
        })
    }

    pub(crate) fn hash_holds(&self) -> bool {
        hash_body(self.body) == *self.hash
    }
}

/// The hash of a record: a leaf as RFC 6962 has it.
pub(crate) fn hash_body(body: &[u8]) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update([LEAF]);
    hasher.update(body);
    hasher.finalize().into()
}

/// Milliseconds since 1970, also for times before it.
pub(crate) fn to_ms(at: SystemTime) -> i64 {
    match at.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    }
}

/// The time as RFC 3339 text. A time no calendar has is shown as its number.
pub(crate) fn time_text(at_ms: i64) -> String {
    const YEAR_9999_MS: i64 = 253_402_300_799_999;
    match u64::try_from(at_ms) {
        Ok(ms) if at_ms <= YEAR_9999_MS => {
            humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + Duration::from_millis(ms)).to_string()
        }
        _ => at_ms.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_read_back(name in "[a-z]{1,128}", index: u64, seq: u64, at_ms: i64, prev: [u8; 32], event: Vec<u8>) {
            let chain = Chain::Session(Ident::parse(&name).unwrap());
            let mut bytes = Vec::new();
            let hash = encode(&chain, Place { index, seq, prev }, at_ms, &event, &mut bytes);
            let mut rest = Bytes::new(&bytes);
            let view = RecordView::take(&mut rest).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert!(view.hash_holds());
            prop_assert_eq!(Chain::decode(view.chain), Some(chain));
            prop_assert_eq!((view.index, view.seq, view.at_ms, view.prev, view.event, view.hash),
                (index, seq, at_ms, &prev, event.as_slice(), &hash));
        }

        #[test]
        fn any_bytes_are_no_panic(bytes: Vec<u8>) {
            let _ = RecordView::take(&mut Bytes::new(&bytes));
            let _ = Chain::decode(&bytes);
        }
    }

    #[test]
    fn a_session_called_gateway_is_not_the_gateway() {
        let session = Chain::Session(Ident::parse("gateway").unwrap());
        let mut bytes = Vec::new();
        session.encode(&mut bytes);
        assert_eq!(Chain::decode(&bytes), Some(session));
        assert_eq!(Chain::decode(&[0, 0]), Some(Chain::Gateway));
        assert_eq!(Chain::decode(&[0, 1, b'a']), None);
    }

    #[test]
    fn times_are_texts() {
        assert_eq!(time_text(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!(time_text(-1), "-1");
        assert_eq!(to_ms(SystemTime::UNIX_EPOCH - Duration::from_millis(5)), -5);
    }
}
