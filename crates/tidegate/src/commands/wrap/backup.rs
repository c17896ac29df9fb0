//! Exchanging a file so that it can be had back byte for byte.
//!
//! The backup's name holds the digest of what was put in the file's place: a file that somebody changed since is told
//! from one that nobody did. Clients change their own files, so the servers alone are had back then. Files are put in place
//! whole.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::document::Document;
use crate::failure::Failure;

const SUFFIX: &str = ".tidegate-backup-";

/// Puts a text in a file's place, and the file's bytes beside it.
pub(super) fn exchange(file: &Path, text: &str) -> Result<(), Failure> {
    refuse_if_there(file)?;
    let bytes = std::fs::read(file).map_err(|error| failed(file, &error))?;
    let mut name = file.as_os_str().to_owned();
    name.push(format!("{SUFFIX}{}", digest(text.as_bytes())));
    place(Path::new(&name), &bytes, file)?;
    place(file, text.as_bytes(), file)
}

/// A backup that is there is of a file that is wrapped, or was restored by hand; it is not written over.
pub(super) fn refuse_if_there(file: &Path) -> Result<(), Failure> {
    match backup_of(file)? {
        None => Ok(()),
        Some(there) => Err(Failure::usage(format_args!(
            "{} is there already; restore it with `tidegate unwrap` first",
            there.display()
        ))),
    }
}

/// What became of a file that was to be had back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restored {
    /// It was not wrapped.
    Nothing,
    /// It is what it was.
    Whole,
    /// Its servers are what they were; what else changed since is kept.
    Servers,
}

/// Puts the bytes back that were there before; where somebody changed the file since, the servers alone.
pub(super) fn restore(file: &Path, force: bool, program: &Path) -> Result<Restored, Failure> {
    let Some(backup) = backup_of(file)? else {
        return Ok(Restored::Nothing);
    };
    let now = std::fs::read(file).map_err(|error| failed(file, &error))?;
    if force || backup.to_string_lossy().ends_with(&digest(&now)) {
        std::fs::rename(&backup, file).map_err(|error| failed(file, &error))?;
        return Ok(Restored::Whole);
    }
    let before = std::fs::read(&backup).map_err(|error| failed(&backup, &error))?;
    let Some(text) = with_servers(now, before, program) else {
        return Err(Failure::no(format_args!(
            "{} was changed since it was wrapped, and its servers have no place in it any more; --force restores it and loses the changes",
            file.display()
        )));
    };
    place(file, text.as_bytes(), &backup)?;
    std::fs::remove_file(&backup).map_err(|error| failed(&backup, &error))?;
    Ok(Restored::Servers)
}

fn with_servers(now: Vec<u8>, before: Vec<u8>, program: &Path) -> Option<String> {
    let read = |bytes| Document::read(String::from_utf8(bytes).ok()?).ok();
    read(now)?.restored(&read(before)?, program)
}

/// Writes a file whole, or not at all; through a link, what it leads to.
pub(super) fn put(file: &Path, text: &str) -> Result<(), Failure> {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    place(&file, text.as_bytes(), &file)
}

/// Puts bytes in a file's place, for the same readers as another one, if that is there.
fn place(file: &Path, bytes: &[u8], like: &Path) -> Result<(), Failure> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or_else(|| Path::new("."));
    let written = tempfile::NamedTempFile::new_in(directory).and_then(|mut new| {
        new.write_all(bytes)?;
        if let Ok(old) = std::fs::metadata(like) {
            new.as_file().set_permissions(old.permissions())?;
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
