//! What was recorded is found again: by filter, page by page, as lines, with proof.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod house;

use house::{at, decision, name, session};
use tidegate_core::{Class, Kind, Kinds};
use tidegate_ledger::event::{GatewayStopped, Rise};
use tidegate_ledger::{
    BadProof, Chain, CsvExport, Event, Filter, Ledger, Options, Proof, ProveError, Reader, Record,
    write_json_lines,
};

fn rise() -> Event {
    Rise {
        from: Class::Public,
        to: Class::Pii,
        source: name("crm"),
        kinds: Kinds::NONE.with(Kind::Pii),
    }
    .into()
}

/// What goes into the ledger, in order, one second apart.
fn history() -> Vec<(Chain, Event)> {
    let mut history = Vec::new();
    for n in 0..40 {
        history.push((
            session(&format!("s{}", n % 3)),
            decision(if n % 2 == 0 { "web_search" } else { "crm" }),
        ));
        if n % 5 == 0 {
            history.push((session("s1"), rise()));
        }
        if n % 10 == 0 {
            history.push((
                Chain::Gateway,
                GatewayStopped {
                    cause: name("SIGTERM"),
                }
                .into(),
            ));
        }
    }
    history
}

fn recorded() -> (tempfile::TempDir, std::path::PathBuf, Vec<(Chain, Event)>) {
    let house = house::room();
    let dir = house.path().join("ledger");
    let history = history();
    for (opening, part) in history.chunks(17).enumerate() {
        let mut options = Options::new(&dir);
        options.segment_bytes = 4096;
        options.checkpoint_records = 4;
        let ledger = Ledger::open(&dir, options).unwrap();
        for (n, (chain, event)) in part.iter().enumerate() {
            ledger
                .append_blocking(chain.clone(), event, at((opening * 17 + n) as u64))
                .unwrap();
        }
    }
    (house, dir, history)
}

/// All pages of a filter, with a small limit, must be what a plain pass over the history keeps.
fn check(
    reader: &Reader,
    history: &[(Chain, Event)],
    filter: &Filter,
    keep: impl Fn(usize, &Chain, &Event) -> bool,
) {
    let expected: Vec<u64> = history
        .iter()
        .enumerate()
        .filter(|(n, (chain, event))| keep(*n, chain, event))
        .map(|(n, _)| n as u64)
        .collect();
    assert!(!expected.is_empty(), "a filter that keeps nothing shows nothing");
    for limit in [1, 3, 1000] {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = reader.page(filter, cursor, limit).unwrap();
            assert!(page.records.len() <= limit);
            for record in &page.records {
                let (chain, event) = &history[record.index as usize];
                assert_eq!((&record.chain, record.event().as_ref()), (chain, Some(event)));
                found.push(record.index);
            }
            match page.next {
                Some(next) => cursor = Some(tidegate_ledger::Cursor::parse(&next.to_string()).unwrap()),
                None => break,
            }
        }
        assert_eq!(found, expected, "{filter:?} by {limit}");
    }
}

#[test]
fn filters_keep_what_a_plain_pass_keeps() {
    let (_house, dir, history) = recorded();
    let reader = Reader::open(&dir).unwrap();
    let any = Filter::default();
    check(&reader, &history, &any, |_, _, _| true);
    check(
        &reader,
        &history,
        &Filter {
            chain: Some(session("s1")),
            ..any.clone()
        },
        |_, chain, _| *chain == session("s1"),
    );
    check(
        &reader,
        &history,
        &Filter {
            chain: Some(Chain::Gateway),
            ..any.clone()
        },
        |_, chain, _| *chain == Chain::Gateway,
    );
    check(
        &reader,
        &history,
        &Filter {
            event: Some("rise".into()),
            ..any.clone()
        },
        |_, _, event| event.type_name() == "rise",
    );
    check(
        &reader,
        &history,
        &Filter {
            class: Some(Class::Pii),
            ..any.clone()
        },
        |_, _, event| event.class() == Some(Class::Pii),
    );
    check(
        &reader,
        &history,
        &Filter {
            tool: Some(name("crm")),
            ..any.clone()
        },
        |_, _, event| event.tool() == Some(&name("crm")),
    );
    let span = Filter {
        from: Some(at(7)),
        until: Some(at(31)),
        ..any.clone()
    };
    check(&reader, &history, &span, |n, _, _| (7..31).contains(&n));
    let both = Filter {
        tool: Some(name("crm")),
        chain: Some(session("s1")),
        ..span
    };
    check(&reader, &history, &both, |n, chain, event| {
        (7..31).contains(&n) && *chain == session("s1") && event.tool() == Some(&name("crm"))
    });
}

