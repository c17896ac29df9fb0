//! What the way out costs: a tunnel through the egress proxy beside a direct connection, a plain forward proxy, and a proxy
//! that decides nothing and so shows what the machine itself asks for one more hop and for a durable record, in one run.

#![allow(clippy::print_stdout, reason = "printing figures is what a benchmark is for")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bench::stand::{Outcome, Stand};
use bench::{Spread, fdatasync_spread, floor};
use tidegate_core::Class;
use tidegate_engine::OpenRequest;
use tidegate_engine::egress::{Destination, Destinations, EgressKey, Protocol};
use tidegate_gateway::digest;
use tidegate_gateway::egress::{Bounds, Proxy, Settings, SystemResolver};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use xtask::services::{Service, Tinyproxy, free_port};

/// What one download carries.
const BULK_BYTES: usize = 1 << 30;

/// How often each way is measured, in turn with the others.
const ROUNDS: usize = 5;

/// How many new connections each way opens in a round.
const CONNECTIONS: usize = 300;

/// The proxy that decides nothing, without a durable write for each tunnel and with one.
const HOP: &str = "bare hop";
const HOP_AND_RECORD: &str = "and a record";

/// The same in one loop, with a durable write: what answers soonest.
const LOOP_AND_RECORD: &str = "in one loop";

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let runtime = || tokio::runtime::Runtime::new();
    match words.as_slice() {
        [_] => measure(),
        [_, "server"] => runtime()?.block_on(serve_origin()),
        [_, "gateway", port, directory] => {
            runtime()?.block_on(serve_gateway(port.parse()?, Path::new(directory)))
        }
        [_, "floor"] => Ok(floor::serve_proxy(None)?),
        [_, "loop", directory] => Ok(floor::serve_in_one_loop(Path::new(directory))?),
        [_, "floor", directory] => Ok(floor::serve_proxy(Some(Path::new(directory)))?),
        _ => Err("usage: egress".into()),
    }
}

/// A process that ends with the benchmark, and the line in which it said where it is.
struct Part {
    process: Child,
    said: String,
}

impl Part {
    fn start(args: &[&str]) -> Outcome<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(args)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut said = String::new();
        let stdout = process.stdout.take().ok_or("no standard output")?;
        BufReader::new(stdout).read_line(&mut said)?;
        let said = said.trim_end().to_owned();
        Ok(Self { process, said })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// One way to the origin.
struct Way {
    name: &'static str,
    origin: SocketAddr,
    proxy: Option<SocketAddr>,
    credential: String,
    opened: Vec<Duration>,
    speeds: Vec<f64>,
}

impl Way {
    const fn new(
        name: &'static str,
        origin: SocketAddr,
        proxy: Option<SocketAddr>,
        credential: String,
    ) -> Self {
        Self {
            name,
            origin,
            proxy,
            credential,
            opened: Vec::new(),
            speeds: Vec::new(),
        }
    }

