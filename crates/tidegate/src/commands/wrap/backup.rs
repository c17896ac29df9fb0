//! Exchanging a file so that it can be had back byte for byte.
//!
//! The backup's name holds the digest of what was put in the file's place: a file that somebody changed since is told
//! from one that nobody did. Files are put in place whole.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::failure::Failure;

const SUFFIX: &str = ".tidegate-backup-";

/// Puts a text in a file's place, and the file's bytes beside it.
pub(super) fn exchange(file: &Path, text: &str) -> Result<(), Failure> {
    refuse_if_there(file)?;
    let bytes = std::fs::read(file).map_err(|error| failed(file, &error))?;
    let mut name = file.as_os_str().to_owned();
    name.push(format!("{SUFFIX}{}", digest(text.as_bytes())));
    place(Path::new(&name), &bytes)?;
    place(file, text.as_bytes())
}

/// A backup that is there is of a file that is wrapped, or was by its owner's hand restored; it is not written over.
pub(super) fn refuse_if_there(file: &Path) -> Result<(), Failure> {
    match backup_of(file)? {
        None => Ok(()),
        Some(there) => Err(Failure::usage(format_args!(
            "{} is there already; restore it with `tidegate unwrap` first",
            there.display()
        ))),
    }
}

/// Puts the bytes back that were there before.
pub(super) fn restore(file: &Path, force: bool) -> Result<(), Failure> {
    let shown = file.display();
    let Some(backup) = backup_of(file)? else {
        return Err(Failure::no(format_args!(
            "{shown} is not wrapped: there is no backup beside it"
        )));
    };
    let now = std::fs::read(file).map_err(|error| failed(file, &error))?;
    if !force && !backup.to_string_lossy().ends_with(&digest(&now)) {
        return Err(Failure::no(format_args!(
            "{shown} was changed since it was wrapped; --force restores it and loses the changes"
        )));
    }
    std::fs::rename(&backup, file).map_err(|error| failed(file, &error))
}

/// Writes a file whole, or not at all.
pub(super) fn put(file: &Path, text: &str) -> Result<(), Failure> {
    place(file, text.as_bytes())
}

fn place(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or_else(|| Path::new("."));
    let written = tempfile::NamedTempFile::new_in(directory).and_then(|mut new| {
        new.write_all(bytes)?;
        if let Ok(old) = File::open(file) {
            new.as_file().set_permissions(old.metadata()?.permissions())?;
        }
        new.as_file().sync_all()?;
        new.persist(file).map_err(|error| error.error)
    });
    written.map(|_| ()).map_err(|error| failed(file, &error))
}

fn backup_of(file: &Path) -> Result<Option<PathBuf>, Failure> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or_else(|| Path::new("."));
    let mut wanted = file.file_name().map(OsString::from).unwrap_or_default();
    wanted.push(SUFFIX);
    let wanted = wanted.to_string_lossy().into_owned();
    let entries = std::fs::read_dir(directory).map_err(|error| failed(directory, &error))?;
    let found = entries
        .filter_map(Result::ok)
        .find(|entry| entry.file_name().to_string_lossy().starts_with(&wanted));
    Ok(found.map(|entry| entry.path()))
}

fn digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn failed(file: &Path, error: &std::io::Error) -> Failure {
    Failure::environment(format_args!("{}: {error}", file.display()))
}
