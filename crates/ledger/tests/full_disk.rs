//! A file system that is really full. Needs the right to mount one; says so where it has not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test stops at the first surprise, and says when it was skipped"
)]

mod house;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use house::{at, decision, session};
use tidegate_ledger::{AppendError, Ledger, Options, Trust, verify};

/// A file system of 4 MiB, unmounted when it goes.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m", "none"])
            .arg(dir.path())
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then_some(Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        assert!(
            Command::new("umount")
                .arg(self.0.path())
                .status()
                .unwrap()
                .success()
        );
    }
}

#[test]
fn a_full_disk_refuses_and_recovers() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("skipped: this user may not mount a file system");
        return;
    };
    let dir = disk.path().join("ledger");
    let mut options = Options::new(&dir);
    options.segment_bytes = 128 << 10;
    let ledger = Ledger::open(&dir, options).unwrap();
    let ballast = disk.path().join("ballast");
    // Much, so that what its removal gives back is enough for the records and for the index that follows them.
    fs::write(&ballast, vec![1; 3300 << 10]).unwrap();

    let mut acknowledged = 0;
    let append = |n: u64| ledger.append_blocking(session("s"), &decision("t"), at(n));
    let refused = loop {
        match append(acknowledged) {
            Ok(receipt) => {
                assert_eq!(receipt.index, acknowledged);
                acknowledged += 1;
            }
            Err(refused) => break refused,
        }
        assert!(acknowledged < 10_000, "what is left cannot hold this");
    };
    assert_eq!(refused, AppendError::Unavailable(ErrorKind::StorageFull));
    assert!(acknowledged > 100);
    for n in 0..3 {
        assert_eq!(
            append(n).unwrap_err(),
            refused,
            "it stays refused while the disk is full"
        );
    }
    assert_eq!(verify(&dir, Trust::DIRECTORY).unwrap().records, acknowledged);

    fs::remove_file(&ballast).unwrap();
    for _ in 0..100 {
        assert_eq!(append(acknowledged).unwrap().index, acknowledged);
        acknowledged += 1;
    }
    ledger.close().unwrap();
    let report = verify(&dir, Trust::DIRECTORY).unwrap();
    assert!(report.closed && report.records == acknowledged);
    drop(ledger);
}
