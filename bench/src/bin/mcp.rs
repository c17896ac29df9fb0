//! What a hop before an MCP server costs: none, nginx as a plain reverse proxy, this gateway with scanning and durable
//! recording on, and the proxies of others. The same client, the same server, one run.

#![allow(clippy::print_stdout, reason = "printing figures is what a benchmark is for")]

use std::path::Path;
use std::time::Duration;

use bench::corpus::{Kind, corpus};
use bench::mcp::hops::{self, Hop};
use bench::mcp::load::Load;
use bench::mcp::server;
use bench::stand::Outcome;
use bench::{Spread, fdatasync_spread};

/// Each hop is measured so often, in turns, so that what else the machine does falls on all of them.
const ROUNDS: usize = 3;

/// Calls on each connection before those that are counted.
const WARM_UP: usize = 10;

fn main() -> Outcome<()> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    match *args.as_slice() {
        ["server"] => runtime.block_on(server::serve()),
        ["streams"] => Ok(server::serve_streams()?),
        ["gateway", upstream, directory] => {
            runtime.block_on(hops::serve_gateway(upstream, Path::new(directory)))
        }
        // For whoever looks for what is slow: this gateway and nginx alone, one size, so many calls.
        ["only", bytes, calls] => measure(true, &[(bytes.parse()?, calls.parse()?)]),
        _ => measure(false, &[(100, 1_500), (100_000, 300)]),
    }
}

/// Something that calls go through, or why it is missing.
struct Row {
    name: &'static str,
    hop: Result<Hop, String>,
    /// Slow ones are asked less often.
    share: usize,
}

fn measure(quick: bool, sizes: &[(usize, usize)]) -> Outcome<()> {
    let directory = tempfile::tempdir_in(".")?;
    let server = hops::server()?;
    let address = server.target.address;
    let place = directory.path().canonicalize()?;
    let row = |name, hop, share| Row { name, hop, share };
    let mut rows = vec![
        row("direct", Ok(server), 1),
        row("nginx", hops::nginx(address, &place), 1),
        row("tidegate", hops::tidegate(address, &place), 1),
    ];
    if !quick {
        rows.push(row("mcp-proxy", hops::mcp_proxy(), 10));
        rows.push(row("fastmcp", hops::fastmcp(address), 20));
    }
    println!("MCP calls, on {} cores", std::thread::available_parallelism()?);
    let disk = fdatasync_spread(&place, 500)?;
    println!("  one small durable write on this disk: {disk}");
    for Row { name, hop, .. } in &rows {
        if let Err(why) = hop {
            println!("  {name} is missing: {why}");
        }
    }
    for (bytes, calls) in sizes.iter().copied() {
        let text = corpus(Kind::Prose, bytes);
        let text: String = String::from_utf8(text)?.chars().take(bytes).collect();
        for connections in [1, 16] {
            let load = Load {
                text: text.clone(),
                connections,
                warm_up: WARM_UP,
                // Many at once are over sooner, so there are more of them.
                calls: (calls * connections.min(2) / connections).max(10),
            };
            println!("  echo of {bytes} B, {connections} connection(s)");
            compare(&rows, &load)?;
        }
    }
    Ok(())
}

fn compare(rows: &[Row], load: &Load) -> Outcome<()> {
    let mut figures: Vec<Option<Figures>> = rows.iter().map(|_| None).collect();
    for _ in 0..ROUNDS {
        for (row, figures) in rows.iter().zip(&mut figures) {
            let Ok(hop) = &row.hop else { continue };
            match once(hop, load, row.share) {
                Ok(measured) => {
                    *figures = Some(match figures.take() {
                        Some(before) => before.with(measured),
                        None => measured,
                    });
                }
                Err(error) => println!("    {:<10} failed: {error}", row.name),
            }
        }
    }
    let of = |name: &str| {
        let at = rows.iter().position(|row| row.name == name)?;
        figures.get(at)?.as_ref().map(|figures| &figures.spread)
    };
    let direct = of("direct");
    for (row, figures) in rows.iter().zip(&figures) {
        let (Some(figures), Some(direct)) = (figures, direct) else {
            continue;
        };
        let Figures {
            spread, processor, ..
        } = figures;
        let added = spread.p50().saturating_sub(direct.p50());
        println!(
            "    {:<10} {spread}  adds {added:>9.1?}  processor {processor:>9.1?} a call",
            row.name
        );
    }
    if let (Some(direct), Some(nginx), Some(tidegate)) = (direct, of("nginx"), of("tidegate")) {
        let added = |spread: &Spread| spread.p50().saturating_sub(direct.p50()).as_secs_f64();
        println!(
            "    tidegate adds {:.1} times what nginx adds at p50, and carries {:.2} of nginx's calls/s",
            added(tidegate) / added(nginx),
            tidegate.per_second() / nginx.per_second()
        );
    }
    Ok(())
}

/// How long calls took, and what the hop (or the server, where there is none) used of the processors for one.
struct Figures {
    spread: Spread,
    processor: Duration,
    rounds: u32,
}

impl Figures {
    /// Both together; each round has as many calls as the others.
    fn with(self, other: Self) -> Self {
        let (spread, rounds) = (self.spread, self.rounds + other.rounds);
        let processor = (self.processor * self.rounds + other.processor * other.rounds) / rounds;
        Self {
            spread: spread.with(other.spread),
            processor,
            rounds,
        }
    }
}

fn once(hop: &Hop, load: &Load, share: usize) -> Outcome<Figures> {
    let load = Load {
        warm_up: (load.warm_up / share).max(1),
        calls: (load.calls / share).max(3),
        ..load.clone()
    };
    let before = hop.processor().unwrap_or_default();
    let spread = load.run(&hop.target)?;
    let used = hop.processor().unwrap_or_default().saturating_sub(before);
    let calls = load.connections * (load.warm_up + load.calls);
    let processor = used / u32::try_from(calls)?;
    Ok(Figures {
        spread,
        processor,
        rounds: 1,
    })
}
