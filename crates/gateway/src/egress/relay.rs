//! Bytes both ways between two connections, without passing through this process's memory.
//!
//! Each way has a pipe: the kernel moves what came in at one socket into it and out at the other. The pipe is emptied before
//! more is taken, so «nothing to take» always means that the sender has sent nothing. Where no pipe can be had, bytes are copied.

use std::future::Future;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::Shutdown;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::wire::Wire;

/// What a pipe holds when it is made.
const PIPE_BYTES: usize = 64 * 1024;

/// The most that a pipe is made to hold. Systems let a user have few pipes of this size, so only what fills its pipe gets one.
const MOST_PIPE_BYTES: usize = 1024 * 1024;

/// A connection to a destination. Dropped before it is finished, it is reset: what the system still holds of it is not sent.
pub(super) struct Far {
    stream: TcpStream,
    is_finished: bool,
}

impl Far {
    pub(super) const fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            is_finished: false,
        }
    }

    /// Sends the client's first bytes, then carries both ways until both ends are done.
    pub(super) async fn relay(mut self, mut here: Wire, first: &[u8]) {
        if tokio::io::AsyncWriteExt::write_all(&mut self.stream, first)
            .await
            .is_err()
        {
            return;
        }
        let carried = match (Pipe::new(), Pipe::new()) {
            (Ok(mut up), Ok(mut down)) => {
                let both = async {
                    tokio::try_join!(up.carry(&here, &self.stream), down.carry(&self.stream, &here))
                };
                both.await.map(|_| ())
            }
            _ => tokio::io::copy_bidirectional(&mut here, &mut self.stream)
                .await
                .map(|_| ()),
        };
        self.is_finished = carried.is_ok();
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        if !self.is_finished {
            // Where that is refused, the connection is closed all the same.
            let _ = self.stream.set_zero_linger();
        }
    }
}

/// Something that bytes are moved out of and into by the kernel.
trait Socket: AsFd + Sync {
    /// Tries until it is done, waiting for the socket to be ready each time that it is not.
    fn when_ready<R: Send>(
        &self,
        interest: Interest,
        attempt: impl FnMut() -> io::Result<R> + Send,
    ) -> impl Future<Output = io::Result<R>> + Send;
}

impl Socket for TcpStream {
    fn when_ready<R: Send>(
        &self,
        interest: Interest,
        attempt: impl FnMut() -> io::Result<R> + Send,
    ) -> impl Future<Output = io::Result<R>> + Send {
        self.async_io(interest, attempt)
    }
}

impl Socket for Wire {
    async fn when_ready<R: Send>(
        &self,
        interest: Interest,
        attempt: impl FnMut() -> io::Result<R> + Send,
    ) -> io::Result<R> {
        match self {
            Self::Tcp(stream) => stream.async_io(interest, attempt).await,
            Self::Unix(stream) => stream.async_io(interest, attempt).await,
        }
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

/// One way.
struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
    holds: usize,
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let holds = PIPE_BYTES;
        Ok(Self { out, into, holds })
    }

    /// Carries until the sender is done, and tells the receiver so.
    async fn carry(&mut self, from: &impl Socket, to: &impl Socket) -> io::Result<()> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        loop {
            let taken = from
                .when_ready(Interest::READABLE, || {
                    Ok(splice(from, None, &self.into, None, self.holds, flags)?)
                })
                .await?;
            if taken == 0 {
                return Ok(rustix::net::shutdown(to, Shutdown::Write)?);
            }
            let mut left = taken;
            while left > 0 {
                let given = to
                    .when_ready(Interest::WRITABLE, || {
                        Ok(splice(&self.out, None, to, None, left, flags)?)
                    })
                    .await?;
                if given == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                left = left.saturating_sub(given);
            }
            if taken >= self.holds {
                self.widen();
            }
        }
    }

    /// Lets more be carried at once, where the system has it: fewer steps, and fewer times that somebody is woken.
    fn widen(&mut self) {
        let wider = self.holds.saturating_mul(4).min(MOST_PIPE_BYTES);
        if wider > self.holds && fcntl_setpipe_size(&self.into, wider).is_ok() {
            self.holds = wider;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap());
        let (near, far) = tokio::join!(near, listener.accept());
        (near.unwrap(), far.unwrap().0)
    }

    #[tokio::test]
    async fn every_byte_arrives_both_ways_and_ends_are_told_apart() {
        let ((client, here), (there, server)) = (pair().await, pair().await);
        let carrying = tokio::spawn(Far::new(there).relay(Wire::Tcp(here), b"first"));
        let up: Vec<u8> = (0..3_000_000u32).map(|n| n.to_le_bytes()[0]).collect();
        let expected = [b"first".as_slice(), &up].concat();
        let (mut from_client, mut to_server) = client.into_split();
        let (mut from_server, mut to_client) = server.into_split();
        let sent = up.clone();
        let sending = tokio::spawn(async move {
            to_server.write_all(&sent).await.unwrap();
            to_server.shutdown().await.unwrap();
        });
        let mut arrived = Vec::new();
        from_server.read_to_end(&mut arrived).await.unwrap();
        assert!(
            arrived == expected,
            "{} bytes of {}",
            arrived.len(),
            expected.len()
        );
        // The other way is still open.
        to_client.write_all(&up).await.unwrap();
        drop(to_client);
        let mut arrived = Vec::new();
        from_client.read_to_end(&mut arrived).await.unwrap();
        assert!(arrived == up);
        sending.await.unwrap();
        carrying.await.unwrap();
    }

    #[tokio::test]
    async fn a_cut_connection_is_reset() {
        let ((_client, here), (there, mut server)) = (pair().await, pair().await);
        let carrying = tokio::spawn(Far::new(there).relay(Wire::Tcp(here), b"x"));
        let mut byte = [0];
        server.read_exact(&mut byte).await.unwrap();
        carrying.abort();
        let _ = carrying.await;
        let ended = server.read(&mut byte).await;
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    }
}
