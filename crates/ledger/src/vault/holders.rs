//! Who has a vault's file open. Each process that does holds a lock on a small file of its own beside it, which the system gives
//! free when the process ends in whatever way; so what a process held in memory only is known to be gone when its lock is.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;

use super::VaultError;
use crate::key_file::random;

/// This process among those that have the file open.
pub(super) struct Holder {
    vault: PathBuf,
    /// What rows name it by.
    pub(super) name: String,
    _lock: File,
}

impl Holder {
    pub(super) fn enter(vault: &Path) -> Result<Self, VaultError> {
        let name = HEXLOWER.encode(&random::<8>()?);
        let mut fresh = vault.as_os_str().to_owned();
        fresh.push(".entering-");
        fresh.push(&name);
        let lock = OpenOptions::new()
            .create_new(true)
            .append(true)
            .mode(0o600)
            .open(&fresh)?;
        lock.lock()?;
        // It gets its name when it is locked, so that nobody takes it for a dead one's.
        std::fs::rename(&fresh, file_of(vault, &name))?;
        Ok(Self {
            vault: vault.to_owned(),
            name,
            _lock: lock,
        })
    }

    /// Whether the process of this name has the file open.
    pub(super) fn is_alive(&self, name: &str) -> Result<bool, VaultError> {
        if name == self.name {
            return Ok(true);
        }
        let is_name = name.len() == self.name.len() && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_name {
            return Ok(false);
        }
        match File::open(file_of(&self.vault, name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error.into()),
            Ok(file) => match file.try_lock() {
                Err(TryLockError::WouldBlock) => Ok(true),
                Err(TryLockError::Error(error)) => Err(error.into()),
                Ok(()) => Ok(false),
            },
        }
    }

    /// The names of everyone who left a file, this process not among them.
    pub(super) fn others(&self) -> Result<Vec<String>, VaultError> {
        let directory = self.vault.parent().filter(|path| !path.as_os_str().is_empty());
        let prefix = prefix_of(&self.vault);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(directory.unwrap_or(Path::new(".")))? {
            let file = entry?.file_name();
            let name = file.to_str().and_then(|file| file.strip_prefix(prefix.to_str()?));
            names.extend(name.filter(|name| *name != self.name).map(str::to_owned));
        }
        Ok(names)
    }

    /// Takes away what a process that is gone left.
    pub(super) fn sweep(&self, name: &str) {
        // It is in nobody's way; the next process tries again.
        let _ = std::fs::remove_file(file_of(&self.vault, name));
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.sweep(&self.name);
    }
}

fn prefix_of(vault: &Path) -> OsString {
    let mut prefix = vault.file_name().unwrap_or_default().to_owned();
    prefix.push(".holder-");
    prefix
}

fn file_of(vault: &Path, name: &str) -> PathBuf {
    let mut file = prefix_of(vault);
    file.push(name);
    vault.with_file_name(file)
}
