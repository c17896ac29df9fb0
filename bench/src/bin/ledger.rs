//! How fast records are appended to the ledger and verified, beside what the disk and the hash function can do in the
//! same run.
//!
//! `cargo xtask bench ledger`; a directory as an argument chooses the disk.

use std::error::Error;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest as _, Sha256};
use tidegate_core::{Class, Ident};
use tidegate_ledger::event::{Decision, Verdict};
use tidegate_ledger::{Chain, Event, Filter, Ledger, Name, Options, Reader, Trust, verify};

const FOR: Duration = Duration::from_secs(3);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[expect(clippy::print_stdout, reason = "a benchmark reports on its standard output")]
fn main() -> Result<()> {
    let house = match std::env::args_os().nth(1) {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir()?,
    };
    let dir = house.path().join("ledger");
    println!("concurrent   records/s   raw fdatasync/s   ratio");
    for concurrent in [1, 16, 256] {
        let before = raw_syncs_per_second(house.path())?;
        let appended = appends_per_second(&dir, concurrent)?;
        let raw = f64::midpoint(before, raw_syncs_per_second(house.path())?);
        println!(
            "{concurrent:>10}   {appended:>9.0}   {raw:>15.0}   {:>5.1}",
            appended / raw
        );
    }

    let (report, seconds) = fastest_of_three(|| Ok(verify(&dir, Trust::DIRECTORY)?))?;
    let verified = megabytes(report.bytes) / seconds;
    let record = usize::try_from(report.bytes / report.records.max(1))?;
    let (whole, small) = (hash_speed(16 << 20)?, hash_speed(record)?);
    println!(
        "\n{} records, {:.0} MB, {record} bytes a record",
        report.records,
        megabytes(report.bytes)
    );
    println!("verify                          {verified:>6.0} MB/s");
    println!(
        "sha-256, record by record       {small:>6.0} MB/s   ratio {:.2}",
        verified / small
    );
    println!(
        "sha-256, 16 MiB at a time       {whole:>6.0} MB/s   ratio {:.2}",
        verified / whole
    );
    let indexed = index_speed(&dir)?;
    println!("index, built anew               {indexed:>6.0} records/s");
    Ok(())
}

/// Records taken into the index in a second, when it is thrown away and a page is asked for.
fn index_speed(dir: &Path) -> Result<f64> {
    for suffix in ["index", "index-wal", "index-shm"] {
        match std::fs::remove_file(dir.with_extension(suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    let start = Instant::now();
    let page = Reader::open(dir)?.page_back(&Filter::default(), None, 1)?;
    let newest = page.records.first().ok_or("there are records")?;
    Ok(per_second(newest.index + 1, start))
}

/// Writes of one record's size into reserved room, each made durable before the next.
fn raw_syncs_per_second(dir: &Path) -> Result<f64> {
    let path = dir.join("raw");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)?;
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 16 << 20)?;
    file.sync_all()?;
    let (start, mut syncs) = (Instant::now(), 0_u64);
    while start.elapsed() < FOR {
        file.write_all_at(&[b'r'; 400], syncs * 400 % (15 << 20))?;
        file.sync_data()?;
        syncs += 1;
    }
    let rate = per_second(syncs, start);
    std::fs::remove_file(path)?;
    Ok(rate)
}

/// Callers that each wait for their record before they append the next, in a session of their own.
fn appends_per_second(dir: &Path, concurrent: u32) -> Result<f64> {
    let ledger = Arc::new(Ledger::open(dir, Options::new(dir))?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()?;
    let event = Arc::new(event()?);
    let rate = runtime.block_on(async {
        let start = Instant::now();
        let mut callers = Vec::new();
        for caller in 0..concurrent {
            let (ledger, event) = (ledger.clone(), event.clone());
            let chain = Chain::Session(Ident::parse(&format!("session-{concurrent}-{caller}"))?);
            callers.push(tokio::spawn(async move {
                let mut appended = 0;
                while start.elapsed() < FOR {
                    ledger.append(chain.clone(), &event, SystemTime::now()).await?;
                    appended += 1;
                }
                Ok::<u64, tidegate_ledger::AppendError>(appended)
            }));
        }
        let mut appended = 0;
        for caller in callers {
            appended += caller.await??;
        }
        Ok::<f64, Box<dyn Error>>(per_second(appended, start))
    })?;
    ledger.close()?;
    Ok(rate)
}

fn event() -> Result<Event> {
    Ok(Decision {
        tool: Name::parse("web_search")?,
        decision: Verdict::Deny,
        rule: Name::parse("label-above-ceiling")?,
        label: Class::Internal,
        argument_class: Some(Class::Public),
        contamination_source: Some(Name::parse("search_email")?),
        policy_version: Name::parse("2026-01-01.1")?,
    }
    .into())
}

/// Megabytes of SHA-256 in a second, in pieces of this size.
fn hash_speed(piece: usize) -> Result<f64> {
    let data = vec![7_u8; 64 << 20];
    let (bytes, seconds) = fastest_of_three(|| {
        let digests = data
            .chunks(piece)
            .map(Sha256::digest)
            .fold(0_u8, |all, digest| all ^ digest.iter().fold(0, |a, b| a ^ b));
        std::hint::black_box(digests);
        Ok(data.len() as u64)
    })?;
    Ok(megabytes(bytes) / seconds)
}

fn fastest_of_three<T>(mut run: impl FnMut() -> Result<T>) -> Result<(T, f64)> {
    let mut best: Option<(T, f64)> = None;
    for _ in 0..3 {
        let start = Instant::now();
        let result = run()?;
        let seconds = start.elapsed().as_secs_f64();
        if best.as_ref().is_none_or(|(_, fastest)| seconds < *fastest) {
            best = Some((result, seconds));
        }
    }
    best.ok_or_else(|| "no run".into())
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn per_second(count: u64, since: Instant) -> f64 {
    count as f64 / since.elapsed().as_secs_f64()
}
