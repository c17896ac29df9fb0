//! XChaCha20-Poly1305, twice: the content under a key of its own, that key under the vault's.
//!
//! Nonces are 24 random bytes. Both layers are bound to the pointer, so evidence cannot be passed off as another's.

use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::keys::{Key, KeyRing, shown_id};
use super::{Sealed, VaultError};
use crate::EvidencePointer;
use crate::key_file::random;

pub(super) fn seal(key: &Key, pointer: &EvidencePointer, content: &[u8]) -> Result<Sealed, VaultError> {
    let own = Zeroizing::new(random::<32>()?);
    Ok(Sealed {
        key_id: *key.id(),
        wrapped: wrap(key, pointer, &own)?,
        content: encrypt(&own, &bound(CONTENT, pointer), content)?,
    })
}

pub(super) fn open(
    keys: &KeyRing,
    pointer: &EvidencePointer,
    sealed: &Sealed,
) -> Result<Vec<u8>, VaultError> {
    let own = unwrap_key(keys, pointer, sealed)?;
    decrypt(&own, &bound(CONTENT, pointer), &sealed.content).ok_or(VaultError::Damaged { pointer: *pointer })
}

/// The content's key under the current key of the vault.
pub(super) fn rewrap(
    keys: &KeyRing,
    pointer: &EvidencePointer,
    sealed: &Sealed,
) -> Result<Vec<u8>, VaultError> {
    let own = unwrap_key(keys, pointer, sealed)?;
    wrap(keys.current(), pointer, &own)
}

const CONTENT: &[u8] = b"tidegate-vault-content-v1\0";
const KEY: &[u8] = b"tidegate-vault-key-v1\0";
const NONCE_LEN: usize = 24;

fn wrap(key: &Key, pointer: &EvidencePointer, own: &[u8; 32]) -> Result<Vec<u8>, VaultError> {
    encrypt(key.secret(), &bound(KEY, pointer), own)
}

fn unwrap_key(
    keys: &KeyRing,
    pointer: &EvidencePointer,
    sealed: &Sealed,
) -> Result<Zeroizing<[u8; 32]>, VaultError> {
    let key = keys.find(&sealed.key_id).ok_or_else(|| VaultError::UnknownKey {
        key_id: shown_id(&sealed.key_id),
    })?;
    let own = decrypt(key.secret(), &bound(KEY, pointer), &sealed.wrapped).map(Zeroizing::new);
    own.and_then(|own| own.as_slice().try_into().ok().map(Zeroizing::new))
        .ok_or(VaultError::Damaged { pointer: *pointer })
}

/// What the ciphertext belongs to.
fn bound(layer: &[u8], pointer: &EvidencePointer) -> Vec<u8> {
    [layer, &[pointer.class().rank()], pointer.id()].concat()
}

fn encrypt(key: &[u8; 32], aad: &[u8], msg: &[u8]) -> Result<Vec<u8>, VaultError> {
    let nonce = random::<NONCE_LEN>()?;
    let cipher = XChaCha20Poly1305::new(key.into());
    // It fails only for lengths far beyond the largest evidence.
    let sealed = cipher
        .encrypt(&XNonce::from(nonce), Payload { msg, aad })
        .map_err(|_| VaultError::TooLarge)?;
    Ok([&nonce[..], &sealed].concat())
}

fn decrypt(key: &[u8; 32], aad: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
    let (nonce, msg) = sealed.split_first_chunk::<NONCE_LEN>()?;
    XChaCha20Poly1305::new(key.into())
        .decrypt(&XNonce::from(*nonce), Payload { msg, aad })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::keys;
    use tidegate_core::Class;

    #[test]
    fn evidence_opens_for_its_own_pointer_only() {
        let text = Zeroizing::new(format!("{} {}", "01".repeat(8), "02".repeat(32)));
        let keys = keys::parse(&text).unwrap();
        let pointer = EvidencePointer::new(Class::Pii, [1; 16]);
        let sealed = seal(keys.current(), &pointer, b"canary").unwrap();
        assert_eq!(open(&keys, &pointer, &sealed).unwrap(), b"canary");
        for other in [
            EvidencePointer::new(Class::Pii, [2; 16]),
            EvidencePointer::new(Class::Internal, [1; 16]),
        ] {
            assert!(matches!(
                open(&keys, &other, &sealed),
                Err(VaultError::Damaged { .. })
            ));
        }
        for position in 0..sealed.content.len() {
            let mut content = sealed.content.clone();
            content[position] ^= 1;
            let changed = Sealed {
                key_id: sealed.key_id,
                wrapped: sealed.wrapped.clone(),
                content,
            };
            assert!(open(&keys, &pointer, &changed).is_err());
        }
    }
}
