//! A connection whose other end must read what it is sent.
//!
//! What bounds a request bounds the making of its answer. Who asks and does not read leaves that answer in the gateway, and would
//! keep its place for ever; so a write that makes no progress for too long ends the connection. A stream on which there is nothing
//! to write waits for nothing, however quiet it is.

use std::future::Future as _;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection, and how long it waits for its other end to take something.
pub(super) struct Patient<S> {
    stream: S,
    patience: Duration,
    /// The clock of a write that waits. There is none while writes go through at once.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(super) const fn new(stream: S, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            waiting: None,
        }
    }

    /// What came of a write, or that it has waited long enough.
    fn bounded<T>(&mut self, cx: &mut Context<'_>, wrote: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.waiting = None;
            return wrote;
        }
        let patience = self.patience;
        let clock = self.waiting.get_or_insert_with(|| Box::pin(sleep(patience)));
        clock
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.bounded(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.bounded(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.bounded(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.bounded(cx, shut)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    #[tokio::test]
    async fn what_nobody_takes_is_given_up() {
        let (near, _far) = duplex(4);
        let mut near = Patient::new(near, Duration::from_millis(50));
        let wrote = near.write_all(b"more than four").await;
        assert_eq!(wrote.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn whoever_takes_a_little_at_a_time_gets_all_of_it() {
        let (near, mut far) = duplex(1);
        // Longer than a test takes on any machine: that the clock begins anew is seen, not waited for.
        let mut near = Patient::new(near, Duration::from_secs(600));
        let mut taken = Vec::new();
        near.write_all(b"p").await.unwrap();
        for byte in b"iecemea" {
            let wrote = poll_fn(|cx| Poll::Ready(Pin::new(&mut near).poll_write(cx, &[*byte]))).await;
            assert!(wrote.is_pending() && near.waiting.is_some());
            taken.push(far.read_u8().await.unwrap());
            near.write_all(&[*byte]).await.unwrap();
            assert!(near.waiting.is_none(), "the next one has a clock of its own");
        }
        taken.push(far.read_u8().await.unwrap());
        assert_eq!(taken, b"piecemea");
    }
}
