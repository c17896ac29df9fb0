//! The connections to one server.
//!
//! What happens on a connection is moved on by whoever waits for its answer, in the same task: a task of its own for each
//! connection would cost every call several detours over the scheduler. A connection whose answer was read to its end is
//! kept for the next request. Nobody watches it meanwhile, so it is looked at before it is used again, and what nobody
//! used for a while is let go.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::{TrySendError, http1};
use hyper::service::Service as _;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tidegate_connect::Connecting;
use tokio::net::TcpStream;

/// How long a connection that nobody uses is kept, and at most twice as long.
const IDLE: Duration = Duration::from_secs(45);

type Asked = Request<Full<Bytes>>;

/// There is no answer.
#[derive(Debug)]
pub(super) struct Deaf;

/// The connections to one address.
pub(super) struct Lines {
    connecting: TowerToHyperService<Connecting>,
    address: Uri,
    /// Those that nobody uses, the one that was used last at the end.
    idle: Mutex<Vec<(Instant, Box<Line>)>>,
}

/// One connection, with nothing under way on it or one request. It is large, and passes through many hands: so it stays
/// where it is.
struct Line {
    requests: http1::SendRequest<Full<Bytes>>,
    traffic: http1::Connection<MaybeHttpsStream<TokioIo<TcpStream>>, Full<Bytes>>,
    is_over: bool,
}

/// The body of an answer. When it was read to its end, its connection is free for the next request; before that it is
/// closed, which tells the server that nobody reads on.
pub(super) struct Reading {
    body: Incoming,
    line: Option<Box<Line>>,
    lines: Arc<Lines>,
    is_read: bool,
}

impl Lines {
    /// No connection yet.
    pub(super) fn to(address: Uri, connecting: Connecting) -> Arc<Self> {
        let lines = Arc::new(Self {
            connecting: TowerToHyperService::new(connecting),
            address,
            idle: Mutex::default(),
        });
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(let_go(Arc::downgrade(&lines)));
        }
        lines
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(self: &Arc<Self>, mut request: Asked) -> Result<Response<Reading>, Deaf> {
        while let Some(line) = self.take_idle() {
            match self.ask(line, request).await {
                // The server had closed it, and nothing of the request went out.
                Err(mut failed) => request = failed.take_message().ok_or(Deaf)?,
                Ok(answer) => return Ok(answer),
            }
        }
        // Rare, and large while it lasts: it does not lie in the way of every other call.
        let line = Box::pin(self.open()).await?;
        self.ask(line, request).await.map_err(|_| Deaf)
    }

    async fn open(&self) -> Result<Box<Line>, Deaf> {
        let stream = self.connecting.call(self.address.clone()).await;
        let (requests, traffic) = http1::handshake(stream.map_err(|_| Deaf)?)
            .await
            .map_err(|_| Deaf)?;
        let mut line = Box::new(Line {
            requests,
            traffic,
            is_over: false,
        });
        poll_fn(|cx| {
            line.move_on(cx);
            Poll::Ready(())
        })
        .await;
        Ok(line)
    }

    async fn ask(
        self: &Arc<Self>,
        mut line: Box<Line>,
        request: Asked,
    ) -> Result<Response<Reading>, TrySendError<Asked>> {
        let answer = {
            let mut answer = pin!(line.requests.try_send_request(request));
            poll_fn(|cx| {
                line.move_on(cx);
                answer.as_mut().poll(cx)
            })
            .await?
        };
        Ok(answer.map(|body| Reading {
            body,
            line: Some(line),
            lines: Arc::clone(self),
            is_read: false,
        }))
    }

