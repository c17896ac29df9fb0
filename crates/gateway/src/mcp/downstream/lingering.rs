//! What is on its way to a client over HTTP, for as long as the client may come back for it.
//!
//! The protocol wants a connection that breaks not to be taken for a request taken back. So what is sent to a client that
//! went away is still taken for a while; only then is the way closed, which tells whoever works for it that nobody waits.

use std::time::Duration;

use tokio::sync::mpsc;

use crate::mcp::outlet::Outgoing;

/// The far end of a way. When it is dropped, the way stays open for a while.
pub(crate) struct Lingering {
    outgoing: Option<mpsc::Receiver<Outgoing>>,
    linger: Duration,
}

impl Lingering {
    /// Takes what is sent, and for this long after nobody does.
    pub(super) const fn new(outgoing: mpsc::Receiver<Outgoing>, linger: Duration) -> Self {
        Self {
            outgoing: Some(outgoing),
            linger,
        }
    }

    /// The next of what is sent.
    pub(super) async fn recv(&mut self) -> Option<Outgoing> {
        self.outgoing.as_mut()?.recv().await
    }

    /// How long it stays open when nobody takes anything.
    pub(super) const fn linger(&self) -> Duration {
        self.linger
    }

    /// Closes the way at once.
    pub(super) fn close(mut self) {
        self.outgoing = None;
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let Some(mut outgoing) = self.outgoing.take() else {
            return;
        };
        let over = outgoing.is_closed() || self.linger.is_zero();
        if let (false, Ok(runtime)) = (over, tokio::runtime::Handle::try_current()) {
            let linger = self.linger;
            runtime.spawn(async move {
                let taking = async { while outgoing.recv().await.is_some() {} };
                let _ = tokio::time::timeout(linger, taking).await;
            });
        }
    }
}
