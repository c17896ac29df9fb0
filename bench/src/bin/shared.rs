//! What decisions cost when the state is in SQLite, in PostgreSQL and in Redis, with one gateway and with three, beside what the
//! servers' own benchmarks say in the same run; and what a read and a rise cost as sessions grow in number.

#![allow(clippy::print_stdout, reason = "printing figures is what a benchmark is for")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use bench::stand::{Outcome, Stand};
use bench::{HttpLoad, Spread, fdatasync_spread, post};
use tidegate_core::{Class, Entry, Ident, Kinds, Moment, Name};
use tidegate_store::{Opening, Remote, SessionStore, SqliteOptions, SqliteStore, TokenStore};
use tokio::task::JoinSet;
use xtask::services::{Place, Postgres, Redis, Running, Service, free_port};

const CONNECTIONS: usize = 16;
const CALLS: usize = 6_000;
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
const READS: usize = 2_000;
const RISES: usize = 200;
const OPENED_AT_ONCE: usize = 512;

#[tokio::main]
async fn main() -> Outcome<()> {
    let place = Place::new()?;
    let directory = tempfile::tempdir_in(".")?;
    let postgres = start(&Postgres, &place)?;
    let redis = start(&Redis, &place)?;
    println!(
        "shared state, on {} cores; gateways, servers and load share them",
        std::thread::available_parallelism()?
    );
    println!(
        "  one fdatasync        {}",
        fdatasync_spread(directory.path(), 500)?
    );
    servers_alone(&postgres, &redis)?;

    println!("\nauthorize over HTTP, {CONNECTIONS} connections");
    let file = directory.path().join("sqlite").join("tidegate.db");
    let sqlite = async || Ok(SqliteStore::open(&file, SqliteOptions::default())?);
    decisions("SQLite", directory.path(), sqlite).await?;
    let remote = Remote::at(postgres.url());
    let open = async || Ok(tidegate_store_postgres::connect(&remote).await?);
    decisions("PostgreSQL", directory.path(), open).await?;
    let remote = Remote::at(redis.url());
    let open = async || Ok(tidegate_store_redis::connect(&remote).await?);
    decisions("Redis", directory.path(), open).await?;

    println!("\na read and a durable rise, as sessions grow in number");
    grow("SQLite", &Arc::new(sqlite().await?), None).await?;
    let store = tidegate_store_postgres::connect(&Remote::at(postgres.url())).await?;
    grow("PostgreSQL", &Arc::new(store), Some(postgres.url())).await?;
    let store = tidegate_store_redis::connect(&Remote::at(redis.url())).await?;
    grow("Redis", &Arc::new(store), None).await
}

fn start(service: &dyn Service, place: &Place) -> Outcome<Running> {
    service.install()?;
    Ok(service.start(&place.directory(service.name())?, free_port()?)?)
}

/// What the servers' own programs measure.
fn servers_alone(postgres: &Running, redis: &Running) -> Outcome<()> {
    let connections = CONNECTIONS.to_string();
    let port = redis.url().rsplit(':').next().unwrap_or_default();
    let asked = [
        "-q",
        "-p",
        port,
        "-c",
        &connections,
        "-n",
        "20000",
        "-t",
        "get,set",
    ];
    for line in run("redis-benchmark", &asked)?
        .lines()
        .filter(|line| line.contains("per second"))
    {
        println!("  redis-benchmark      {}", line.trim());
    }
    run("pgbench", &["-q", "-i", "-s", "1", postgres.url()])?;
    for (what, script) in [("select only", "-S"), ("simple update", "-N")] {
        let asked = [
            script,
            "-M",
            "prepared",
            "-c",
            &connections,
            "-j",
            "2",
            "-T",
            "3",
            postgres.url(),
        ];
        for line in run("pgbench", &asked)?
            .lines()
            .filter(|line| line.starts_with("tps") || line.starts_with("latency average"))
        {
            println!("  pgbench {what:<13} {line}");
        }
    }
    Ok(())
}

fn run(program: &str, args: &[&str]) -> Outcome<String> {
    let output = Command::new(program).args(args).output()?;
    if !output.status.success() {
        return Err(format!("{program} failed ({})", output.status).into());
    }
    // Progress is written over with carriage returns.
    Ok(String::from_utf8_lossy(&output.stdout).replace('\r', "\n"))
}

