//! The ledger's own key: created once, kept outside the ledger's directory.

use std::path::Path;

use data_encoding::HEXLOWER;
use ed25519_dalek::SigningKey;
use zeroize::Zeroizing;

use super::OpenError;
use crate::checkpoint::PublicKey;
use crate::disk::{self, Disk};
use crate::key_file;
use crate::segment::PUBLIC_KEY_FILE;

/// Reads the signing key, or creates it when the ledger is new, and puts the public key into the directory.
pub(super) fn load(dir: &Path, path: &Path, disk: &dyn Disk) -> Result<SigningKey, OpenError> {
    let wrong = || OpenError::WrongKey {
        path: path.display().to_string(),
    };
    let public_path = dir.join(PUBLIC_KEY_FILE);
    let recorded = match std::fs::read(&public_path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let key = match key_file::read(path)? {
        Some(text) => parse(&text).ok_or_else(|| key_file::not_a_key(path))?,
        // A new key for an old ledger would break its chain of signatures.
        None if recorded.is_some() => return Err(wrong()),
        None => create(path)?,
    };
    let public = PublicKey::of(&key).to_text();
    match recorded {
        Some(recorded) if recorded != public.as_bytes() => Err(wrong()),
        Some(_) => Ok(key),
        None => {
            disk::overwrite_durably(disk, dir, PUBLIC_KEY_FILE, public.as_bytes())?;
            Ok(key)
        }
    }
}

fn create(path: &Path) -> Result<SigningKey, OpenError> {
    let secret = Zeroizing::new(key_file::random::<32>()?);
    let text = Zeroizing::new(format!("{}\n", &*Zeroizing::new(HEXLOWER.encode(&*secret))));
    key_file::overwrite_durably(path, &text)?;
    Ok(SigningKey::from_bytes(&secret))
}

fn parse(text: &str) -> Option<SigningKey> {
    let secret = Zeroizing::new(HEXLOWER.decode(text.strip_suffix('\n')?.as_bytes()).ok()?);
    secret.as_slice().try_into().ok().map(SigningKey::from_bytes)
}
