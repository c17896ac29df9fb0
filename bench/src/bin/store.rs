//! How fast the embedded store is on this disk: `cargo xtask bench store`; a directory as an argument chooses another.
//!
//! Every figure that depends on the disk stands beside the disk's own, measured in turns with it in the same run.
#![expect(clippy::print_stdout, reason = "a program that prints what it measured")]

use std::error::Error;
use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tidegate_core::{Class, Entry, Ident, Moment, Name};
use tidegate_store::{Opening, SessionStore, SqliteOptions, SqliteStore};
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;

const SESSIONS: usize = 100_000;
const ROUNDS: usize = 20;
const PER_ROUND: usize = 50;
const RAISES: usize = 2_048;

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    let parent = std::env::args()
        .nth(1)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = tempfile::Builder::new()
        .prefix("bench-store")
        .tempdir_in(parent)?;
    runtime.block_on(measure(dir.path()))
}

async fn measure(dir: &Path) -> Result<(), Failure> {
    let store = Arc::new(SqliteStore::open(
        dir.join("tidegate.db"),
        SqliteOptions::default(),
    )?);
    let before = resident_bytes()?;
    let started = Instant::now();
    let ids = open_sessions(&store).await?;
    let took = started.elapsed();
    println!(
        "sessions opened durably      {:>12.0} /s ({SESSIONS}, 512 at a time)",
        rate(SESSIONS, took)
    );
    let grown = resident_bytes()?.saturating_sub(before);
    println!("memory per 100,000 sessions  {:>12.1} MiB", mib(grown));
    one_at_a_time(&store, &ids, dir).await?;
    many_at_a_time(&store, &ids).await?;
    reads(&store, &ids)?;
    data_version(&dir.join("tidegate.db"))
}

async fn open_sessions(store: &Arc<SqliteStore>) -> Result<Vec<Ident>, Failure> {
    let ids: Vec<Ident> = (0..SESSIONS)
        .map(|number| Ident::parse(&format!("session-{number:08}-0123456789abcdef")))
        .collect::<Result<_, _>>()?;
    for (number, some) in ids.chunks(512).enumerate() {
        let mut tasks = JoinSet::new();
        for id in some {
            let opening = Opening {
                id: id.clone(),
                user: Ident::parse(&format!("user-{}", number % 100))?,
                agent: Ident::parse("agent-1")?,
                at: Moment(0),
            };
            let store = store.clone();
            tasks.spawn(async move { store.open(opening).await.map(drop) });
        }
        for opened in tasks.join_all().await {
            opened?;
        }
    }
    Ok(ids)
}

/// A raise waits for one sync of the disk; so the two are measured in turns.
async fn one_at_a_time(store: &Arc<SqliteStore>, ids: &[Ident], dir: &Path) -> Result<(), Failure> {
    let file = File::options()
        .create_new(true)
        .read(true)
        .write(true)
        .open(dir.join("disk"))?;
    file.write_all_at(&vec![0; 4096 * PER_ROUND], 0)?;
    file.sync_all()?;
    let (mut raises, mut over, mut append) = (Vec::new(), Vec::new(), Vec::new());
    let mut end = 4096 * PER_ROUND;
    for some in ids.chunks(PER_ROUND).take(ROUNDS) {
        for id in some {
            let started = Instant::now();
            store.raise(id, entry(Class::Internal)?).await?;
            raises.push(started.elapsed());
        }
        for slot in 0..PER_ROUND {
            over.push(write_and_sync(&file, 4096 * slot)?);
        }
        for _ in 0..PER_ROUND {
            append.push(write_and_sync(&file, end)?);
            end += 4096;
        }
    }
    let (over, append) = (quantiles(over), quantiles(append));
    let raise = quantiles(raises);
    println!(
        "fdatasync, 4 KiB in place    {:>9} us p50 {:>9} us p99",
        over.0, over.1
    );
    println!(
        "fdatasync, 4 KiB appended    {:>9} us p50 {:>9} us p99",
        append.0, append.1
    );
    println!(
        "one durable raise            {:>9} us p50 {:>9} us p99",
        raise.0, raise.1
    );
    println!(
        "  to a sync in place         {:>12.2} x p50",
        ratio(raise.0, over.0)
    );
    println!(
        "  to a sync of an append     {:>12.2} x p50",
        ratio(raise.0, append.0)
    );
    println!(
        "fdatasync, 4 KiB in place    {:>12.0} /s one after the other",
        1e6 / over.0 as f64
    );
    Ok(())
}