/// Decisions over HTTP by one gateway and by three, each with its own record and its own session.
async fn decisions<S, F>(name: &str, directory: &Path, open: impl Fn() -> F) -> Outcome<()>
where
    S: SessionStore + TokenStore + 'static,
    F: Future<Output = Outcome<S>>,
{
    let mut gateways = Vec::new();
    for number in 0..3 {
        let own = directory.join(format!("{name}-{number}"));
        std::fs::create_dir(&own)?;
        let stand = Stand::on(&own, Arc::new(open().await?)).await?;
        let id = format!("bench-{number}");
        stand.store.open(opening(&id, &stand.caller.principal)?).await?;
        let body = r#"{"tool":"web_3","arguments":{"query":"weather in Lisbon"}}"#;
        let request = post(&format!("/v1/session/{id}/authorize"), &stand.token, body);
        gateways.push((stand.serve().await?, request, stand));
    }
    for count in [1, 3] {
        let load = async |calls: usize| {
            let mut loads = JoinSet::new();
            for (address, request, _) in gateways.iter().take(count) {
                let load = HttpLoad {
                    address: *address,
                    request: request.clone(),
                    connections: CONNECTIONS / count,
                    calls: calls / CONNECTIONS,
                };
                loads.spawn_blocking(move || load.run());
            }
            let mut spreads = Vec::new();
            while let Some(spread) = loads.join_next().await {
                spreads.push(spread??);
            }
            Outcome::Ok(Spread::together(spreads))
        };
        load(CALLS / 10).await?;
        println!("  {name:<10} {count} gateway(s)  {}", load(CALLS).await?);
    }
    Ok(())
}

/// What a read and a rise cost at each size.
async fn grow<S: SessionStore + 'static>(name: &str, store: &Arc<S>, postgres: Option<&str>) -> Outcome<()> {
    let mut there = 0;
    for size in SIZES {
        fill(store, there, size, postgres).await?;
        there = size;
        let mut reads = Vec::with_capacity(READS);
        let all = Instant::now();
        for number in 0..READS {
            // Spread over all of them, in no order.
            let id = session_id(number.wrapping_mul(7_919) % size)?;
            let began = Instant::now();
            store.current(&id).await?.ok_or("the session is there")?;
            reads.push(began.elapsed());
        }
        let reads = Spread::new(reads, all.elapsed());
        let mut rises = Vec::with_capacity(RISES);
        let all = Instant::now();
        for number in 0..RISES {
            let id = session_id((number.wrapping_mul(104_729) + size / 2) % size)?;
            let entry = Entry {
                class: Class::ALL
                    .into_iter()
                    .nth(1 + there.ilog10() as usize % 4)
                    .unwrap_or(Class::Secret),
                kinds: Kinds::NONE,
                source: Name::parse("search_3")?,
                at: Moment(0),
            };
            let began = Instant::now();
            store.raise(&id, entry).await?;
            rises.push(began.elapsed());
        }
        let rises = Spread::new(rises, all.elapsed());
        println!("  {name:<10} {size:>9} sessions  read {reads}  rise {rises}");
    }
    Ok(())
}

async fn fill<S: SessionStore + 'static>(
    store: &Arc<S>,
    from: usize,
    to: usize,
    postgres: Option<&str>,
) -> Outcome<()> {
    let user = Ident::parse("alice")?;
    // One by one every open waits for the server's disk; the server itself can copy the first.
    if let (Some(url), true) = (postgres, from > 0) {
        let copy = format!(
            "INSERT INTO tidegate.session SELECT 'grow-' || lpad(n::text, 8, '0'), 1, 0, 'public', document
             FROM generate_series({from}, {to} - 1) AS n,
             (SELECT document FROM tidegate.session WHERE version = 1 AND id LIKE 'grow-%' LIMIT 1) AS first"
        );
        run(
            "psql",
            &["-q", url, "-c", &copy, "-c", "ANALYZE tidegate.session"],
        )?;
        return Ok(());
    }
    let mut opening_now = JoinSet::new();
    for number in from..to {
        let opening = opening(session_id(number)?.as_str(), &user)?;
        let store = Arc::clone(store);
        opening_now.spawn(async move { store.open(opening).await.map(drop) });
        if opening_now.len() >= OPENED_AT_ONCE {
            opening_now.join_next().await.transpose()?.transpose()?;
        }
    }
    while let Some(opened) = opening_now.join_next().await {
        opened??;
    }
    Ok(())
}

fn session_id(number: usize) -> Outcome<Ident> {
    Ok(Ident::parse(&format!("grow-{number:08}"))?)
}

fn opening(id: &str, user: &Ident) -> Outcome<Opening> {
    Ok(Opening {
        id: Ident::parse(id)?,
        user: user.clone(),
        agent: Ident::parse("bot")?,
        at: Moment(0),
    })
}
