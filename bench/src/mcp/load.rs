//! One client for every hop: it greets on a connection of its own, then calls the tool over and over on it.
//!
//! It reads no more than it must, so that what it costs is the same for all and small: a status, the length or the chunks
//! of a body, and whether the text came back.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;

use super::server::TOOL;
use crate::Spread;

/// Where calls go.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address.
    pub address: SocketAddr,
    /// A token, where one is needed.
    pub token: Option<String>,
}

/// A load of calls.
#[derive(Clone, Debug)]
pub struct Load {
    /// The text that is sent and comes back.
    pub text: String,
    /// How many connections at once.
    pub connections: usize,
    /// How many calls on each that are not counted, before those that are.
    pub warm_up: usize,
    /// How many calls on each that are counted.
    pub calls: usize,
}

impl Load {
    /// Sends it all and gives how long each call took.
    ///
    /// # Errors
    /// When a connection fails, or an answer is not what was sent.
    pub fn run(&self, target: &Target) -> io::Result<Spread> {
        let start = std::sync::Barrier::new(self.connections + 1);
        let (times, elapsed) = std::thread::scope(|scope| {
            let worker = |_| scope.spawn(|| self.connection(target, &start));
            let workers: Vec<_> = (0..self.connections).map(worker).collect();
            start.wait();
            let began = Instant::now();
            let times = workers.into_iter().map(|worker| {
                let joined = worker.join();
                joined.map_err(|_| io::Error::other("a connection panicked"))?
            });
            let times = times.collect::<io::Result<Vec<_>>>();
            times.map(|times| (times, began.elapsed()))
        })?;
        Ok(Spread::new(times.into_iter().flatten().collect(), elapsed))
    }

    fn connection(&self, target: &Target, start: &std::sync::Barrier) -> io::Result<Vec<Duration>> {
        let ready = Conversation::begin(target).and_then(|mut conversation| {
            let call = conversation.call(&self.text);
            for _ in 0..self.warm_up {
                conversation.exchange(&call)?;
            }
            Ok((conversation, call))
        });
        // Everyone waits for everyone, also those that cannot go on.
        start.wait();
        let (mut conversation, call) = ready?;
        let mut times = Vec::with_capacity(self.calls);
        for _ in 0..self.calls {
            let began = Instant::now();
            conversation.exchange(&call)?;
            times.push(began.elapsed());
            if !conversation.holds(&self.text) {
                return Err(io::Error::other("the answer is not what was sent"));
            }
        }
        Ok(times)
    }
}

struct Conversation {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    headers: String,
    session: Option<String>,
    body: Vec<u8>,
}

impl Conversation {
    fn begin(target: &Target) -> io::Result<Self> {
        let writer = TcpStream::connect(target.address)?;
        writer.set_nodelay(true)?;
        writer.set_read_timeout(Some(Duration::from_secs(60)))?;
        let token = target.token.as_ref();
        let token = token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
        let mut conversation = Self {
            reader: BufReader::with_capacity(256 << 10, writer.try_clone()?),
            writer,
            headers: format!(
                "host: {}\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\n{token}",
                target.address
            ),
            session: None,
            body: Vec::new(),
        };
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "load", "version": "1"},
        });
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        conversation.exchange(&conversation.post(&hello.to_string()))?;
        if let Some(session) = conversation.session.take() {
            conversation
                .headers
                .push_str(&format!("mcp-session-id: {session}\r\n"));
        }
        conversation
            .headers
            .push_str("mcp-protocol-version: 2025-06-18\r\n");
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        conversation.exchange(&conversation.post(&told.to_string()))?;
        Ok(conversation)
    }

    fn call(&self, text: &str) -> Vec<u8> {
        let params = json!({"name": TOOL, "arguments": {"text": text}});
        self.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string())
    }

    fn post(&self, body: &str) -> Vec<u8> {
        let Self { headers, .. } = self;
        format!(
            "POST /mcp HTTP/1.1\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }

    fn exchange(&mut self, request: &[u8]) -> io::Result<()> {
        self.writer.write_all(request)?;
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        if !line.starts_with("HTTP/1.1 20") {
            return Err(io::Error::other(format!("not a success: {}", line.trim())));
        }
        let (mut length, mut chunked) = (0, false);
        loop {
            line.clear();
            self.reader.read_line(&mut line)?;
            let (name, value) = line.trim().split_once(':').unwrap_or((line.trim(), ""));
            match name.to_ascii_lowercase().as_str() {
                "" => break,
                "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
                "transfer-encoding" => chunked = true,
                "mcp-session-id" => self.session = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        self.body.clear();
        if !chunked {
            return self.take(length);
        }
        loop {
            line.clear();
            self.reader.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            self.take(size)?;
            self.reader.read_line(&mut line)?;
            if size == 0 {
                return Ok(());
            }
        }
    }

    fn take(&mut self, bytes: usize) -> io::Result<()> {
        let begun = self.body.len();
        self.body.resize(begun + bytes, 0);
        self.reader
            .read_exact(self.body.get_mut(begun..).unwrap_or_default())
    }

    /// Whether the text came back: its end, which is what is missing when anything is.
    fn holds(&self, text: &str) -> bool {
        let end = text.len().saturating_sub(40);
        let end = text.get(end..).unwrap_or(text).as_bytes();
        memchr::memmem::find(&self.body, end).is_some() && self.body.len() > text.len()
    }
}
