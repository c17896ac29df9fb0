//! How a listening socket gets out of a network that has no way out.
//!
//! A socket belongs to the network it was made in, wherever it is used. So whoever is inside makes one, sends it over a unix
//! socket to the process outside, and waits to be told to go on. That the message came means that everything inside was set up:
//! it is the last thing that is done before the program runs. The unix socket is gone before it does.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio::io::Interest;
use tokio::net::UnixListener;

use crate::PROXY_PORT;

/// The name of the socket in its directory.
pub const SOCKET: &str = "door";

const GO: u8 = b'g';

/// The outer side, waiting for whoever is inside.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
    directory: tempfile::TempDir,
}

/// Somebody inside is ready.
#[derive(Debug)]
pub struct Arrival {
    /// The socket that was made inside.
    pub listener: TcpListener,
    /// The process that is about to become the program.
    pub process: OwnedFd,
    /// Its id, as seen from here.
    pub id: u32,
    /// The version of Landlock that holds inside; zero for none.
    pub landlock: u8,
    stream: UnixStream,
}

impl Door {
    /// A door in a directory that only this user can enter.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("tidegate-door-").tempdir()?;
        let listener = UnixListener::bind(directory.path().join(SOCKET))?;
        Ok(Self { listener, directory })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(SOCKET)
    }

    /// Waits for whoever is inside. The door is gone afterwards.
    ///
    /// # Errors
    /// When what came is not what was agreed.
    pub async fn wait(self) -> io::Result<Arrival> {
        let (stream, _) = self.listener.accept().await?;
        let id = stream.peer_cred()?.pid().and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::other("it cannot be told which process came"))?;
        let process = pidfd_open(id, PidfdFlags::empty())?;
        let (listener, landlock) = loop {
            stream.readable().await?;
            match stream.try_io(Interest::READABLE, || receive(&stream)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => break received?,
            }
        };
        let stream = stream.into_std()?;
        stream.set_nonblocking(false)?;
        Ok(Arrival {
            listener,
            process,
            id: id.as_raw_nonzero().get().unsigned_abs(),
            landlock,
            stream,
        })
    }
}

impl Arrival {
    /// Lets the program begin.
    ///
    /// # Errors
    /// When it is gone.
    pub fn go(&mut self) -> io::Result<()> {
        self.stream.write_all(&[GO])
    }
}

/// The inner side, connected while the socket's path can still be reached.
#[derive(Debug)]
pub struct Inner {
    stream: UnixStream,
    listener: TcpListener,
}

impl Inner {
    /// Makes the socket in the network of this process.
    ///
    /// # Errors
    /// When the door or the address cannot be had.
    pub fn at(path: &Path) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT))?;
        let stream = UnixStream::connect(path)?;
        Ok(Self { stream, listener })
    }

    /// Hands the socket out and waits to be told to go on. No copy of either stays here.
    ///
    /// # Errors
    /// When whoever is outside is gone or does not want the program to begin.
    pub fn hand_out(mut self, landlock: u8) -> io::Result<()> {
        let sockets = [self.listener.as_fd()];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(&sockets)) {
            return Err(io::Error::other("there is no room for the socket"));
        }
        sendmsg(
            &self.stream,
            &[IoSlice::new(&[landlock])],
            &mut control,
            SendFlags::NOSIGNAL,
        )?;
        let mut said = [0];
        self.stream.read_exact(&mut said)?;
        if said == [GO] {
            Ok(())
        } else {
            Err(io::Error::other("it was told not to begin"))
        }
    }
}

fn receive(stream: impl AsFd) -> io::Result<(TcpListener, u8)> {
    let mut said = [0];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(
        stream,
        &mut [IoSliceMut::new(&mut said)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let handed = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    let socket = handed.ok_or_else(|| io::Error::other("no socket was handed out"))?;
    let [landlock] = said;
    Ok((TcpListener::from(socket), landlock))
}
