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
use tidegate_ledger::{Chain, Ledger, OpenError, Options, Trust, VerifyError, What, verify};

/// A small ledger that has seen everything: several sessions, the gateway's chain, two openings, a checkpoint in the
/// middle, several segments.
fn small_ledger() -> tempfile::TempDir {
    let house = house::room();
    let dir = house.path().join("ledger");
    for opening in 0..2 {
        let mut options = Options::new(&dir);
        options.checkpoint_records = 3;
        options.segment_bytes = 1800;
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
            for mask in [0x01, 0xff] {
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

/// An attacker's tools: frames taken apart and put together again with checksums that hold.
mod forge {
    use sha2::{Digest as _, Sha256};

    #[derive(Clone)]
    pub(super) struct Frame {
        pub(super) kind: u8,
        pub(super) first_index: u64,
        /// For records, each without its length.
        pub(super) parts: Vec<Vec<u8>>,
    }

    fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
        bytes[at..at + N].try_into().unwrap()
    }

    pub(super) fn apart(segment: &[u8]) -> (Vec<u8>, Vec<Frame>) {
        let (header, mut rest) = segment.split_at(96);
        let mut frames = Vec::new();
        while !rest.is_empty() {
            let kind = rest[4];
            let len = u32::from_le_bytes(number(rest, 8)) as usize;
            let first_index = u64::from_le_bytes(number(rest, 16));
            let mut payload = &rest[28..28 + len];
            let mut parts = Vec::new();
            while kind == 1 && !payload.is_empty() {
                let len = u32::from_le_bytes(number(payload, 0)) as usize;
                parts.push(payload[4..4 + len].to_vec());
                payload = &payload[4 + len..];
            }
            if kind == 2 {
                parts.push(payload.to_vec());
            }
            frames.push(Frame {
                kind,
                first_index,
                parts,
            });
            rest = &rest[28 + len..];
        }
        (header.to_vec(), frames)
    }

    pub(super) fn together(header: &[u8], frames: &[Frame]) -> Vec<u8> {
        let mut segment = header.to_vec();
        for frame in frames {
            let mut payload = Vec::new();
            for part in &frame.parts {
                if frame.kind == 1 {
                    payload.extend((part.len() as u32).to_le_bytes());
                }
                payload.extend(part);
            }
            let count = if frame.kind == 1 {
                frame.parts.len() as u32
            } else {
                0
            };
            let mut front = [b"TGF1".as_slice(), &[frame.kind, 0, 0, 0]].concat();
            front.extend((payload.len() as u32).to_le_bytes());
            front.extend(count.to_le_bytes());
            front.extend(frame.first_index.to_le_bytes());
            front.extend(crc32fast::hash(&[front.as_slice(), &payload].concat()).to_le_bytes());
            segment.extend(front);
            segment.extend(payload);
        }
        segment
    }

    /// Changes a record's event and gives it a hash that holds.
    pub(super) fn rewrite(record: &mut [u8]) {
        let at = record.windows(4).position(|window| window == b"deny").unwrap();
        record[at..at + 4].copy_from_slice(b"hold");
        hash(record);
    }

    /// A record that continues the chain of the last one of its session, and a frame that holds it.
    pub(super) fn next(last: &[u8], index: u64) -> Frame {
        let mut record = last.to_vec();
        let (at, body) = (3 + usize::from(record[2]), record.len() - 32);
        let seq = u64::from_le_bytes(number(last, at + 8)) + 1;
        record[at..at + 8].copy_from_slice(&index.to_le_bytes());
        record[at + 8..at + 16].copy_from_slice(&seq.to_le_bytes());
        record[at + 24..at + 56].copy_from_slice(&last[body..]);
        hash(&mut record);
        Frame {
            kind: 1,
            first_index: index,
            parts: vec![record],
        }
    }

    fn hash(record: &mut [u8]) {
        let body = record.len() - 32;
        let hash = Sha256::digest([&[0], &record[..body]].concat());
        record[body..].copy_from_slice(&hash);
    }
}

/// One segment with six records of two sessions, a checkpoint after the third, and the closing one.
fn one_segment() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let house = house::room();
    let dir = house.path().join("ledger");
    let mut options = Options::new(&dir);
    options.checkpoint_records = 3;
    options.checkpoint_interval = std::time::Duration::from_secs(3600);
    let ledger = Ledger::open(&dir, options).unwrap();
    for n in 0..6 {
        ledger
            .append_blocking(session(&format!("s{}", n % 2)), &decision("web_search"), at(n))
            .unwrap();
    }
    ledger.close().unwrap();
    let segment = dir.join("0000000001.tgl");
    (house, dir, segment)
}

/// What the verifier says after an attacker with every tool but the key has been there: what, and which record.
fn after(attack: impl FnOnce(&mut Vec<forge::Frame>)) -> (What, Option<u64>) {
    let (_house, dir, segment) = one_segment();
    let (header, mut frames) = forge::apart(&fs::read(&segment).unwrap());
    assert_eq!(
        forge::together(&header, &frames),
        fs::read(&segment).unwrap(),
        "the tools work"
    );
    assert_eq!(
        frames.iter().map(|frame| frame.kind).collect::<Vec<_>>(),
        [2, 1, 1, 1, 2, 1, 1, 1, 2, 2]
    );
    attack(&mut frames);
    fs::write(&segment, forge::together(&header, &frames)).unwrap();
    match verify(&dir, Trust::DIRECTORY) {
        Err(VerifyError::Bad(bad)) => (bad.what, bad.record),
        other => panic!("not found: {other:?}"),
    }
}

#[test]
fn the_first_bad_record_is_named() {
    assert_eq!(
        after(|frames| frames[2].parts[0][60] ^= 1),
        (What::Changed, Some(1))
    );
    assert_eq!(after(|frames| drop(frames.remove(2))), (What::Missing, Some(1)));
    assert_eq!(after(|frames| frames.swap(1, 2)), (What::Reordered, Some(0)));
    assert_eq!(after(|frames| frames.swap(2, 6)), (What::Reordered, Some(1)));
    assert_eq!(
        after(|frames| frames.insert(2, frames[1].clone())),
        (What::Reordered, Some(1))
    );
    // A record and its hash rewritten: its successor in the chain is the first that does not fit.
    assert_eq!(
        after(|frames| forge::rewrite(&mut frames[1].parts[0])),
        (What::Unlinked, Some(2))
    );
    // The last of its chain before a checkpoint: nothing links to it but the signature.
    assert_eq!(
        after(|frames| forge::rewrite(&mut frames[3].parts[0])),
        (What::NotAsSigned, Some(0))
    );
    assert_eq!(
        after(|frames| forge::rewrite(&mut frames[7].parts[0])),
        (What::NotAsSigned, Some(3))
    );
    // Records and the checkpoint over them cut off.
    assert_eq!(after(|frames| frames.truncate(6)), (What::Truncated, Some(4)));
    assert_eq!(after(|frames| frames.truncate(4)), (What::Truncated, Some(3)));
    assert_eq!(after(|frames| drop(frames.drain(5..8))), (What::Missing, Some(3)));
}

#[test]
fn a_forged_checkpoint_is_found() {
    let forged = |attack: fn(&mut Vec<forge::Frame>)| assert_eq!(after(attack).0, What::ForgedCheckpoint);
    // Another signature, an earlier checkpoint again, one left out.
    forged(|frames| *frames[4].parts[0].get_mut(180).unwrap() ^= 1);
    forged(|frames| {
        frames[8] = forge::Frame {
            first_index: 3,
            ..frames[4].clone()
        }
    });
    forged(|frames| drop(frames.remove(4)));
}

/// Checksums, hashes and the last record of a chain are for everybody to see; what they make must not pass.
#[test]
fn a_record_forged_behind_the_closing_checkpoint_is_found_and_never_signed() {
    let (_house, dir, segment) = one_segment();
    let closed = fs::read(&segment).unwrap();
    let (_, frames) = forge::apart(&closed);
    let forged = forge::together(&[], &[forge::next(&frames[7].parts[0], 6)]);
    let is_refused = |bytes: &[u8]| {
        fs::write(&segment, bytes).unwrap();
        let Err(VerifyError::Bad(bad)) = verify(&dir, Trust::DIRECTORY) else {
            panic!("not found")
        };
        let place = (Some(1), Some(closed.len() as u64));
        assert_eq!(
            (bad.what, (bad.segment, bad.position)),
            (What::WrongLength, place)
        );
        let opened = Ledger::open(&dir, Options::new(&dir)).map(drop);
        let Err(OpenError::Damaged { segment, position }) = opened else {
            panic!("signed: {opened:?}")
        };
        assert_eq!((Some(segment), Some(position)), place);
    };
    is_refused(&[closed.as_slice(), &forged].concat());
    is_refused(&[closed.as_slice(), &[0; 64], &forged].concat());
    // Neither does one more checkpoint pass, though it is signed.
    is_refused(&[closed.as_slice(), &forge::together(&[], &frames[9..])].concat());
    is_refused(&[closed.as_slice(), b"x"].concat());
    // Room that a crash kept from being given back is no record.
    fs::write(&segment, [closed.as_slice(), &[0; 64]].concat()).unwrap();
    assert!(!verify(&dir, Trust::DIRECTORY).unwrap().closed);
    Ledger::open(&dir, Options::new(&dir)).unwrap().close().unwrap();
    let report = verify(&dir, Trust::DIRECTORY).unwrap();
    assert!(report.closed && report.records == 6, "{report:?}");
}

#[test]
fn another_ledger_under_the_same_name_is_found_by_who_kept_the_key() {
    let (_house, dir, _) = one_segment();
    let (_other_house, other, _) = one_segment();
    let key =
        tidegate_ledger::PublicKey::parse(&fs::read_to_string(dir.join("public.key")).unwrap()).unwrap();
    let trust = Trust {
        key: Some(&key),
        seen: None,
    };
    verify(&dir, trust).unwrap();
    verify(&other, Trust::DIRECTORY).unwrap();
    let Err(VerifyError::Bad(bad)) = verify(&other, trust) else {
        panic!("not found")
    };
    assert_eq!(bad.what, What::OtherKey);
}

#[test]
fn an_older_copy_is_found_by_who_kept_a_checkpoint() {
    let (house, dir, _) = one_segment();
    let copy = house.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for file in files(&dir) {
        fs::copy(&file, copy.join(file.file_name().unwrap())).unwrap();
    }
    let ledger = Ledger::open(&dir, Options::new(&dir)).unwrap();
    ledger
        .append_blocking(session("s0"), &decision("web_search"), at(9))
        .unwrap();
    ledger.close().unwrap();
    let seen = verify(&dir, Trust::DIRECTORY).unwrap().newest.unwrap();
    let trust = Trust {
        key: None,
        seen: Some(&seen),
    };
    verify(&dir, trust).unwrap();
    verify(&copy, Trust::DIRECTORY).expect("an older copy is whole in itself");
    let Err(VerifyError::Bad(bad)) = verify(&copy, trust) else {
        panic!("not found")
    };
    assert_eq!(bad.what, What::SeenCheckpointMissing);
}
