//! Streams of events that a client can take up again where they broke off.
//!
//! Each event has a number; what was sent is kept for a while, so that a client whose connection broke can ask for what it
//! missed. What is kept is bounded: the oldest streams go first, and of one stream what was sent already.

use std::collections::VecDeque;
use std::ops::Deref;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::lingering::Lingering;
use crate::mcp::outlet::Outgoing;

/// The most streams of one session that can be taken up again.
const MOST_STREAMS: usize = 32;

/// The most bytes of one stream that are kept, a single larger event aside.
const MOST_BYTES: usize = 256 << 10;

/// How long a full stream waits for its client.
const PATIENCE: Duration = Duration::from_secs(20);

/// The streams of one session.
#[derive(Default)]
pub(crate) struct Streams(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    next: u64,
    streams: VecDeque<Arc<Stream>>,
}

/// One stream: what came before the answer of one request, and the answer.
pub(crate) struct Stream {
    number: u64,
    log: Mutex<Log>,
    news: Notify,
}

#[derive(Default)]
struct Log {
    events: VecDeque<String>,
    /// The number of the first event that is kept.
    first: u64,
    /// The number after the last event that was handed out.
    read: u64,
    bytes: usize,
    over: bool,
    /// How many read it now.
    readers: usize,
}

/// Whoever reads a stream. A stream that nobody reads for a while is given up.
pub(crate) struct Reader(Arc<Stream>);

impl Reader {
    /// Another reader of a stream.
    pub(crate) fn of(stream: Arc<Stream>) -> Self {
        stream.log().readers += 1;
        stream.news.notify_waiters();
        Self(stream)
    }
}

impl Deref for Reader {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        &self.0
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut log = self.0.log();
        log.readers = log.readers.saturating_sub(1);
        drop(log);
        self.0.news.notify_waiters();
    }
}

impl Streams {
    /// Begins a stream for everything that goes out on a way.
    pub(crate) fn begin(&self, first: Option<Outgoing>, mut outgoing: Lingering) -> Arc<Stream> {
        let stream = {
            let mut kept = self.kept();
            kept.next += 1;
            let stream = Arc::new(Stream {
                number: kept.next,
                log: Mutex::new(Log {
                    first: 1,
                    read: 1,
                    ..Log::default()
                }),
                news: Notify::new(),
            });
            if kept.streams.len() >= MOST_STREAMS {
                kept.streams.pop_front();
            }
            kept.streams.push_back(Arc::clone(&stream));
            stream
        };
        let filled = Arc::clone(&stream);
        tokio::spawn(async move {
            let linger = outgoing.linger();
            tokio::select! {
                () = filled.fill(first, &mut outgoing) => {}
                () = filled.deserted(linger) => {}
            }
            outgoing.close();
            filled.end();
        });
        stream
    }

