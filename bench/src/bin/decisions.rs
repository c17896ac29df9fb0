//! What a decision and a durable rise cost, in process and over HTTP, beside what the machine could do at best.
//!
//! All of it, or the one part that is named: `process`, `http` or `rises`.

#![allow(clippy::print_stdout, reason = "printing figures is what a benchmark is for")]

use std::hint::black_box;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::routing::post as route_post;
use axum::{Json, Router};
use bench::floor::Journal;
use bench::stand::{Outcome, Stand};
use bench::{Disk, HttpLoad, Spread, post, resident_bytes};
use serde_json::{Value, json};
use tidegate_core::{Attempt, Class, Entry, Ident, Kinds, Moment, Name, Veiled, decide};
use tidegate_engine::Payload;
use tidegate_store::{Opening, SessionStore};

const SESSIONS: usize = 100_000;
const DURABLE_CALLS: usize = 1_000;
/// Bare and gateway take turns this often.
const ROUNDS: usize = 5;

#[tokio::main]
async fn main() -> Outcome<()> {
    let directory = tempfile::tempdir_in(".")?;
    let stand = Arc::new(Stand::new(directory.path()).await?);
    println!("decisions, on {} cores", std::thread::available_parallelism()?);
    let ids = load_sessions(&stand).await?;
    let only = std::env::args().nth(1);
    let wanted = |part| only.as_deref().is_none_or(|only| only == part);
    if wanted("process") {
        in_process(&stand, &ids).await?;
    }
    if wanted("http") {
        over_http(&stand, &ids, directory.path()).await?;
    }
    if wanted("rises") {
        durable_raises(&stand, &ids, directory.path()).await?;
    }
    Ok(())
}

/// Opens the sessions, many at once so that they share commits, and prints what they cost in memory.
async fn load_sessions(stand: &Arc<Stand>) -> Outcome<Vec<Ident>> {
    let before = resident_bytes().unwrap_or_default();
    let mut ids = Vec::with_capacity(SESSIONS);
    for chunk in 0..SESSIONS / 1_000 {
        let mut opening = tokio::task::JoinSet::new();
        for index in 0..1_000 {
            let id = Ident::parse(&format!("sess_{:08}", chunk * 1_000 + index))?;
            ids.push(id.clone());
            let (stand, caller) = (Arc::clone(stand), stand.caller.clone());
            opening.spawn(async move {
                let agent = caller.agent.unwrap_or_else(|| caller.principal.clone());
                stand
                    .store
                    .open(Opening {
                        id,
                        user: caller.principal,
                        agent,
                        at: Moment(0),
                    })
                    .await
                    .map(drop)
            });
        }
        while let Some(opened) = opening.join_next().await {
            opened??;
        }
    }
    let grown = resident_bytes().unwrap_or_default().saturating_sub(before);
    println!("  memory for {SESSIONS} sessions      {:>8.1} MiB", mib(grown));
    Ok(ids)
}

async fn in_process(stand: &Stand, ids: &[Ident]) -> Outcome<()> {
    let tool = Name::parse("web_3")?;
    let control = &stand.engine.policy().control;
    let known = control.find(tool.as_str()).ok_or("the tool is declared")?;
    let mut sessions = Vec::with_capacity(ids.len());
    for id in ids {
        sessions.extend(stand.store.current(id).await?);
    }
    let rounds = 20;
    let began = Instant::now();
    for session in (0..rounds).flat_map(|_| &sessions) {
        let attempt = Attempt {
            tool: known,
            context: &session.context,
            arguments: Class::Public,
            argument_kinds: Kinds::NONE,
            veiled: Veiled::Nothing,
        };
        black_box(decide(black_box(attempt)));
    }
    println!(
        "  core decision, {} sessions   {:>8.0} ns",
        ids.len(),
        per_call_ns(began, rounds * ids.len())
    );

    let began = Instant::now();
    for id in ids {
        black_box(stand.store.current(black_box(id)).await?);
    }
    println!(
        "  linearizable read of a session   {:>8.0} ns",
        per_call_ns(began, ids.len())
    );

    let arguments = Payload::new(json!({"query": "weather in Lisbon"}));
    let began = Instant::now();
    // Each waits for its record to be durable, so a few are enough.
    for id in ids.iter().take(DURABLE_CALLS) {
        black_box(
            stand
                .engine
                .authorize(&stand.caller, id, &tool, &arguments)
                .await?,
        );
    }
    println!(
        "  authorize, engine in process     {:>8.0} ns",
        per_call_ns(began, DURABLE_CALLS)
    );
    Ok(())
}

