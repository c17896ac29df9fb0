//! Several processes on one file, and processes that are killed.
//!
//! The test program runs itself again as [`child`], with its orders in the environment; a child reports on its
//! standard output.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test stops at the first surprise, and a child talks to its parent by printing"
)]

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidegate_core::{Class, Entry, Ident, Moment, Name};
use tidegate_store::{Opening, SessionStore, SqliteOptions, SqliteStore};
use tokio::task::JoinSet;

/// Enough for every moment of a commit to be hit, and then some.
const KILLS: u64 = 60;

#[test]
fn no_acknowledged_rise_is_lost_to_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tidegate.db");
    let mut acknowledged = HashMap::new();
    for round in 0..KILLS {
        // In every other round a second process, this one, has the file open: then nobody recovers the log afterwards.
        let survivor = (round % 2 == 0).then(|| open(&file));
        let mut child = Run::start("raise until killed", &file, &round.to_string());
        let mut lines = child.lines.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut heard = HashMap::new();
            while let Some((id, rank)) = next_report(&mut lines) {
                let highest: &mut u8 = heard.entry(id).or_default();
                *highest = rank.max(*highest);
            }
            heard
        });
        std::thread::sleep(Duration::from_millis(20 + round * 37 % 101));
        child.process.kill().unwrap();
        child.process.wait().unwrap();
        let heard = reader.join().unwrap();
        let store = survivor.unwrap_or_else(|| open(&file));
        check_all(&store, &heard);
        acknowledged.extend(heard);
    }
    assert!(
        acknowledged.len() > 100,
        "the children were killed before they did anything"
    );
    check_all(&open(&file), &acknowledged);
}

#[test]
fn of_two_processes_that_race_the_maximum_wins() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tidegate.db");
    let store = open(&file);
    block_on(async {
        for number in 0..RACES {
            store.open(opening(&format!("race-{number}"))).await.unwrap();
        }
    });
    let mut racers = [Run::start("race", &file, "0"), Run::start("race", &file, "1")];
    for racer in &mut racers {
        racer.say("go");
    }
    let mut lowest = [0; RACES];
    for racer in &mut racers {
        let mut lines = racer.lines.take().unwrap();
        while let Some((id, rank)) = next_report(&mut lines) {
            let now = rank_of(&store, &id);
            let number: usize = id.strip_prefix("race-").unwrap().parse().unwrap();
            assert!(
                now >= rank.max(lowest[number]),
                "{id} shows {now} after {rank} and {}",
                lowest[number]
            );
            lowest[number] = now;
        }
        assert!(racer.process.wait().unwrap().success());
    }
    for number in 0..RACES {
        let highest = (0..2).map(|racer| race_rank(number, racer)).max().unwrap();
        assert_eq!(
            rank_of(&store, &format!("race-{number}")),
            highest,
            "race-{number}"
        );
    }
}

/// Each of two processes raises sessions and tells the other after each acknowledgement; whoever is told looks, while other
/// threads keep every session in the cache and so race to put old rows into it.
#[test]
fn a_read_shows_what_was_acknowledged_anywhere_before() {
    let dir = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let file = dir.path().join("tidegate.db");
    let store = Arc::new(open(&file));
    block_on(async {
        for number in 0..SHARED {
            store.open(opening(&format!("theirs-{number}"))).await.unwrap();
            store.open(opening(&format!("ours-{number}"))).await.unwrap();
        }
    });
    let mut child = Run::start("tell and be told", &file, "");
    let mut lines = child.lines.take().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| keep_reading(store.clone(), stop.clone()))
        .collect();
    let teller = {
        let store = store.clone();
        std::thread::spawn(move || {
            raise_each(&store, "ours", |report| child.say(report));
            drop(child.process.stdin.take());
            child
        })
    };
    let mut told = 0;
    while let Some((id, rank)) = next_report(&mut lines) {
        assert!(rank_of(&store, &id) >= rank, "{id} was acknowledged at {rank}");
        told += 1;
    }
    stop.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().unwrap();
    }
    assert!(
        teller.join().unwrap().process.wait().unwrap().success(),
        "the other process saw an old label"
    );
    assert_eq!(told, SHARED * 4);
}

