//! The disk's own limit: how long one small durable write takes.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::Spread;

/// Writes a few hundred bytes and makes them durable, over and over, in a file that already has its size.
///
/// # Errors
/// When the directory cannot be written.
pub fn fdatasync_spread(directory: &Path, count: usize) -> io::Result<Spread> {
    let mut file = File::create(directory.join("fdatasync.probe"))?;
    file.write_all(&vec![0; 1 << 20])?;
    file.sync_all()?;
    let mut failed = Ok(());
    let mut place = 0;
    let spread = Spread::of(count, || {
        let step = file
            .seek(SeekFrom::Start(place))
            .and_then(|_| file.write_all(&[7; 256]))
            .and_then(|()| file.sync_data());
        failed = std::mem::replace(&mut failed, Ok(())).and(step);
        place = (place + 256) % (1 << 20);
    });
    failed.map(|()| spread)
}