    /// The stream that an event belongs to, and the number of the event.
    pub(crate) fn of(&self, event: &str) -> Option<(Arc<Stream>, u64)> {
        let (stream, event) = event.split_once('-')?;
        let (stream, event): (u64, u64) = (stream.parse().ok()?, event.parse().ok()?);
        let kept = self.kept();
        let found = kept.streams.iter().find(|kept| kept.number == stream)?;
        Some((Arc::clone(found), event))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    /// What an event is called.
    pub(crate) fn name(&self, event: u64) -> String {
        format!("{}-{event}", self.number)
    }

    /// The first event after this one that is kept; waits for it. `None` when there will be none.
    pub(crate) async fn after(&self, event: u64) -> Option<(u64, String)> {
        let found = |log: &mut Log| {
            let number = event.saturating_add(1).max(log.first);
            let at = usize::try_from(number - log.first).ok()?;
            let line = log.events.get(at)?.clone();
            log.read = log.read.max(number + 1);
            Some((number, line))
        };
        loop {
            let mut news = pin!(self.news.notified());
            news.as_mut().enable();
            {
                let mut log = self.log();
                if let Some(found) = found(&mut log) {
                    drop(log);
                    self.news.notify_waiters();
                    return Some(found);
                }
                if log.over {
                    return None;
                }
            }
            news.await;
        }
    }

    async fn fill(&self, first: Option<Outgoing>, outgoing: &mut Lingering) {
        let mut next = first;
        loop {
            let message = match next.take() {
                Some(message) => message,
                None => match outgoing.recv().await {
                    Some(message) => message,
                    None => return,
                },
            };
            let over = matches!(message, Outgoing::Answer { .. });
            let kept = tokio::time::timeout(PATIENCE, self.keep(message.into_line())).await;
            if over || kept.is_err() {
                return;
            }
        }
    }

    /// Waits until nobody has read for this long.
    async fn deserted(&self, linger: Duration) {
        loop {
            self.until(|log| log.readers == 0).await;
            let read_again = self.until(|log| log.readers > 0);
            if tokio::time::timeout(linger, read_again).await.is_err() {
                return;
            }
        }
    }

    async fn until(&self, is: impl Fn(&Log) -> bool) {
        loop {
            let mut news = pin!(self.news.notified());
            news.as_mut().enable();
            if is(&self.log()) {
                return;
            }
            news.await;
        }
    }

    async fn keep(&self, line: String) {
        loop {
            let mut news = pin!(self.news.notified());
            news.as_mut().enable();
            {
                let mut log = self.log();
                log.forget_read();
                if log.bytes < MOST_BYTES {
                    log.bytes += line.len();
                    log.events.push_back(line);
                    drop(log);
                    self.news.notify_waiters();
                    return;
                }
            }
            news.await;
        }
    }

    fn end(&self) {
        self.log().over = true;
        self.news.notify_waiters();
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// Forgets what was handed out, oldest first, while there is too much.
    fn forget_read(&mut self) {
        while self.bytes >= MOST_BYTES && self.first < self.read {
            if let Some(line) = self.events.pop_front() {
                self.bytes -= line.len();
            }
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    fn lingering(outgoing: mpsc::Receiver<Outgoing>) -> Lingering {
        Lingering::new(outgoing, Duration::from_secs(60))
    }

    async fn rest(stream: &Stream, from: u64) -> Vec<String> {
        let (mut at, mut lines) = (from, Vec::new());
        while let Some((number, line)) = stream.after(at).await {
            (at, lines) = (number, [lines, vec![line]].concat());
        }
        lines
    }

    #[tokio::test]
    async fn what_was_missed_is_sent_again() {
        let streams = Streams::default();
        let (sender, receiver) = mpsc::channel(4);
        let first = streams.begin(Some(Outgoing::Message("a".into())), lingering(receiver));
        assert_eq!(first.after(0).await, Some((1, "a".to_owned())));
        sender.send(Outgoing::Message("b".into())).await.unwrap();
        let answer = Outgoing::Answer {
            line: "c".into(),
            code: None,
        };
        sender.send(answer).await.unwrap();
        for (event, expected) in [
            ("1-0", vec!["a", "b", "c"]),
            ("1-1", vec!["b", "c"]),
            ("1-3", vec![]),
        ] {
            let (stream, from) = streams.of(event).unwrap();
            assert_eq!(rest(&stream, from).await, expected, "{event}");
        }
        for event in ["2-0", "", "1", "x-y", "1-", "-1"] {
            assert!(streams.of(event).is_none(), "{event}");
        }
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded() {
        let streams = Streams::default();
        let (sender, receiver) = mpsc::channel(1);
        let stream = streams.begin(None, lingering(receiver));
        let line = "x".repeat(MOST_BYTES / 4);
        let mut at = 0;
        for _ in 0..20 {
            sender.send(Outgoing::Message(line.clone())).await.unwrap();
            at = stream.after(at).await.unwrap().0;
        }
        assert_eq!(at, 20);
        assert!(stream.log().events.len() <= 5);
        for _ in 0..MOST_STREAMS {
            let (_, receiver) = mpsc::channel(1);
            streams.begin(None, lingering(receiver));
        }
        assert!(streams.of("1-0").is_none());
    }

    #[tokio::test]
    async fn a_stream_that_nobody_reads_is_given_up_after_a_while() {
        let linger = Duration::from_millis(20);
        let streams = Streams::default();
        let (sender, receiver) = mpsc::channel(1);
        let stream = streams.begin(None, Lingering::new(receiver, linger));
        let reader = Reader::of(Arc::clone(&stream));
        tokio::time::sleep(linger * 3).await;
        let again = Reader::of(Arc::clone(&stream));
        drop(reader);
        tokio::time::sleep(linger * 3).await;
        assert!(!sender.is_closed(), "somebody reads");
        drop(again);
        sender.closed().await;
        assert_eq!(stream.after(0).await, None);
    }
}
