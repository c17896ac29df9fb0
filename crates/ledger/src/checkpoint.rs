//! Signed statements about everything recorded so far.

use data_encoding::HEXLOWER;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest as _, Sha256};

use crate::bytes::Bytes;
use crate::record::Hash;
use crate::tree::Frontier;

/// Who writes segments: the first half of the SHA-256 of the public key.
pub(crate) type WriterId = [u8; 16];

/// What is signed: the ledger held exactly these records, in this order, after that earlier checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub(crate) writer: WriterId,
    pub(crate) number: u64,
    pub(crate) at_ms: i64,
    pub(crate) size: u64,
    pub(crate) root: Hash,
    /// The hash of the checkpoint before, with its signature.
    pub(crate) previous: Hash,
    pub(crate) segment: u64,
    /// The hash of the header of the segment it lies in; headers are chained, so of all before it too.
    pub(crate) header: Hash,
    /// Whether the ledger was closed in order right after it.
    pub(crate) closing: bool,
}

impl Checkpoint {
    /// Its number, from 0.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// How many records it covers.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The root of the tree over them.
    #[must_use]
    pub const fn root(&self) -> &Hash {
        &self.root
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SignedCheckpoint::LEN);
        bytes.extend(SignedCheckpoint::DOMAIN);
        bytes.extend(self.writer);
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.at_ms.to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(self.root);
        bytes.extend(self.previous);
        bytes.extend(self.segment.to_le_bytes());
        bytes.extend(self.header);
        bytes.push(u8::from(self.closing));
        bytes
    }

    /// Whether it closed the ledger, in this segment: nothing is written behind it there.
    pub(crate) const fn closes(&self, segment: u64) -> bool {
        self.closing && self.segment == segment
    }

    pub(crate) fn sign(self, key: &SigningKey) -> SignedCheckpoint {
        let signature = key.sign(&self.encode());
        SignedCheckpoint {
            checkpoint: self,
            signature: signature.to_bytes(),
        }
    }
}

/// A checkpoint with its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedCheckpoint {
    pub(crate) checkpoint: Checkpoint,
    signature: [u8; 64],
}

impl SignedCheckpoint {
    const DOMAIN: &'static [u8; 30] = b"tidegate-ledger-checkpoint-v1\n";

    /// Bytes of an encoded checkpoint with its signature.
    pub(crate) const LEN: usize = 30 + 16 + 8 + 8 + 8 + 32 + 32 + 8 + 32 + 1 + 64;

    /// What was signed.
    #[must_use]
    pub const fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = self.checkpoint.encode();
        bytes.extend(self.signature);
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = Bytes::new(bytes);
        (rest.array()? == Self::DOMAIN).then_some(())?;
        let checkpoint = Checkpoint {
            writer: *rest.array()?,
            number: rest.u64()?,
            at_ms: rest.i64()?,
            size: rest.u64()?,
            root: *rest.array()?,
            previous: *rest.array()?,
            segment: rest.u64()?,
            header: *rest.array()?,
            closing: match rest.u8()? {
                0 => false,
                1 => true,
                _ => return None,
            },
        };
        let signature = *rest.array()?;
        rest.is_empty().then_some(Self {
            checkpoint,
            signature,
        })
    }

    const LABEL: &'static str = "tidegate-ledger-checkpoint ";

    /// The checkpoint as one line of text, to be kept where the ledger's writer cannot reach it.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{}{}\n", Self::LABEL, HEXLOWER.encode(&self.encode()))
    }

    /// Reads the one line that [`Self::to_text`] writes.
    #[must_use]
    pub fn parse_text(text: &str) -> Option<Self> {
        let hex = text.strip_prefix(Self::LABEL)?.strip_suffix('\n')?;
        Self::parse(&HEXLOWER.decode(hex.as_bytes()).ok()?)
    }

    pub(crate) fn hash(&self) -> Hash {
        Sha256::digest(self.encode()).into()
    }

    /// Whether the key signed it.
    #[must_use]
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        let signature = Signature::from_bytes(&self.signature);
        key.0.verify_strict(&self.checkpoint.encode(), &signature).is_ok()
            && self.checkpoint.writer == key.writer_id()
    }
}