    fn open(&self) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.proxy.unwrap_or(self.origin))?;
        stream.set_nodelay(true)?;
        if self.proxy.is_none() {
            return Ok(stream);
        }
        let (origin, credential) = (self.origin, &self.credential);
        write!(
            stream,
            "CONNECT {origin} HTTP/1.1\r\nHost: {origin}\r\n{credential}\r\n"
        )?;
        let mut head = Vec::new();
        let mut piece = [0; 512];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut piece)? {
                0 => return Err(io::Error::other("the proxy hung up")),
                read => head.extend_from_slice(piece.get(..read).unwrap_or_default()),
            }
        }
        if head.starts_with(b"HTTP/1.") && head.get(9..12) == Some(b"200") {
            Ok(stream)
        } else {
            Err(io::Error::other("the proxy refused"))
        }
    }

    /// From nothing to the first byte back.
    fn measure_opening(&mut self) -> io::Result<()> {
        for _ in 0..CONNECTIONS {
            let began = Instant::now();
            let mut stream = self.open()?;
            stream.write_all(b"e")?;
            stream.read_exact(&mut [0])?;
            self.opened.push(began.elapsed());
        }
        Ok(())
    }

    fn measure_speed(&mut self) -> io::Result<()> {
        let mut stream = self.open()?;
        let began = Instant::now();
        stream.write_all(b"d")?;
        let mut buffer = vec![0; 256 * 1024];
        let mut read = 0;
        while read < BULK_BYTES {
            match stream.read(&mut buffer)? {
                0 => return Err(io::Error::other("the download ended early")),
                more => read += more,
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a gigabyte")]
        self.speeds
            .push(BULK_BYTES as f64 / (1 << 20) as f64 / began.elapsed().as_secs_f64());
        Ok(())
    }

    /// The speed of the round in the middle.
    fn speed(&self) -> f64 {
        let mut speeds = self.speeds.clone();
        speeds.sort_by(f64::total_cmp);
        speeds.get(speeds.len() / 2).copied().unwrap_or_default()
    }

    fn opening(&self) -> Spread {
        Spread::new(self.opened.clone(), self.opened.iter().sum())
    }

    fn print(&self) {
        let (speed, opening) = (self.speed(), self.opening());
        println!(
            "  {:<12} {speed:>8.0} MiB/s   new connection {opening}",
            self.name
        );
    }

    fn print_beside(&self, other: &Self) {
        let (own, others) = (self.opening().p50(), other.opening().p50());
        println!(
            "  beside {:<12} {:.2} times its throughput, a new connection takes {:.2} ms more",
            other.name,
            self.speed() / other.speed(),
            (own.as_secs_f64() - others.as_secs_f64()) * 1e3,
        );
    }
}

fn measure() -> Outcome<()> {
    let directory = tempfile::tempdir_in(".")?;
    let server = Part::start(&["server"])?;
    let origin: SocketAddr = server.said.parse()?;
    let place = directory.path().to_str().ok_or("the directory has no name")?;
    let gateway = Part::start(&["gateway", &origin.port().to_string(), place])?;
    let (address, credential) = gateway
        .said
        .split_once(' ')
        .ok_or("the gateway did not say where")?;
    let mut ways = vec![
        Way::new("direct", origin, None, String::new()),
        Way::new(
            "tidegate",
            origin,
            Some(address.parse()?),
            format!("Proxy-Authorization: {credential}\r\n"),
        ),
    ];
    let floors = [
        (HOP, Part::start(&["floor"])?),
        (HOP_AND_RECORD, Part::start(&["floor", place])?),
        (LOOP_AND_RECORD, Part::start(&["loop", place])?),
    ];
    for (name, floor) in &floors {
        ways.push(Way::new(name, origin, Some(floor.said.parse()?), String::new()));
    }
    let port = free_port()?;
    let plain = Tinyproxy
        .install()
        .and_then(|()| Tinyproxy.start(directory.path(), port));
    match &plain {
        Ok(_) => ways.push(Way::new(
            "tinyproxy",
            origin,
            Some(([127, 0, 0, 1], port).into()),
            String::new(),
        )),
        Err(why) => println!("  tinyproxy is left out: {why}"),
    }
    println!("egress, on {} cores", std::thread::available_parallelism()?);
    for way in &mut ways {
        way.measure_opening()?;
        way.opened.clear();
    }
    for _ in 0..ROUNDS {
        for way in &mut ways {
            way.measure_opening()?;
            way.measure_speed()?;
        }
    }
    println!(
        "  one durable write of this disk            {}",
        fdatasync_spread(directory.path(), 500)?
    );
    ways.iter().for_each(Way::print);
    let find = |name| ways.iter().find(|way| way.name == name);
    let others = ["direct", HOP, HOP_AND_RECORD, LOOP_AND_RECORD];
    if let Some(own) = find("tidegate") {
        others
            .into_iter()
            .filter_map(find)
            .for_each(|other| own.print_beside(other));
    }
    Ok(())
}

/// Sends a byte back, or sends a lot.
async fn serve_origin() -> Outcome<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let bulk: Arc<[u8]> = vec![7; 256 * 1024].into();
    loop {
        let (mut stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let bulk = Arc::clone(&bulk);
        tokio::spawn(async move {
            let mut left = match stream.read_u8().await {
                Ok(b'e') => return stream.write_all(b"e").await,
                Ok(_) => BULK_BYTES,
                Err(error) => return Err(error),
            };
            while left > 0 {
                stream.write_all(&bulk).await?;
                left = left.saturating_sub(bulk.len());
            }
            Ok(())
        });
    }
}

/// The proxy with everything on: credentials, decisions, the durable record.
async fn serve_gateway(port: u16, directory: &Path) -> Outcome<()> {
    let stand = Stand::new(directory).await?;
    let request = OpenRequest {
        user: None,
        agent: None,
        id: None,
    };
    let session = stand.engine.open_session(&stand.caller, request).await?;
    let destination = Destination {
        pattern: "127.0.0.1".parse()?,
        ceiling: Class::Public,
        protocol: Protocol::Tcp,
        ..Destination::unlisted(vec![port])
    };
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let settings = Settings {
        destinations: Destinations::new(vec![destination], Vec::new()),
        key: EgressKey::in_file(&directory.join("egress.key"))?,
        tokens: Some(stand.store.clone()),
        bounds: Bounds::STANDARD,
        own: vec![address],
        resolver: Arc::new(SystemResolver),
        interception: None,
    };
    let proxy = Proxy::new(Arc::clone(&stand.engine), settings);
    let issued = proxy
        .egress()
        .issue(&stand.caller, &digest(&stand.token), &session.id)
        .await?;
    let shown = BASE64_STANDARD.encode(format!("{}:{}", issued.session, *issued.password));
    println!("{address} Basic {shown}");
    // On a worker of the runtime, as the program has it.
    tokio::spawn(async move { proxy.serve_tcp(listener, std::future::pending()).await }).await?;
    Ok(())
}
