//! Whoever changes a closed ledger is found out.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod house;

use std::fs;
use std::path::{Path, PathBuf};

use house::{at, decision, session};
use tidegate_ledger::{Chain, Ledger, Options, Trust, VerifyError, What, verify};

/// A small ledger that has seen everything: several sessions, the gateway's chain, two openings, a checkpoint in the
/// middle, several segments.
fn small_ledger() -> tempfile::TempDir {
    let house = house::room();
    let dir = house.path().join("ledger");
    for opening in 0..2 {
        let mut options = Options::new(&dir);
        options.checkpoint_records = 3;
        options.segment_bytes = 4096;
        let ledger = Ledger::open(&dir, options).unwrap();
        for n in 0..5 {
            let chain = if n == 2 {
                Chain::Gateway
            } else {
                session(&format!("s{}", n % 2))
            };
            ledger
                .append_blocking(chain, &decision("web_search"), at(opening * 10 + n))
                .unwrap();
        }
        ledger.close().unwrap();
    }
    house
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

fn found(dir: &Path) -> Option<What> {
    match verify(dir, Trust::DIRECTORY) {
        Ok(report) => (!report.closed).then_some(What::Truncated),
        Err(VerifyError::Bad(bad)) => Some(bad.what),
        Err(VerifyError::Io(error)) => panic!("{error}"),
    }
}

#[test]
fn every_flipped_byte_is_found() {
    let house = small_ledger();
    let dir = house.path().join("ledger");
    let report = verify(&dir, Trust::DIRECTORY).unwrap();
    assert!(
        report.closed && report.records == 10 && report.chains == 3 && report.segments >= 3,
        "{report:?}"
    );
    let mut flipped = 0;
    for file in files(&dir) {
        let original = fs::read(&file).unwrap();
        assert!(!original.is_empty(), "{file:?}");
        for position in 0..original.len() {
            for mask in [0x01, 0x80, 0xff] {
                let mut bytes = original.clone();
                bytes[position] ^= mask;
                fs::write(&file, &bytes).unwrap();
                let verdict = verify(&dir, Trust::DIRECTORY);
                assert!(
                    matches!(verdict, Err(VerifyError::Bad(_))),
                    "{file:?} byte {position}: {verdict:?}"
                );
            }
            flipped += 1;
        }
        fs::write(&file, &original).unwrap();
    }
    assert!(flipped > 5000, "only {flipped} bytes");
    assert!(verify(&dir, Trust::DIRECTORY).unwrap().closed);
}

#[test]
fn every_cut_and_every_removed_file_is_found() {
    let house = small_ledger();
    let dir = house.path().join("ledger");
    for file in files(&dir) {
        let original = fs::read(&file).unwrap();
        for len in 0..original.len() {
            fs::write(&file, &original[..len]).unwrap();
            let verdict = verify(&dir, Trust::DIRECTORY);
            assert!(
                matches!(verdict, Err(VerifyError::Bad(_))),
                "{file:?} cut to {len}: {verdict:?}"
            );
        }
        fs::remove_file(&file).unwrap();
        assert!(found(&dir).is_some(), "{file:?} removed");
        for garbage in [&b"x"[..], &[0], &original] {
            fs::write(&file, [&original, garbage].concat()).unwrap();
            assert!(found(&dir).is_some(), "{file:?} with more behind it");
        }
        fs::write(&file, &original).unwrap();
    }
    assert_eq!(found(&dir), None);
}
