//! A load of HTTP calls over keep-alive connections, as cheap as it can be on the sending side.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::Spread;

/// One request, sent many times over several connections.
pub struct HttpLoad {
    /// Where to.
    pub address: SocketAddr,
    /// The whole request, head and body.
    pub request: Vec<u8>,
    /// How many connections at once.
    pub connections: usize,
    /// How many calls on each.
    pub calls: usize,
}

impl HttpLoad {
    /// Sends it all and gives how long each call took.
    ///
    /// # Errors
    /// When a connection fails, or an answer is not a 200.
    pub fn run(&self) -> io::Result<Spread> {
        let began = Instant::now();
        let times = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.connections)
                .map(|_| scope.spawn(|| self.connection()))
                .collect();
            let joined = workers.into_iter().map(|worker| {
                worker
                    .join()
                    .map_err(|_| io::Error::other("a connection panicked"))
            });
            joined
                .map(|times| times.and_then(|times| times))
                .collect::<io::Result<Vec<_>>>()
        })?;
        Ok(Spread::new(
            times.into_iter().flatten().collect(),
            began.elapsed(),
        ))
    }

    fn connection(&self) -> io::Result<Vec<Duration>> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut writer = stream;
        let mut body = Vec::new();
        let mut line = String::new();
        (0..self.calls)
            .map(|_| {
                let began = Instant::now();
                writer.write_all(&self.request)?;
                read_answer(&mut reader, &mut line, &mut body)?;
                Ok(began.elapsed())
            })
            .collect()
    }
}

fn read_answer(reader: &mut impl BufRead, line: &mut String, body: &mut Vec<u8>) -> io::Result<()> {
    line.clear();
    reader.read_line(line)?;
    if !line.starts_with("HTTP/1.1 200") {
        return Err(io::Error::other(format!("not a 200: {}", line.trim())));
    }
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(line)?;
        let header = line.trim();
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').unwrap_or((header, ""));
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    body.resize(length, 0);
    reader.read_exact(body)
}

/// A POST request with a JSON body and a token.
#[must_use]
pub fn post(path: &str, token: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
