//! A forward proxy that decides nothing: what any proxy with these duties costs on this machine at the very least.
//!
//! A thread for each way of each connection, and bytes that the kernel moves from socket to socket. With a file to write to,
//! each tunnel is on the disk before it is answered for, as a record would be.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

/// What a pipe is made to hold.
const PIPE_BYTES: usize = 1 << 20;

/// What stands in for a record.
const RECORD: [u8; 512] = [7; 512];

/// How much of the file is written over and over.
const RECORDS: u64 = 4096;

/// Serves until the process ends, after printing where.
///
/// # Errors
/// When it cannot listen, or the file cannot be made.
#[allow(clippy::print_stdout, reason = "whoever started it waits for the address")]
pub fn serve(record: Option<&Path>) -> io::Result<()> {
    let disk = record.map(Disk::create).transpose()?.map(Arc::new);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let (stream, disk) = (stream?, disk.clone());
        std::thread::spawn(move || tunnel(stream, disk.as_deref()));
    }
    Ok(())
}

/// A file that has its size already, and where the next record goes.
struct Disk(Mutex<(File, u64)>);

impl Disk {
    fn create(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        (0..RECORDS).try_for_each(|_| file.write_all(&RECORD))?;
        file.sync_all()?;
        Ok(Self(Mutex::new((file, 0))))
    }

    fn write_durably(&self) -> io::Result<()> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, next) = &mut *held;
        std::os::unix::fs::FileExt::write_all_at(file, &RECORD, *next * RECORD.len() as u64)?;
        *next = (*next + 1) % RECORDS;
        file.sync_data()
    }
}

fn tunnel(here: TcpStream, disk: Option<&Disk>) -> io::Result<()> {
    here.set_nodelay(true)?;
    let there = TcpStream::connect(asked(&here)?)?;
    there.set_nodelay(true)?;
    disk.map_or(Ok(()), Disk::write_durably)?;
    (&here).write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    std::thread::scope(|scope| {
        scope.spawn(|| carry(&here, &there));
        carry(&there, &here)
    })
}

/// The address in a CONNECT; nothing is sent after the head before it is answered.
fn asked(here: &TcpStream) -> io::Result<String> {
    let mut lines = BufReader::new(here).lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let address = first.split(' ').nth(1);
    address
        .map(str::to_owned)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn carry(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    let (out, into) = pipe_with(PipeFlags::CLOEXEC)?;
    // Where the system refuses, a smaller one does.
    let _ = fcntl_setpipe_size(&into, PIPE_BYTES);
    loop {
        let mut left = splice(from, None, &into, None, PIPE_BYTES, SpliceFlags::MOVE)?;
        if left == 0 {
            return to.shutdown(Shutdown::Write);
        }
        while left > 0 {
            left -= splice(&out, None, to, None, left, SpliceFlags::MOVE)?;
        }
    }
}