async fn over_http(stand: &Stand, ids: &[Ident], directory: &Path) -> Outcome<()> {
    let servers = [
        ("bare axum JSON", serve_bare(None).await?),
        (
            "and a record",
            serve_bare(Some(Journal::on(Disk::probed(directory)?))).await?,
        ),
        ("authorize", stand.serve().await?),
    ];
    let id = ids.first().ok_or("there are sessions")?;
    let body = r#"{"tool":"web_3","arguments":{"query":"weather in Lisbon"}}"#;
    let request = post(&format!("/v1/session/{id}/authorize"), &stand.token, body);
    for (connections, calls) in [(1, 4_000), (16, 2_500)] {
        let load = |address: SocketAddr, calls| {
            let load = HttpLoad {
                address,
                request: request.clone(),
                connections,
                calls,
            };
            tokio::task::spawn_blocking(move || load.run())
        };
        for (_, address) in servers {
            load(address, calls / 10).await??;
        }
        let mut rounds = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let mut round = Vec::with_capacity(servers.len());
            for (_, address) in servers {
                round.push(load(address, calls).await??);
            }
            rounds.push(round);
        }
        print_middle(connections, &servers.map(|(name, _)| name), &mut rounds);
    }
    Ok(())
}

/// Prints the round in the middle: a neighbour's burst of work falls on one of them.
fn print_middle(connections: usize, names: &[&str; 3], rounds: &mut [Vec<Spread>]) {
    let share = |round: &[Spread]| match round {
        [bare, record, own] => (
            own.per_second() / bare.per_second(),
            own.per_second() / record.per_second(),
        ),
        _ => (f64::NAN, f64::NAN),
    };
    rounds.sort_by(|one, other| share(one).0.total_cmp(&share(other).0));
    let Some(round) = rounds.get(ROUNDS / 2) else {
        return;
    };
    for (name, spread) in names.iter().zip(round) {
        println!("  {connections:>2} connections: {name:<15} {spread}");
    }
    let (of_bare, of_record) = share(round);
    println!(
        "  {connections:>2} connections: ratio           {of_bare:.2} of bare calls/s, {of_record:.2} of those with a record"
    );
}

/// What HTTP and JSON cost here with nothing behind them, or with a durable write for each answer and nothing else.
async fn serve_bare(journal: Option<Journal>) -> Outcome<SocketAddr> {
    let answer = async move |State(journal): State<Option<Journal>>, Json(body): Json<Value>| {
        let is_recorded = match journal {
            Some(journal) => journal.record().await,
            None => false,
        };
        Json(
            json!({"decision": "allow", "allowed": true, "recorded": is_recorded, "reason": "nobody looked", "seen": body.is_object()}),
        )
    };
    let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let address = listener.local_addr()?;
    let routes = Router::new()
        .route("/v1/session/{id}/authorize", route_post(answer))
        .with_state(journal);
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(address)
}

async fn durable_raises(stand: &Arc<Stand>, ids: &[Ident], directory: &Path) -> Outcome<()> {
    let mut disk = Disk::probed(directory)?;
    let source = Name::parse("search_3")?;
    let entry = |class| Entry {
        class,
        kinds: Kinds::NONE,
        source: source.clone(),
        at: Moment(0),
    };
    let (mut writes, mut rises) = (Vec::new(), Vec::new());
    // In turns, so that what else the machine does falls on both.
    for id in ids.iter().take(DURABLE_CALLS) {
        writes.push(disk.write()?);
        let began = Instant::now();
        stand.store.raise(id, entry(Class::Internal)).await?;
        rises.push(began.elapsed());
    }
    let (disk, alone) = (spread(writes), spread(rises));
    println!("  one fdatasync                   {disk}");
    println!("  one durable rise at a time      {alone}");
    println!(
        "  ratio                            {:>8.2} of one fdatasync (p50)",
        ratio(alone.p50(), disk.p50())
    );

    let began = Instant::now();
    let mut raising = tokio::task::JoinSet::new();
    for id in ids.iter().skip(DURABLE_CALLS).take(20_000) {
        let (stand, id, entry) = (Arc::clone(stand), id.clone(), entry(Class::Internal));
        raising.spawn(async move { stand.store.raise(&id, entry).await.map(drop) });
        if raising.len() >= 256 {
            raising.join_next().await.transpose()?.transpose()?;
        }
    }
    while let Some(raised) = raising.join_next().await {
        raised??;
    }
    let per_second = 20_000.0 / began.elapsed().as_secs_f64();
    println!(
        "  durable rises, 256 at once      {per_second:>10.0}/s  {:.1} times the fdatasync rate",
        per_second / disk.per_second()
    );
    Ok(())
}

fn spread(times: Vec<Duration>) -> Spread {
    let all = times.iter().sum();
    Spread::new(times, all)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn per_call_ns(began: Instant, calls: usize) -> f64 {
    began.elapsed().as_nanos() as f64 / calls as f64
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn ratio(of: Duration, to: Duration) -> f64 {
    of.as_secs_f64() / to.as_secs_f64()
}
