//! The few file operations the writer needs, behind a trait so that tests can make each of them fail.
//!
//! Each name says what survives a crash once it has returned.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::FallocateFlags;

/// Changes to the ledger's directory.
pub trait Disk: Send + Sync + 'static {
    /// Creates an empty file, in place of any file of that name. Nothing is durable yet.
    ///
    /// # Errors
    /// What the system reports.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a file another name, in place of any file that has it. Durable after [`Disk::sync_dir`].
    ///
    /// # Errors
    /// What the system reports.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes every creation and renaming in the directory durable.
    ///
    /// # Errors
    /// What the system reports.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Cuts a file to a length, durably.
    ///
    /// # Errors
    /// What the system reports.
    fn shorten_durably(&self, path: &Path, len: u64) -> io::Result<()>;
}

/// A file being written.
pub trait DiskFile: Send {
    /// Reserves room, so that later writes change no metadata and cannot run out of space. Returns whether the file
    /// system can do that at all.
    ///
    /// # Errors
    /// When there is no such room.
    fn reserve(&mut self, len: u64) -> io::Result<bool>;

    /// Writes some of the bytes and says how many.
    ///
    /// # Errors
    /// What the system reports.
    fn write_at(&mut self, bytes: &[u8], position: u64) -> io::Result<usize>;

    /// Makes everything written durable.
    ///
    /// # Errors
    /// What the system reports. What was written since the last success may or may not be there.
    fn sync_data(&mut self) -> io::Result<()>;
}

/// Writes all of the bytes; a file that takes none of them is full.
pub(crate) fn write_all_at(file: &mut dyn DiskFile, mut bytes: &[u8], mut position: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(bytes, position) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = bytes.get(written..).unwrap_or_default();
                position += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Puts a small file in place so that after a crash either the old or the new one is there, whole.
pub(crate) fn overwrite_durably(disk: &dyn Disk, dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let fresh = dir.join(format!("{name}.new"));
    let mut file = disk.create(&fresh)?;
    write_all_at(&mut *file, bytes, 0)?;
    file.sync_data()?;
    disk.rename(&fresh, &dir.join(name))?;
    disk.sync_dir(dir)
}

/// The file system itself.
#[derive(Debug, Clone, Copy)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn shorten_durably(&self, path: &Path, len: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(len)?;
        file.sync_all()
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn reserve(&mut self, len: u64) -> io::Result<bool> {
        match rustix::fs::fallocate(&self.0, FallocateFlags::empty(), 0, len) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn write_at(&mut self, bytes: &[u8], position: u64) -> io::Result<usize> {
        self.0.write_at(bytes, position)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}