    /// A connection that nobody uses and that its server has not closed.
    fn take_idle(&self) -> Option<Box<Line>> {
        loop {
            let (_, mut line) = self.idle().pop()?;
            if line.is_free() {
                return Some(line);
            }
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(Instant, Box<Line>)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets connections go that nobody used for a while, as long as there is anybody who could.
async fn let_go(lines: Weak<Lines>) {
    loop {
        tokio::time::sleep(IDLE).await;
        let Some(lines) = lines.upgrade() else { return };
        lines.idle().retain(|(since, _)| since.elapsed() < IDLE);
    }
}

impl Line {
    /// Moves on as far as it goes now.
    fn move_on(&mut self, cx: &mut Context<'_>) {
        if !self.is_over {
            // However it ends, whoever waits for an answer on it is told so.
            self.is_over = Pin::new(&mut self.traffic).poll(cx).is_ready();
        }
    }

    /// Whether it can take a request, after a look at what happened on it meanwhile.
    fn is_free(&mut self) -> bool {
        self.move_on(&mut Context::from_waker(Waker::noop()));
        !self.is_over && self.requests.is_ready()
    }
}

impl Reading {
    /// The next piece; `None` at the end.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, Deaf> {
        loop {
            match poll_fn(|cx| self.poll_frame(cx)).await {
                None => {
                    self.is_read = true;
                    return Ok(None);
                }
                Some(Err(_)) => return Err(Deaf),
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        return Ok(Some(piece));
                    }
                }
            }
        }
    }

    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, hyper::Error>>> {
        let ready = Pin::new(&mut self.body).poll_frame(cx);
        let (Poll::Pending, Some(line)) = (&ready, &mut self.line) else {
            return ready;
        };
        line.move_on(cx);
        Pin::new(&mut self.body).poll_frame(cx)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let is_read = self.is_read || self.body.is_end_stream();
        let free = self.line.take().filter(|_| is_read);
        if let Some(mut line) = free
            && line.is_free()
        {
            self.lines.idle().push((Instant::now(), line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_connect::connecting;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    const WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    const CUT: &str = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhi";

    /// A server that gives so many answers on a connection and then closes it. It tells when one begins and when one ends.
    async fn server(
        answer: &'static str,
        times: usize,
    ) -> (Arc<Lines>, mpsc::UnboundedReceiver<&'static str>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let (tell, told) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tell.send("begins").unwrap();
                let mut read = [0; 4096];
                for _ in 0..times {
                    if stream.read(&mut read).await.unwrap_or(0) == 0 {
                        break;
                    }
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
                drop(stream);
                tell.send("ends").unwrap();
            }
        });
        let connecting = connecting(None, Duration::from_secs(5)).unwrap();
        (Lines::to(Uri::try_from(address).unwrap(), connecting), told)
    }

    fn request() -> Asked {
        let request = Request::post("/").header("host", "server");
        request.body(Full::new(Bytes::from_static(b"{}"))).unwrap()
    }

    async fn whole_answer(lines: &Arc<Lines>) -> Vec<u8> {
        let mut reading = lines.send(request()).await.unwrap().into_body();
        let mut body = Vec::new();
        while let Some(piece) = reading.piece().await.unwrap() {
            body.extend_from_slice(&piece);
        }
        body
    }

    #[tokio::test]
    async fn a_connection_is_used_again_when_its_answer_was_read() {
        for answer in [WHOLE, CHUNKED] {
            let (lines, mut told) = server(answer, usize::MAX).await;
            for _ in 0..5 {
                assert_eq!(whole_answer(&lines).await, b"hi");
            }
            assert_eq!(told.recv().await, Some("begins"));
            assert!(told.try_recv().is_err(), "one connection is enough");
            assert_eq!(lines.idle().len(), 1);
        }
    }

    #[tokio::test]
    async fn a_connection_that_its_server_closed_is_not_used_again() {
        let (lines, mut told) = server(WHOLE, 1).await;
        for _ in 0..3 {
            assert_eq!(whole_answer(&lines).await, b"hi");
            assert_eq!(told.recv().await, Some("begins"));
            assert_eq!(told.recv().await, Some("ends"));
            // The system says so a moment later.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    #[tokio::test]
    async fn an_answer_that_nobody_reads_on_ends_its_connection() {
        let (lines, mut told) = server(CUT, usize::MAX).await;
        let mut reading = lines.send(request()).await.unwrap().into_body();
        assert_eq!(reading.piece().await.unwrap().unwrap(), "hi");
        assert_eq!(told.recv().await, Some("begins"));
        drop(reading);
        assert_eq!(told.recv().await, Some("ends"));
        assert!(lines.idle().is_empty());
    }

    #[tokio::test]
    async fn an_answer_that_is_cut_off_is_none() {
        let (lines, _told) = server(CUT, 1).await;
        let mut reading = lines.send(request()).await.unwrap().into_body();
        assert_eq!(reading.piece().await.unwrap().unwrap(), "hi");
        assert!(reading.piece().await.is_err());
    }
}
