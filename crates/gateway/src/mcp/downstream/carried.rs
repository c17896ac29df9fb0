//! Work that somebody waits for, and that goes on when they no longer do.
//!
//! A request must be carried to its end even when its client leaves: what was decided is recorded, what came back is let
//! in. A task of its own would see to that, but costs each request a detour over the scheduler and back. So the work is
//! done by whoever waits for it, and becomes a task only when they go away.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Work under way. Dropped before its end, it goes on in a task.
pub(super) struct Carried(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Carried {
    /// Work that begins when it is first waited for.
    pub(super) fn new(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl Future for Carried {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(work) = &mut self.0 else {
            return Poll::Ready(());
        };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        // What panicked cannot go on.
        let Some(work) = self.0.take().filter(|_| !std::thread::panicking()) else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn what_is_waited_for_is_done_in_place() {
        let (done, is_done) = oneshot::channel();
        let mut work = Carried::new(async move {
            let _ = done.send(());
        });
        (&mut work).await;
        (&mut work).await;
        assert!(is_done.await.is_ok());
    }

    #[tokio::test]
    async fn what_nobody_waits_for_goes_on() {
        let (go_on, may_go_on) = oneshot::channel::<()>();
        let (done, is_done) = oneshot::channel();
        let mut work = Carried::new(async move {
            let _ = may_go_on.await;
            let _ = done.send(());
        });
        let begun = std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut work).poll(context)));
        assert!(begun.await.is_pending());
        drop(work);
        go_on.send(()).unwrap();
        assert!(is_done.await.is_ok());
        let (done, is_done) = oneshot::channel();
        drop(Carried::new(async move {
            let _ = done.send(());
        }));
        assert!(is_done.await.is_ok());
    }
}
