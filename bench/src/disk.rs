//! The disk's own limit: how long one small durable write takes.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Spread;

/// What the file holds that is written over and over.
const FILE_BYTES: u64 = 1 << 20;

/// A file that already has its size, for small durable writes.
pub struct Disk {
    file: File,
    place: u64,
}

impl Disk {
    /// Makes the file.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn probed(directory: &Path) -> io::Result<Self> {
        let mut file = File::create(directory.join("fdatasync.probe"))?;
        file.write_all(&vec![0; usize::try_from(FILE_BYTES).unwrap_or(0)])?;
        file.sync_all()?;
        Ok(Self { file, place: 0 })
    }

    /// Writes a few hundred bytes and makes them durable. Says how long that took.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&mut self) -> io::Result<Duration> {
        let began = Instant::now();
        self.file.write_all_at(&[7; 256], self.place)?;
        self.file.sync_data()?;
        self.place = (self.place + 256) % FILE_BYTES;
        Ok(began.elapsed())
    }
}

/// Many small durable writes, one after the other.
///
/// # Errors
/// When the directory cannot be written.
pub fn fdatasync_spread(directory: &Path, count: usize) -> io::Result<Spread> {
    let mut disk = Disk::probed(directory)?;
    let began = Instant::now();
    let times: io::Result<Vec<_>> = (0..count).map(|_| disk.write()).collect();
    Ok(Spread::new(times?, began.elapsed()))
}
