//! Files that hold secret keys: created for their owner alone, refused when others can read them.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use zeroize::Zeroizing;

/// More than any key file of ours holds.
const MAX_LEN: u64 = 64 << 10;

/// Why a key file cannot be used. The key itself is never part of it.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// Others than its owner may read or write it.
    #[error("the key file {path} is open to others: allow its owner alone (chmod 600)")]
    OpenToOthers {
        /// Which file.
        path: String,
    },
    /// It is not what was written there.
    #[error("the key file {path} does not hold a key")]
    NotAKey {
        /// Which file.
        path: String,
    },
    /// The system refused.
    #[error("the key file {path} cannot be used: {source}")]
    Io {
        /// Which file.
        path: String,
        /// What the system reports.
        source: io::Error,
    },
    /// No random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
}

/// Reads a key file, or nothing if there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Zeroizing<String>>, KeyFileError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(path, error)),
    };
    let metadata = file.metadata().map_err(|error| failed(path, error))?;
    if metadata.mode() & 0o077 != 0 {
        return Err(KeyFileError::OpenToOthers { path: shown(path) });
    }
    // Room for all of it from the start: a growing buffer would leave copies of the key behind.
    let len = usize::try_from(metadata.len().min(MAX_LEN)).unwrap_or_default();
    let mut text = Zeroizing::new(String::with_capacity(len + 1));
    file.take(MAX_LEN)
        .read_to_string(&mut text)
        .map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => not_a_key(path),
            _ => failed(path, error),
        })?;
    Ok(Some(text))
}

/// Puts a key file in place, whole or not at all, readable by its owner alone from its first moment.
pub(crate) fn overwrite_durably(path: &Path, text: &str) -> Result<(), KeyFileError> {
    let write = || -> io::Result<()> {
        let mut name = path.as_os_str().to_owned();
        name.push(".new");
        let fresh = Path::new(&name);
        match std::fs::remove_file(fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(fresh)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(fresh, path)?;
        match path.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => File::open(dir)?.sync_all(),
            _ => File::open(".")?.sync_all(),
        }
    };
    write().map_err(|error| failed(path, error))
}

/// Fresh random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], KeyFileError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| KeyFileError::NoRandom)?;
    Ok(bytes)
}

pub(crate) fn not_a_key(path: &Path) -> KeyFileError {
    KeyFileError::NotAKey { path: shown(path) }
}

fn failed(path: &Path, source: io::Error) -> KeyFileError {
    KeyFileError::Io {
        path: shown(path),
        source,
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_key_file_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        assert!(read(&path).unwrap().is_none());
        overwrite_durably(&path, "first").unwrap();
        overwrite_durably(&path, "second").unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap().unwrap().as_str(), "second");
        for mode in [0o640, 0o604, 0o660] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let refused = read(&path).unwrap_err();
            assert!(matches!(refused, KeyFileError::OpenToOthers { .. }), "{mode:o}");
            assert!(!refused.to_string().contains("second"));
        }
    }
}