#[test]
fn processes_that_start_at_once_agree_on_one_schema() {
    for _ in 0..5 {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("new/tidegate.db");
        let children: Vec<_> = (0..4)
            .map(|number| Run::start("open one", &file, &number.to_string()))
            .collect();
        for child in children {
            assert_eq!(child.outcome(), ["opened"]);
        }
        let sessions = block_on(async { open(&file).list(None, 10).await.unwrap() });
        assert_eq!(sessions.len(), 4);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let state = dir.path().join("state");
    let file = state.join("tidegate.db");
    drop(open(&file));
    // The administrator may write anything, so then the child is somebody else, who owns the file but may only read it.
    let nobody = rustix::process::geteuid().is_root().then_some(65_534);
    let program = dir.path().join("program");
    // By another process: while this one has a file open to write, a child that another test starts has it open too, and
    // what anybody has open to write cannot be run.
    let copied = Command::new("cp")
        .arg(std::env::current_exe().unwrap())
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    for (path, mode) in [(&file, 0o400), (&state, 0o500)] {
        std::os::unix::fs::chown(path, nobody, nobody).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut command = orders(&program, "open one", &file, "0");
    if let Some(nobody) = nobody {
        command.uid(nobody).gid(nobody);
    }
    let report = Run::of(&mut command).outcome();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    let [report] = report.as_slice() else {
        panic!("{report:?}")
    };
    assert!(report.starts_with("refused: the store failed: "), "{report}");
}

#[cfg(target_os = "linux")]
#[test]
fn reads_never_touch_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let report = Run::start("count reads", &dir.path().join("tidegate.db"), "").outcome();
    let counts: Vec<u64> = report
        .first()
        .unwrap()
        .split(' ')
        .map(|count| count.parse().unwrap())
        .collect();
    let [calls, bytes, disk] = counts.as_slice() else {
        panic!("{report:?}")
    };
    assert_eq!(*disk, 0, "bytes came from the disk");
    // One look at the log's index for each read, from memory, and the few calls that read the counts themselves.
    assert!(
        (READS..READS + 10).contains(calls),
        "{calls} system calls that read"
    );
    assert!(*bytes < READS * 96 + 10_000, "{bytes} bytes read");
}

const RACES: usize = 150;
const SHARED: usize = 150;
const READS: u64 = 10_000;

/// What the other tests run as a process of its own; without an order there is nothing to do.
#[test]
fn child() {
    let Ok(order) = std::env::var("STORE_TEST_ORDER") else {
        return;
    };
    let file = PathBuf::from(std::env::var_os("STORE_TEST_FILE").unwrap());
    let argument = std::env::var("STORE_TEST_ARGUMENT").unwrap();
    match order.as_str() {
        "raise until killed" => raise_until_killed(&file, &argument),
        "race" => race(&file, argument.parse().unwrap()),
        "tell and be told" => tell_and_be_told(&file),
        "open one" => open_one(&file, &argument),
        "count reads" => count_reads(&file),
        order => panic!("no such order: {order}"),
    }
}

fn raise_until_killed(file: &Path, round: &str) {
    let store = Arc::new(open(file));
    block_on(async {
        let mut tasks = JoinSet::new();
        for task in 0..8 {
            let (store, round) = (store.clone(), round.to_owned());
            tasks.spawn(async move {
                for number in 0.. {
                    let id = format!("r{round}-{task}-{number}");
                    store.open(opening(&id)).await.unwrap();
                    report(&id, 0);
                    for rank in 1..5 {
                        store.raise(&ident(&id), entry(rank)).await.unwrap();
                        report(&id, rank);
                    }
                }
            });
        }
        tasks.join_all().await;
    });
}

fn race(file: &Path, racer: usize) {
    let store = Arc::new(open(file));
    let mut go = String::new();
    std::io::stdin().read_line(&mut go).unwrap();
    block_on(async {
        let mut tasks = JoinSet::new();
        for task in 0..6 {
            let store = store.clone();
            tasks.spawn(async move {
                for number in (0..RACES).filter(|number| number % 6 == task) {
                    let (id, rank) = (format!("race-{number}"), race_rank(number, racer));
                    let raised = store.raise(&ident(&id), entry(rank)).await.unwrap();
                    assert!(raised.session.context.label().class().rank() >= rank);
                    report(&id, rank);
                }
            });
        }
        tasks.join_all().await;
    });
}

fn tell_and_be_told(file: &Path) {
    let store = Arc::new(open(file));
    let stop = Arc::new(AtomicBool::new(false));
    let reader = keep_reading(store.clone(), stop.clone());
    let teller = {
        let store = store.clone();
        std::thread::spawn(move || raise_each(&store, "theirs", |line| println!("{line}")))
    };
    for line in std::io::stdin().lines() {
        let (id, rank) = parse_report(&line.unwrap()).unwrap();
        assert!(rank_of(&store, &id) >= rank, "{id} was acknowledged at {rank}");
    }
    teller.join().unwrap();
    stop.store(true, Ordering::Relaxed);
    reader.join().unwrap();
}

fn open_one(file: &Path, number: &str) {
    let opened = SqliteStore::open(file, SqliteOptions::default()).map_err(|error| error.to_string());
    let opened = opened.and_then(|store| {
        let opened = block_on(async { store.open(opening(&format!("s-{number}"))).await });
        opened.map_err(|error| error.to_string())
    });
    match opened {
        Ok(_) => println!("report opened"),
        Err(error) => println!("report refused: {error}"),
    }
}

fn count_reads(file: &Path) {
    let store = open(file);
    let ids: Vec<_> = (0..100).map(|number| ident(&format!("s-{number}"))).collect();
    block_on(async {
        for id in &ids {
            store.open(opening(id.as_str())).await.unwrap();
            store.current(id).await.unwrap().unwrap();
        }
    });
    let before = io_counts();
    block_on(async {
        for id in ids.iter().cycle().take(usize::try_from(READS).unwrap()) {
            store.current(id).await.unwrap().unwrap();
        }
    });
    let after = io_counts();
    let [calls, bytes, disk] = [0, 1, 2].map(|count| after[count] - before[count]);
    println!("report {calls} {bytes} {disk}");
}

fn io_counts() -> [u64; 3] {
    let text = fs::read_to_string("/proc/self/io").unwrap();
    ["syscr: ", "rchar: ", "read_bytes: "].map(|name| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.parse().ok())
            .unwrap()
    })
}

