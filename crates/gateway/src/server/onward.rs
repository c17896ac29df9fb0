//! Work that wakes itself goes on at once.
//!
//! A connection is one task in which several parts hand things to each other: what reads a request to what answers it, what waits
//! for a server to what speaks to it. Each time one part hands something over it wakes the other, which is the task that is running.
//! The runtime takes that for more work than one thread can do: it puts the task at the end of the line and wakes another
//! thread, which often finds nothing or takes the task away. For a small call these detours cost more than all the rest.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// How often in a row work may go on before others have their turn.
const TURNS: usize = 16;

/// Work that is polled again, in place, when it was woken while it was polled.
pub(super) struct Onward<F> {
    work: Pin<Box<F>>,
    bell: Arc<Bell>,
    waker: Waker,
}

impl<F> Onward<F> {
    pub(super) fn new(work: F) -> Self {
        let bell = Arc::new(Bell::default());
        Self {
            work: Box::pin(work),
            waker: Waker::from(Arc::clone(&bell)),
            bell,
        }
    }
}

impl<F: Future> Future for Onward<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { work, bell, waker } = &mut *self;
        bell.answer_to(context.waker());
        for _ in 0..TURNS {
            bell.muffle();
            if let Poll::Ready(output) = work.as_mut().poll(&mut Context::from_waker(waker)) {
                return Poll::Ready(output);
            }
            if bell.was_silent() {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Rings for the runtime, or is noted while the work is polled anyway.
#[derive(Default)]
struct Bell {
    state: AtomicU8,
    outside: Mutex<Option<Waker>>,
}

/// Nobody polls: whoever rings wakes the task.
const LOUD: u8 = 0;
/// The work is polled, and nobody has rung since that began.
const MUFFLED: u8 = 1;
/// The work is polled, and somebody has.
const RUNG: u8 = 2;

impl Bell {
    /// Says whom to wake.
    fn answer_to(&self, waker: &Waker) {
        let mut outside = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *outside {
            Some(known) => known.clone_from(waker),
            None => *outside = Some(waker.clone()),
        }
    }

    /// A copy, so that nothing is held while it is woken: a runtime that is closing drops the task, and its parts ring again.
    fn whom_to_wake(&self) -> Option<Waker> {
        self.outside
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn muffle(&self) {
        self.state.store(MUFFLED, Ordering::SeqCst);
    }

    /// Whether nobody rang while it was muffled. From now on it is loud.
    fn was_silent(&self) -> bool {
        self.state.swap(LOUD, Ordering::SeqCst) == MUFFLED
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // INVARIANT (no wake is lost): whoever finds it muffled leaves a sign that is looked at before the poll ends; whoever comes
        // after that finds it loud.
        let noted = self
            .state
            .compare_exchange(MUFFLED, RUNG, Ordering::SeqCst, Ordering::SeqCst);
        if noted == Err(LOUD)
            && let Some(waker) = self.whom_to_wake()
        {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Polls once; gives what came of it and how often the runtime would have been woken.
    fn poll_once<F: Future + Unpin>(work: &mut F) -> (Poll<F::Output>, usize) {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let polled = Pin::new(work).poll(&mut Context::from_waker(&waker));
        (polled, count.0.load(Ordering::SeqCst))
    }

    /// Wakes itself so many times before it is done.
    fn waking(mut times: usize) -> impl Future<Output = ()> {
        std::future::poll_fn(move |context| {
            if times == 0 {
                return Poll::Ready(());
            }
            times -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        })
    }

    #[test]
    fn work_that_wakes_itself_goes_on() {
        assert_eq!(
            poll_once(&mut Onward::new(waking(TURNS - 1))),
            (Poll::Ready(()), 0)
        );
    }

    #[test]
    fn others_have_their_turn() {
        let mut work = Onward::new(waking(TURNS));
        assert_eq!(poll_once(&mut work), (Poll::Pending, 1));
        assert_eq!(poll_once(&mut work), (Poll::Ready(()), 0));
    }

    #[test]
    fn a_wake_from_outside_reaches_the_runtime() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let mut work = Onward::new(receiver);
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let polled = Pin::new(&mut work).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        sender.send(7).unwrap();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert_eq!(poll_once(&mut work).0, Poll::Ready(Ok(7)));
    }

    /// Rings once more when it is woken, as a task does that is dropped then.
    struct Echo(Mutex<Option<Waker>>);

    impl Wake for Echo {
        fn wake(self: Arc<Self>) {
            let inner = self.0.lock().unwrap().take();
            inner.into_iter().for_each(Waker::wake);
        }
    }

    #[test]
    fn whoever_is_woken_may_ring_again() {
        let mut kept = None;
        let mut work = Onward::new(std::future::poll_fn(|context| {
            kept = Some(context.waker().clone());
            Poll::<()>::Pending
        }));
        let echo = Arc::new(Echo(Mutex::new(None)));
        let waker = Waker::from(Arc::clone(&echo));
        assert!(
            Pin::new(&mut work)
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        );
        drop(work);
        let inner = kept.unwrap();
        *echo.0.lock().unwrap() = Some(inner.clone());
        inner.wake();
        assert!(echo.0.lock().unwrap().is_none());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_is_lost_among_threads() {
        for _ in 0..2_000 {
            let (there, mut asked) = tokio::sync::mpsc::channel::<u32>(1);
            let (back, mut answers) = tokio::sync::mpsc::channel(1);
            let echo = tokio::spawn(Onward::new(async move {
                while let Some(number) = asked.recv().await {
                    back.send(number).await.unwrap();
                }
            }));
            let asking = tokio::spawn(Onward::new(async move {
                for number in 0..8 {
                    there.send(number).await.unwrap();
                    assert_eq!(answers.recv().await, Some(number));
                }
            }));
            asking.await.unwrap();
            echo.await.unwrap();
        }
    }
}