/// The index skips blocks of records in which nothing matches: what it skips must be what a plain pass leaves out, at
/// the edges of a block too, and when it was caught up in the middle of one.
#[test]
fn rare_records_are_found_among_thousands() {
    let house = house::room();
    let dir = house.path().join("ledger");
    let rare = [0, 1023, 1024, 2500, 3071];
    let history: Vec<(Chain, Event)> = (0..3072)
        .map(|n| {
            let event = if rare.contains(&n) {
                rise()
            } else {
                decision("crm")
            };
            (session(&format!("s{}", n % 3)), event)
        })
        .collect();
    let ledger = Ledger::open(&dir, Options::new(&dir)).unwrap();
    let reader = Reader::open(&dir).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (part, records) in history.chunks(700).enumerate() {
        runtime.block_on(async {
            for (n, (chain, event)) in records.iter().enumerate() {
                drop(ledger.append(chain.clone(), event, at((part * 700 + n) as u64)));
            }
            ledger.append(Chain::Gateway, &rise(), at(9_999)).await.unwrap();
        });
        reader.page(&Filter::default(), None, 1).unwrap();
    }
    let all: Vec<(Chain, Event)> = history
        .chunks(700)
        .flat_map(|part| part.iter().cloned().chain([(Chain::Gateway, rise())]))
        .collect();
    let any = Filter::default();
    let rises = Filter {
        event: Some("rise".into()),
        ..any.clone()
    };
    check(&reader, &all, &rises, |_, _, event| event.type_name() == "rise");
    let crm = Filter {
        tool: Some(name("crm")),
        from: Some(at(1020)),
        until: Some(at(1030)),
        ..any
    };
    // The gateway's own record at the end of each part puts the numbers of later ones off by one.
    check(&reader, &all, &crm, |n, _, event| {
        (1021..1031).contains(&n) && event.tool() == Some(&name("crm"))
    });
}

#[test]
fn the_index_can_be_thrown_away_or_be_anothers() {
    let (house, dir, history) = recorded();
    let index = house.path().join("ledger.index");
    check(
        &Reader::open(&dir).unwrap(),
        &history,
        &Filter::default(),
        |_, _, _| true,
    );
    std::fs::remove_file(&index).unwrap();
    check(
        &Reader::open(&dir).unwrap(),
        &history,
        &Filter::default(),
        |_, _, _| true,
    );
    std::fs::write(&index, b"no database at all, but something else of some length").unwrap();
    check(
        &Reader::open(&dir).unwrap(),
        &history,
        &Filter::default(),
        |_, _, _| true,
    );

    let (_other_house, other, _) = recorded();
    drop(Ledger::open(&other, Options::new(&other)).unwrap());
    check(
        &Reader::open(&other).unwrap(),
        &history,
        &Filter::default(),
        |_, _, _| true,
    );
    let others_index = std::fs::read(other.with_extension("index")).unwrap();
    std::fs::write(&index, others_index).unwrap();
    check(
        &Reader::open(&dir).unwrap(),
        &history,
        &Filter::default(),
        |_, _, _| true,
    );
}