/// A checkpoint's frame: the signed bytes, then the frontier that lets a reader go on from here.
pub(crate) fn encode_payload(signed: &SignedCheckpoint, frontier: &Frontier) -> Vec<u8> {
    let mut bytes = signed.encode();
    bytes.extend(frontier.nodes().iter().flatten());
    bytes
}

/// Reads a checkpoint's frame. The frontier is bound to the signature by its root.
pub(crate) fn parse_payload(payload: &[u8]) -> Option<(SignedCheckpoint, Frontier)> {
    let (signed, nodes) = payload.split_at_checked(SignedCheckpoint::LEN)?;
    let signed = SignedCheckpoint::parse(signed)?;
    let (nodes, []) = nodes.as_chunks::<32>() else {
        return None;
    };
    let frontier = Frontier::from_nodes(signed.checkpoint.size, nodes.to_vec())?;
    (frontier.root() == signed.checkpoint.root).then_some((signed, frontier))
}

/// The key that checks a ledger. Keep a copy elsewhere: it is what makes a rewritten ledger visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    const LABEL: &'static str = "tidegate-ledger-ed25519 ";

    pub(crate) fn of(key: &SigningKey) -> Self {
        Self(key.verifying_key())
    }

    /// Reads the one line that [`Self::to_text`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix(Self::LABEL)?.strip_suffix('\n')?;
        let bytes = HEXLOWER.decode(hex.as_bytes()).ok()?.try_into().ok()?;
        VerifyingKey::from_bytes(&bytes)
            .ok()
            .filter(|key| !key.is_weak())
            .map(Self)
    }

    /// The key as one line of text.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{}{}\n", Self::LABEL, HEXLOWER.encode(self.0.as_bytes()))
    }

    pub(crate) fn writer_id(&self) -> WriterId {
        let digest: Hash = Sha256::digest(self.0.as_bytes()).into();
        let (id, _) = digest.split_at(16);
        id.try_into().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn checkpoint(key: &SigningKey) -> Checkpoint {
        let frontier = Frontier::from_nodes(3, vec![[1; 32], [2; 32]]).unwrap();
        Checkpoint {
            writer: PublicKey::of(key).writer_id(),
            number: 7,
            at_ms: 1_700_000_000_000,
            size: 3,
            root: frontier.root(),
            previous: [4; 32],
            segment: 2,
            header: [5; 32],
            closing: true,
        }
    }

    #[test]
    fn every_flipped_byte_breaks_it() {
        let key = SigningKey::from_bytes(&[9; 32]);
        let signed = checkpoint(&key).sign(&key);
        let bytes = signed.encode();
        assert_eq!(bytes.len(), SignedCheckpoint::LEN);
        assert_eq!(SignedCheckpoint::parse(&bytes), Some(signed));
        assert_eq!(SignedCheckpoint::parse_text(&signed.to_text()), Some(signed));
        assert_eq!(SignedCheckpoint::parse_text(signed.to_text().trim_end()), None);
        assert!(signed.is_signed_by(&PublicKey::of(&key)));
        assert!(!signed.is_signed_by(&PublicKey::of(&SigningKey::from_bytes(&[8; 32]))));
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x20;
            let holds =
                SignedCheckpoint::parse(&flipped).is_some_and(|it| it.is_signed_by(&PublicKey::of(&key)));
            assert!(!holds, "byte {at}");
        }
    }

    #[test]
    fn public_keys_read_back_exactly() {
        let key = PublicKey::of(&SigningKey::from_bytes(&[9; 32]));
        let text = key.to_text();
        assert_eq!(PublicKey::parse(&text), Some(key));
        assert_eq!(PublicKey::parse(text.trim_end()), None);
        assert_eq!(PublicKey::parse(&text.to_uppercase()), None);
    }

    proptest! {
        #[test]
        fn any_payload_is_no_panic(bytes: Vec<u8>) {
            let _ = parse_payload(&bytes);
        }
    }
}
