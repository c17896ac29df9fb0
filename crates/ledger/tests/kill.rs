//! A process is killed while it writes, again and again; nothing it acknowledged is lost.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test stops at the first surprise; the child reports on its standard output"
)]

mod house;

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use house::{at, decision, session};
use tidegate_ledger::{Filter, Ledger, Options, Reader, Trust, verify};

const CHILD: &str = "TIDEGATE_TEST_KILLED_LEDGER";
const KILLS: u32 = 24;

fn options(dir: &Path) -> Options {
    let mut options = Options::new(dir);
    options.checkpoint_records = 50;
    options.segment_bytes = 64 << 10;
    options
}

/// Not a test of its own: what the killed process does.
#[test]
fn write_until_killed() {
    let Some(dir) = std::env::var_os(CHILD) else {
        return;
    };
    let dir = Path::new(&dir);
    let ledger = Ledger::open(dir, options(dir)).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let ledger = &ledger;
            scope.spawn(move || {
                for n in 0.. {
                    let chain = session(&format!("w{writer}-{}", n % 5));
                    let receipt = ledger.append_blocking(chain, &decision("t"), at(n)).unwrap();
                    let hash: String = receipt.hash.iter().map(|byte| format!("{byte:02x}")).collect();
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "acknowledged {} {hash}", receipt.index).unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

#[test]
fn nothing_acknowledged_is_lost_to_a_kill() {
    // On a real disk: this one is about a real process.
    let house = tempfile::tempdir().unwrap();
    let dir = house.path().join("ledger");
    let mut acknowledged: HashMap<u64, String> = HashMap::new();
    for kill in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "write_until_killed", "--nocapture"])
            .env(CHILD, &dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut heard = 0;
        let mut hear = |line: &str, acknowledged: &mut HashMap<u64, String>| {
            // A line cut short by the kill has no whole hash.
            let Some((index, hash)) = line
                .strip_prefix("acknowledged ")
                .and_then(|rest| rest.split_once(' '))
            else {
                return;
            };
            if hash.len() == 64 {
                let before = acknowledged.insert(index.parse().unwrap(), hash.to_owned());
                assert_eq!(before, None, "record {index} was acknowledged twice");
                heard += 1;
            }
        };
        // A different moment of the child's life each time.
        for line in lines.by_ref().take(10 + 37 * kill as usize) {
            hear(&line.unwrap(), &mut acknowledged);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        lines
            .map_while(Result::ok)
            .for_each(|line| hear(&line, &mut acknowledged));
        assert!(heard > 0);
        let report = verify(&dir, Trust::DIRECTORY).unwrap_or_else(|bad| panic!("kill {kill}: {bad}"));
        assert!(!report.closed && report.records >= acknowledged.len() as u64);
    }

    Ledger::open(&dir, options(&dir)).unwrap().close().unwrap();
    let report = verify(&dir, Trust::DIRECTORY).unwrap();
    assert!(report.closed && report.unsigned == 0);
    let reader = Reader::open(&dir).unwrap();
    let mut cursor = None;
    loop {
        let page = reader.page(&Filter::default(), cursor, 1000).unwrap();
        for record in &page.records {
            let hash: String = record.hash.iter().map(|byte| format!("{byte:02x}")).collect();
            if let Some(acknowledged) = acknowledged.remove(&record.index) {
                assert_eq!(hash, acknowledged);
            }
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert!(
        acknowledged.is_empty(),
        "{} acknowledged records are gone",
        acknowledged.len()
    );
}