#[test]
fn a_reader_follows_the_writer() {
    let house = house::room();
    let dir = house.path().join("ledger");
    let ledger = Ledger::open(&dir, Options::new(&dir)).unwrap();
    let reader = Reader::open(&dir).unwrap();
    for n in 0..5 {
        let receipt = ledger
            .append_blocking(session("s"), &decision("t"), at(n))
            .unwrap();
        let record = reader.record(&session("s"), receipt.seq).unwrap().unwrap();
        assert_eq!((record.hash, record.index), (receipt.hash, receipt.index));
    }
    assert!(reader.record(&session("s"), 5).unwrap().is_none());
}

fn all(reader: &Reader) -> Vec<Record> {
    reader.page(&Filter::default(), None, 1000).unwrap().records
}

#[test]
fn lines_hold_every_record() {
    let (_house, dir, history) = recorded();
    let records = all(&Reader::open(&dir).unwrap());
    let mut json = Vec::new();
    write_json_lines(&records, &mut json).unwrap();
    let lines: Vec<serde_json::Value> = std::str::from_utf8(&json)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), history.len());
    assert_eq!(lines[0]["at"], "2027-01-15T08:00:00.000Z");
    for (line, (chain, event)) in lines.iter().zip(&history) {
        assert_eq!(
            line["session"].as_str(),
            chain.session().map(tidegate_core::Ident::as_str)
        );
        assert_eq!(line["event"], serde_json::to_value(event).unwrap());
    }

    let mut csv = Vec::new();
    let mut export = CsvExport::new(&mut csv).unwrap();
    records.iter().for_each(|record| export.write(record).unwrap());
    export.finish().unwrap();
    let mut rows = csv::Reader::from_reader(csv.as_slice());
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), history.len());
    for (row, (_, event)) in rows.iter().zip(&history) {
        assert_eq!(&row[4], event.type_name());
        assert_eq!(serde_json::from_str::<Event>(&row[7]).unwrap(), *event);
    }
}

#[test]
fn every_record_is_proved_with_the_key_alone() {
    let (_house, dir, history) = recorded();
    let reader = Reader::open(&dir).unwrap();
    let key_text = std::fs::read_to_string(dir.join("public.key")).unwrap();
    let key = tidegate_ledger::PublicKey::parse(&key_text).unwrap();
    for record in all(&reader) {
        let json = reader.prove(&record.chain, record.seq).unwrap().to_json();
        let proof = Proof::parse(&json).unwrap();
        let proved = proof.verify(&key).unwrap();
        assert_eq!(
            (proved.index, proved.seq, proved.hash),
            (record.index, record.seq, record.hash)
        );
        assert_eq!(
            (&proved.chain, &proved.event),
            (
                &history[record.index as usize].0,
                &history[record.index as usize].1
            )
        );
    }
    assert!(matches!(
        reader.prove(&session("nobody"), 0),
        Err(ProveError::NoSuchRecord)
    ));
}

#[test]
fn a_changed_proof_proves_nothing() {
    let (_house, dir, _) = recorded();
    let (_other_house, other, _) = recorded();
    let reader = Reader::open(&dir).unwrap();
    let key = |dir: &std::path::Path| {
        tidegate_ledger::PublicKey::parse(&std::fs::read_to_string(dir.join("public.key")).unwrap()).unwrap()
    };
    let json = reader.prove(&session("s1"), 3).unwrap().to_json();
    assert_eq!(
        Proof::parse(&json).unwrap().verify(&key(&other)).unwrap_err(),
        BadProof::Signature
    );
    for position in 0..json.len() {
        let mut bytes = json.clone().into_bytes();
        bytes[position] = if bytes[position] == b'a' { b'b' } else { b'a' };
        let Ok(text) = String::from_utf8(bytes) else {
            continue;
        };
        let verdict = Proof::parse(&text).and_then(|proof| proof.verify(&key(&dir)));
        assert!(verdict.is_err(), "character {position}");
    }
}

