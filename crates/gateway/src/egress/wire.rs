//! A client's connection, whichever way it came in.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// The most that is read of what a refused client still sends, so that it gets to read its answer.
const MOST_DRAINED: usize = 256 * 1024;

/// How long a refused client may still send.
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// A connection over TCP, or over a socket in a directory.
pub(super) enum Wire {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Where connections come in.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    pub(super) async fn accept(&self) -> io::Result<Wire> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Answers are small and complete: waiting to fill a packet only adds delay.
                let _ = stream.set_nodelay(true);
                Ok(Wire::Tcp(stream))
            }
            Self::Unix(listener) => Ok(Wire::Unix(listener.accept().await?.0)),
        }
    }
}

/// Sends the last of it and closes. A close with unread bytes would reset the connection and take the answer with it, so
/// a little more is read first.
pub(super) async fn finish(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &[u8]) {
    let said = async {
        stream.write_all(answer).await?;
        stream.shutdown().await?;
        let mut rest = [0; 4096];
        let mut drained = 0;
        while drained < MOST_DRAINED {
            match stream.read(&mut rest).await? {
                0 => break,
                read => drained += read,
            }
        }
        Ok::<_, io::Error>(())
    };
    // Whoever does not read is not waited for.
    let _ = tokio::time::timeout(DRAIN_TIME, said).await;
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
