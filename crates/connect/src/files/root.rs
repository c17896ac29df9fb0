//! Opening files beneath a root.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat,
};
use rustix::io::Errno;

use super::inside::Inside;
use crate::Failure;

/// How often an open is tried that a change of the directory got in the way of.
const TRIES: usize = 16;

/// The most entries of a directory that are looked at to list it.
const MOST_ENTRIES: usize = 100_000;

/// A directory, by its descriptor.
pub(super) struct Root {
    directory: OwnedFd,
    hard_links: bool,
}

/// An entry of a directory.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) size: u64,
}

impl Root {
    pub(super) fn open(path: &Path, hard_links: bool) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, path, flags, Mode::empty())?;
        Ok(Self {
            directory,
            hard_links,
        })
    }

    /// A plain file, open for reading. A device is not opened at all: that alone may do something.
    pub(super) fn file(&self, path: &Inside) -> Result<File, Failure> {
        let seen = self.beneath(path, OFlags::PATH)?;
        self.check(&fstat(&seen).map_err(failed)?)?;
        let opened = self.beneath(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        // It may be another by now, so it is looked at again, and this time it stays what it is.
        self.check(&fstat(&opened).map_err(failed)?)?;
        Ok(File::from(opened))
    }

    /// The entries of a directory in the order of their names, and whether there are more.
    pub(super) fn entries(&self, path: &Inside, most: usize) -> Result<(Vec<Entry>, bool), Failure> {
        let opened = self.beneath(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&opened).map_err(failed)?.take(MOST_ENTRIES) {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if matches!(name, "." | "..") {
                continue;
            }
            // One that is gone meanwhile is not listed.
            if let Ok(stat) = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW) {
                entries.push(Entry {
                    name: name.to_owned(),
                    kind: kind(&stat),
                    size: u64::try_from(stat.st_size).unwrap_or_default(),
                });
            }
        }
        entries.sort();
        let is_cut = entries.len() > most;
        entries.truncate(most);
        Ok((entries, is_cut))
    }

    fn beneath(&self, path: &Inside, flags: OFlags) -> Result<OwnedFd, Failure> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC;
        let mut opened = Err(Errno::AGAIN);
        for _ in 0..TRIES {
            opened = openat2(&self.directory, path.to_open(), flags, Mode::empty(), resolve);
            if !matches!(opened, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
        }
        opened.map_err(failed)
    }

    fn check(&self, stat: &Stat) -> Result<(), Failure> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile if stat.st_nlink > 1 && !self.hard_links => Err(Failure::Refused(
                "the file has several names, and another of them may lie elsewhere".to_owned(),
            )),
            FileType::RegularFile => Ok(()),
            FileType::Directory => Err(Failure::Refused(
                "this is a directory; list it instead".to_owned(),
            )),
            _ => Err(Failure::Refused("only plain files are read".to_owned())),
        }
    }
}

fn kind(stat: &Stat) -> &'static str {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "link",
        _ => "other",
    }
}

fn failed(error: Errno) -> Failure {
    match error {
        Errno::NOENT | Errno::NOTDIR => Failure::Missing("there is no such file or directory".to_owned()),
        Errno::LOOP => Failure::Refused("links are not followed".to_owned()),
        Errno::XDEV => Failure::Refused("the path leads out of the root".to_owned()),
        Errno::ACCESS | Errno::PERM => Failure::Rejected("the gateway may not read this".to_owned()),
        Errno::NAMETOOLONG => Failure::Refused("the path is too long".to_owned()),
        Errno::NOSYS => {
            Failure::Unavailable("this system cannot open files beneath a directory safely".to_owned())
        }
        _ => Failure::Unavailable("the file cannot be read now".to_owned()),
    }
}