#[test]
fn an_unsigned_record_has_no_proof_yet() {
    let house = house::room();
    let dir = house.path().join("ledger");
    let mut options = Options::new(&dir);
    options.checkpoint_interval = std::time::Duration::from_secs(3600);
    let ledger = Ledger::open(&dir, options).unwrap();
    ledger
        .append_blocking(session("s"), &decision("t"), at(0))
        .unwrap();
    let reader = Reader::open(&dir).unwrap();
    assert!(matches!(
        reader.prove(&session("s"), 0),
        Err(ProveError::NotYetSigned)
    ));
    ledger.close().unwrap();
    reader
        .prove(&session("s"), 0)
        .unwrap()
        .verify(&ledger.public_key())
        .unwrap();
}

#[test]
fn a_checkpoint_comes_with_time_or_with_records() {
    let house = house::room();
    for (interval_ms, records) in [(1, 1_000_000), (3_600_000, 1)] {
        let dir = house.path().join(format!("ledger{records}"));
        let mut options = Options::new(&dir);
        options.checkpoint_interval = std::time::Duration::from_millis(interval_ms);
        options.checkpoint_records = records;
        let ledger = Ledger::open(&dir, options).unwrap();
        ledger
            .append_blocking(session("s"), &decision("t"), at(0))
            .unwrap();
        let reader = Reader::open(&dir).unwrap();
        // It never comes if the thread does not sign by itself: then the test does not end.
        let proof = loop {
            match reader.prove(&session("s"), 0) {
                Ok(proof) => break proof,
                Err(ProveError::NotYetSigned) => std::thread::yield_now(),
                Err(other) => panic!("{other}"),
            }
        };
        proof.verify(&ledger.public_key()).unwrap();
    }
}

#[test]
fn a_ledger_verifies_and_reads_while_it_is_written() {
    let house = house::room();
    let dir = house.path().join("ledger");
    let mut options = Options::new(&dir);
    options.segment_bytes = 32 << 10;
    options.checkpoint_records = 20;
    let ledger = Ledger::open(&dir, options).unwrap();
    let reader = Reader::open(&dir).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (ledger, stop) = (&ledger, &stop);
            scope.spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    ledger
                        .append_blocking(session(&format!("s{writer}")), &decision("t"), at(0))
                        .unwrap();
                }
            });
        }
        let mut verified = 0;
        while verified < 600 {
            let report = tidegate_ledger::verify(&dir, tidegate_ledger::Trust::DIRECTORY);
            let page = reader.page(
                &Filter {
                    chain: Some(session("s1")),
                    ..Filter::default()
                },
                None,
                1000,
            );
            match (report, page) {
                (Ok(report), Ok(page)) => {
                    let in_order = page
                        .records
                        .iter()
                        .enumerate()
                        .all(|(n, record)| record.seq == n as u64);
                    assert!(in_order);
                    verified = report.records;
                }
                other => {
                    stop.store(true, std::sync::atomic::Ordering::Relaxed);
                    panic!("{other:?}");
                }
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// Some callers commit on the spot and others are committed for: what one of them hands over without waiting stays in its order.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_one_caller_hands_over_stays_in_its_order() {
    let house = house::room();
    let dir = house.path().join("ledger");
    let ledger = std::sync::Arc::new(Ledger::open(&dir, Options::new(&dir)).unwrap());
    let callers = (0..4).map(|caller| {
        let ledger = std::sync::Arc::clone(&ledger);
        tokio::spawn(async move {
            let chain = session(&format!("s{caller}"));
            for round in 0..50_u64 {
                let both = [0, 1].map(|_| ledger.append(chain.clone(), &decision("t"), at(0)));
                for (append, place) in both.into_iter().zip([0, 1]) {
                    assert_eq!(append.await.unwrap().seq, 2 * round + place);
                }
                tokio::task::yield_now().await;
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    ledger.close().unwrap();
    let report = tidegate_ledger::verify(&dir, tidegate_ledger::Trust::DIRECTORY).unwrap();
    assert_eq!((report.records, report.chains, report.closed), (400, 4, true));
}