/// Raises sessions of both processes' names step by step, and tells of each rise after it is acknowledged.
fn raise_each(store: &SqliteStore, whose: &str, mut tell: impl FnMut(&str)) {
    block_on(async {
        for number in 0..SHARED {
            let id = format!("{whose}-{number}");
            for rank in 1..5 {
                store.raise(&ident(&id), entry(rank)).await.unwrap();
                tell(&format!("ack {id} {rank}"));
            }
        }
    });
}

/// Reads every session again and again; no label may ever fall between two reads.
fn keep_reading(store: Arc<SqliteStore>, stop: Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let ids: Vec<_> = ["ours", "theirs"]
            .iter()
            .flat_map(|whose| (0..SHARED).map(move |number| format!("{whose}-{number}")))
            .collect();
        let mut seen = vec![0; ids.len()];
        while !stop.load(Ordering::Relaxed) {
            for (id, seen) in ids.iter().zip(&mut seen) {
                let now = rank_of(&store, id);
                assert!(now >= *seen, "{id} fell from {seen} to {now}");
                *seen = now;
            }
        }
    })
}

fn race_rank(number: usize, racer: usize) -> u8 {
    u8::try_from((number * 7 + racer * 3 + number / 5) % 5).unwrap()
}

fn open(file: &Path) -> SqliteStore {
    SqliteStore::open(file, SqliteOptions::default()).unwrap()
}

fn ident(text: &str) -> Ident {
    Ident::parse(text).unwrap()
}

fn opening(id: &str) -> Opening {
    Opening {
        id: ident(id),
        user: ident("ada"),
        agent: ident("agent-1"),
        at: Moment(1),
    }
}

fn entry(rank: u8) -> Entry {
    let class = Class::from_rank(rank).unwrap();
    Entry {
        class,
        kinds: class.kind().into_iter().collect(),
        source: Name::parse("crm").unwrap(),
        at: Moment(2),
    }
}

fn rank_of(store: &SqliteStore, id: &str) -> u8 {
    let session = block_on(async { store.current(&ident(id)).await.unwrap() });
    session
        .unwrap_or_else(|| panic!("{id} is gone"))
        .context
        .label()
        .class()
        .rank()
}

fn check_all(store: &SqliteStore, acknowledged: &HashMap<String, u8>) {
    for (id, rank) in acknowledged {
        let now = rank_of(store, id);
        assert!(now >= *rank, "{id} was acknowledged at {rank} and is at {now}");
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

fn report(id: &str, rank: u8) {
    println!("ack {id} {rank}");
}

fn next_report(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<(String, u8)> {
    lines.find_map(|line| parse_report(&line.ok()?))
}

/// A line that was cut off by a kill has no rank: ranks have one digit. The test program may print before a line.
fn parse_report(line: &str) -> Option<(String, u8)> {
    let (id, rank) = line.split_once("ack ")?.1.split_once(' ')?;
    Some((id.to_owned(), rank.parse().ok()?))
}

/// A child at work.
struct Run {
    process: Child,
    lines: Option<Lines<BufReader<ChildStdout>>>,
}

impl Run {
    fn start(order: &str, file: &Path, argument: &str) -> Self {
        Self::of(&mut orders(
            &std::env::current_exe().unwrap(),
            order,
            file,
            argument,
        ))
    }

    fn of(command: &mut Command) -> Self {
        let mut process = command.spawn().unwrap();
        let lines = process.stdout.take().map(|out| BufReader::new(out).lines());
        Self { process, lines }
    }

    fn say(&mut self, line: &str) {
        let stdin = self.process.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
    }

    /// Waits for the end, and gives what was reported.
    fn outcome(mut self) -> Vec<String> {
        let lines = self.lines.take().unwrap().map(Result::unwrap);
        let reports = lines
            .filter_map(|line| Some(line.split_once("report ")?.1.to_owned()))
            .collect();
        assert!(self.process.wait().unwrap().success(), "{reports:?}");
        reports
    }
}

fn orders(program: &Path, order: &str, file: &Path, argument: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--exact", "child", "--nocapture"])
        .env("STORE_TEST_ORDER", order)
        .env("STORE_TEST_FILE", file)
        .env("STORE_TEST_ARGUMENT", argument)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}
