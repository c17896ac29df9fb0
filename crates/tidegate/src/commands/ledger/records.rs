//! The records of a data directory, and those that must have been there.
//!
//! A record's key and its index lie beside its directory, not in it. Where one of them is and the directory is not, there was a
//! record, and somebody took it away.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What the files beside a record end with.
const BESIDE: [&str; 2] = [".key", ".index"];

/// The records of a data directory.
pub(super) struct Records {
    /// The gateway's, if there ever was one.
    pub(super) own: Option<Standing>,
    /// Of each process that ran on standard streams, for one command or in a program of somebody's.
    pub(super) others: Vec<Standing>,
}

/// What of a record is there.
pub(super) enum Standing {
    /// It is.
    There(PathBuf),
    /// Its directory is not, though this file beside it is.
    Gone { dir: PathBuf, left: PathBuf },
}

impl Records {
    pub(super) fn of(data_dir: &Path) -> io::Result<Self> {
        let ledgers = data_dir.join("ledgers");
        let mut others = Vec::new();
        for name in names_in(&ledgers)? {
            others.extend(Standing::of(ledgers.join(name))?);
        }
        Ok(Self {
            own: Standing::of(data_dir.join("ledger"))?,
            others,
        })
    }

    /// All of them, the gateway's first.
    pub(super) fn all(self) -> impl Iterator<Item = Standing> {
        self.own.into_iter().chain(self.others)
    }
}

impl Standing {
    /// How a record stands; nothing where no sign of one is.
    fn of(dir: PathBuf) -> io::Result<Option<Self>> {
        if dir.try_exists()? {
            return Ok(Some(Self::There(dir)));
        }
        for ending in BESIDE {
            let mut left = dir.clone().into_os_string();
            left.push(ending);
            let left = PathBuf::from(left);
            if left.try_exists()? {
                return Ok(Some(Self::Gone { dir, left }));
            }
        }
        Ok(None)
    }
}

/// The name of every record that a directory holds, or once held.
fn names_in(dir: &Path) -> io::Result<Vec<OsString>> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let is_record = entry.file_type()?.is_dir();
        names.extend(if is_record {
            Some(name)
        } else {
            without_ending(&name)
        });
    }
    // By number: mcp-2 comes before mcp-10.
    names.sort_by_key(|name| (name.len(), name.clone()));
    names.dedup();
    Ok(names)
}

fn without_ending(name: &OsStr) -> Option<OsString> {
    let name = name.to_str()?;
    let record = BESIDE.iter().find_map(|ending| name.strip_suffix(ending))?;
    Some(record.into())
}