async fn many_at_a_time(store: &Arc<SqliteStore>, ids: &[Ident]) -> Result<(), Failure> {
    let mut fresh = ids.chunks(RAISES).skip(1);
    for tasks_at_once in [1, 16, 256] {
        let some = fresh.next().ok_or("too few sessions")?;
        let started = Instant::now();
        let mut tasks = JoinSet::new();
        for some in some.chunks(RAISES / tasks_at_once) {
            let (store, some) = (store.clone(), some.to_vec());
            let entry = entry(Class::Pii)?;
            tasks.spawn(async move {
                for id in some {
                    store.raise(&id, entry.clone()).await?;
                }
                Ok::<_, tidegate_store::StoreError>(())
            });
        }
        for raised in tasks.join_all().await {
            raised?;
        }
        let label = format!("durable raises, {tasks_at_once} at a time");
        println!("{label:<28} {:>12.0} /s", rate(some.len(), started.elapsed()));
    }
    Ok(())
}

fn reads(store: &Arc<SqliteStore>, ids: &[Ident]) -> Result<(), Failure> {
    let before = fs::read_to_string("/proc/self/io").unwrap_or_default();
    for threads in [1, 2, 4] {
        let started = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || {
                    for number in 0..200_000 {
                        let id = ids.get((number * 7919 + thread * 31) % SESSIONS);
                        black_box(id.map(|id| now(store.current(id))));
                    }
                });
            }
        });
        let each = started.elapsed().as_nanos() / 200_000;
        println!("current, {threads} threads           {each:>12} ns per call and thread");
    }
    let after = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let disk = |text: &str| -> Option<u64> {
        text.lines()
            .find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok())
    };
    if let (Some(before), Some(after)) = (disk(&before), disk(&after)) {
        println!("read from the disk meanwhile {:>12} bytes", after - before);
    }
    Ok(())
}

/// What SQLite's own way to ask whether anything was committed costs, for comparison.
fn data_version(file: &Path) -> Result<(), Failure> {
    let conn = rusqlite::Connection::open(file)?;
    let mut statement = conn.prepare("PRAGMA data_version")?;
    let started = Instant::now();
    for _ in 0..100_000 {
        black_box(statement.query_row([], |row| row.get::<_, i64>(0))?);
    }
    println!(
        "PRAGMA data_version alone    {:>12} ns",
        started.elapsed().as_nanos() / 100_000
    );
    Ok(())
}

/// `current` answers without waiting, so one poll is enough.
fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

fn write_and_sync(file: &File, at: usize) -> Result<Duration, Failure> {
    let page = [7; 4096];
    let started = Instant::now();
    file.write_all_at(&page, u64::try_from(at)?)?;
    file.sync_data()?;
    Ok(started.elapsed())
}

fn entry(class: Class) -> Result<Entry, Failure> {
    Ok(Entry {
        class,
        kinds: class.kind().into_iter().collect(),
        source: Name::parse("search_email")?,
        at: Moment(1),
    })
}

fn quantiles(mut times: Vec<Duration>) -> (u128, u128) {
    times.sort();
    let at = |part: usize| times.get(times.len() * part / 100).map_or(0, Duration::as_micros);
    (at(50), at(99))
}

fn resident_bytes() -> Result<usize, Failure> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let pages: usize = statm.split(' ').nth(1).ok_or("no resident size")?.parse()?;
    Ok(pages * 4096)
}

fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

fn ratio(one: u128, other: u128) -> f64 {
    one as f64 / other as f64
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
