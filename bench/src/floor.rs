//! Servers that decide nothing: what any server with these duties costs on this machine at the very least.
//!
//! The forward proxy has a thread for each way of each connection, and the kernel moves bytes from socket to socket: nothing
//! carries more. The other one is a single loop that nobody has to wake another thread for: nothing answers sooner. With a
//! directory to write to, each tunnel is on the disk before it is answered for, as a record would be. The journal is what a
//! record is for many at once: whoever comes while the disk is busy shares its next write.

use std::cell::RefCell;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;

use crate::Disk;

/// What a pipe is made to hold.
const PIPE_BYTES: usize = 1 << 20;

/// Durable writes that all who wait at the same time share.
#[derive(Clone)]
pub struct Journal(Sender<oneshot::Sender<()>>);

impl Journal {
    /// Starts the thread that writes.
    #[must_use]
    pub fn on(mut disk: Disk) -> Self {
        let (sender, waiting) = channel::<oneshot::Sender<()>>();
        std::thread::spawn(move || {
            while let Ok(first) = waiting.recv() {
                let batch: Vec<_> = std::iter::once(first).chain(waiting.try_iter()).collect();
                // Nobody is told of a write that failed: they are all dropped.
                if disk.write().is_ok() {
                    for one in batch {
                        let _ = one.send(());
                    }
                }
            }
        });
        Self(sender)
    }

    /// Resolves when a write that began after this call is durable, and says whether it is.
    pub async fn record(&self) -> bool {
        let (done, durable) = oneshot::channel();
        self.0.send(done).is_ok() && durable.await.is_ok()
    }
}

/// Serves as a forward proxy until the process ends, after printing where.
///
/// # Errors
/// When it cannot listen, or the directory cannot be written.
#[allow(clippy::print_stdout, reason = "whoever started it waits for the address")]
pub fn serve_proxy(record: Option<&Path>) -> io::Result<()> {
    let disk = record.map(Disk::probed).transpose()?;
    let disk = disk.map(|disk| Arc::new(Mutex::new(disk)));
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    for stream in listener.incoming() {
        let (stream, disk) = (stream?, disk.clone());
        std::thread::spawn(move || tunnel(stream, disk.as_deref()));
    }
    Ok(())
}

/// Serves as a forward proxy in one loop until the process ends, with a durable write for each tunnel, after printing where.
///
/// # Errors
/// When it cannot listen, or the directory cannot be written.
#[allow(clippy::print_stdout, reason = "whoever started it waits for the address")]
pub fn serve_in_one_loop(record: &Path) -> io::Result<()> {
    let disk = Rc::new(RefCell::new(Disk::probed(record)?));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::task::spawn_local(tunnel_in_loop(stream, Rc::clone(&disk)));
        }
    })
}

async fn tunnel_in_loop(mut here: tokio::net::TcpStream, disk: Rc<RefCell<Disk>>) -> io::Result<()> {
    here.set_nodelay(true)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if here.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let mut there = tokio::net::TcpStream::connect(address_in(&head)?).await?;
    there.set_nodelay(true)?;
    // In the loop's own thread: handing it to another would cost more than it takes.
    disk.borrow_mut().write()?;
    here.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    tokio::io::copy_bidirectional(&mut here, &mut there).await?;
    Ok(())
}

fn address_in(head: &[u8]) -> io::Result<String> {
    let head = String::from_utf8_lossy(head);
    let address = head.split(' ').nth(1);
    address
        .map(str::to_owned)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn tunnel(here: TcpStream, disk: Option<&Mutex<Disk>>) -> io::Result<()> {
    here.set_nodelay(true)?;
    let there = TcpStream::connect(asked(&here)?)?;
    there.set_nodelay(true)?;
    if let Some(disk) = disk {
        disk.lock().unwrap_or_else(PoisonError::into_inner).write()?;
    }
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
    address_in(first.as_bytes())
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
