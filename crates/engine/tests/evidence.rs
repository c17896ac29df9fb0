//! Whatever is destroyed is on the record, once, whatever came between.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod house;

use std::path::Path;
use std::time::{Duration, SystemTime};

use house::{House, ident, vault};
use tidegate_core::{Class, Confined};
use tidegate_engine::RecordError;
use tidegate_ledger::event::{DestructionCause, Event, EvidenceDestroyed};
use tidegate_ledger::vault::{Deposit, Evidence, Keep, Retention, Vault, VaultError, Why};
use tidegate_ledger::{Chain, EvidencePointer, Filter, Ledger, Reader};

fn deposits(session: &str, class: Class, many: usize) -> Vec<Deposit> {
    let deposit = |_| Deposit {
        session: ident(session),
        content: Confined::new(class, b"canary".to_vec()),
        keep: Keep::ByClass,
    };
    (0..many).map(deposit).collect()
}

fn put(vault: &Vault, session: &str, class: Class, many: usize) -> Vec<EvidencePointer> {
    let mut pointers = vault
        .put_all(deposits(session, class, many), SystemTime::UNIX_EPOCH)
        .unwrap();
    pointers.sort_by_key(|pointer| *pointer.id());
    pointers
}

/// Every destruction on the record, by pointer.
fn destroyed(directory: &Path) -> Vec<(Chain, EvidenceDestroyed)> {
    let reader = Reader::open(&directory.join("ledger")).unwrap();
    let filter = Filter {
        event: Some("evidence_destroyed".to_owned()),
        ..Filter::default()
    };
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = reader.page(&filter, after, 500).unwrap();
        for record in page.records {
            let Some(Event::EvidenceDestroyed(event)) = record.event() else {
                panic!("another event")
            };
            found.push((record.chain, event));
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    found.sort_by_key(|(_, event)| *event.evidence_pointer.id());
    found
}

fn pointers_of(records: &[(Chain, EvidenceDestroyed)]) -> Vec<EvidencePointer> {
    let pointers = records.iter().map(|(_, event)| event.evidence_pointer);
    pointers.collect()
}

#[tokio::test]
async fn the_end_of_a_run_records_every_piece_however_many() {
    let room = tempfile::tempdir().unwrap();
    let vault = vault(room.path());
    let pieces = put(&vault, "run", Class::Secret, Ledger::MAX_EVENTS + 500);
    let others = put(&vault, "another", Class::Secret, 1);
    let house = House::over(room.path(), [], vault);
    let id = house.open("run").await;
    house.engine.end_session(&house.caller, &id).await.unwrap();
    let records = destroyed(room.path());
    assert_eq!(pointers_of(&records), pieces);
    for (chain, event) in &records {
        assert_eq!(*chain, Chain::Session(ident("run")));
        assert_eq!((event.cause, &event.by), (DestructionCause::SessionEnd, &None));
    }
    house.engine.end_session(&house.caller, &id).await.unwrap();
    assert_eq!(destroyed(room.path()), records, "once");
    assert!(!pieces.contains(&others[0]));
}

#[tokio::test]
async fn more_than_one_append_holds_expires_on_the_record() {
    let room = tempfile::tempdir().unwrap();
    let vault = vault(room.path());
    let pieces = put(&vault, "run", Class::Pii, Ledger::MAX_EVENTS + 1);
    let house = House::over(room.path(), [], vault);
    let retention = Retention::FOREVER.with(Class::Pii, Duration::from_secs(1));
    let expired = house.engine.expire_evidence(&retention).await.unwrap();
    assert_eq!(expired, pieces.len());
    let records = destroyed(room.path());
    assert_eq!(pointers_of(&records), pieces);
    assert!(
        records
            .iter()
            .all(|(chain, event)| { *chain == Chain::Gateway && event.cause == DestructionCause::Retention })
    );
}

/// What is destroyed while another program reads the file may still lie in the journal: that is told, and the destruction
/// is on the record all the same.
#[tokio::test]
async fn a_reader_of_the_file_keeps_no_destruction_off_the_record() {
    let room = tempfile::tempdir().unwrap();
    let vault = vault(room.path());
    let (asked, old) = (
        put(&vault, "run", Class::Pii, 1),
        put(&vault, "run", Class::Internal, 2),
    );
    let house = House::over(room.path(), [], vault);
    let reader = rusqlite::Connection::open(room.path().join("vault.db")).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM evidence")
        .unwrap();
    let by = ident("operator");
    let in_use = house.engine.destroy_evidence(asked[0], &by).await;
    assert!(
        matches!(in_use, Err(RecordError::Vault(VaultError::JournalInUse))),
        "{in_use:?}"
    );
    let records = destroyed(room.path());
    assert_eq!(pointers_of(&records), asked);
    assert_eq!(
        (records[0].1.cause, records[0].1.by.as_ref().unwrap().as_str()),
        (DestructionCause::Request, "operator")
    );
    let retention = Retention::FOREVER.with(Class::Internal, Duration::from_secs(1));
    let in_use = house.engine.expire_evidence(&retention).await;
    assert!(
        matches!(in_use, Err(RecordError::Vault(VaultError::JournalInUse))),
        "{in_use:?}"
    );
    assert_eq!(destroyed(room.path()).len(), 3);
    drop(reader);
    assert!(!house.engine.destroy_evidence(asked[0], &by).await.unwrap());
    assert_eq!(house.engine.expire_evidence(&retention).await.unwrap(), 0);
    let records = pointers_of(&destroyed(room.path()));
    assert_eq!(records.len(), 3, "each once");
    assert!(asked.iter().chain(&old).all(|piece| records.contains(piece)));
}

/// A process that dies between a destruction and its record leaves the record to whoever comes next.
#[tokio::test]
async fn a_crash_between_a_destruction_and_its_record_loses_neither() {
    let room = tempfile::tempdir().unwrap();
    let dying = vault(room.path());
    let (asked, ended) = (
        put(&dying, "run", Class::Pii, 1),
        put(&dying, "run", Class::Secret, 1),
    );
    let why = Why::request((&ident("operator")).into());
    assert!(dying.destroy(&asked[0], &why, SystemTime::now()).unwrap());
    assert_eq!(
        dying.end_session(&ident("run"), SystemTime::now()).unwrap(),
        ended
    );

    let house = House::start(room.path(), []);
    house.engine.started(None).await.unwrap();
    assert_eq!(
        destroyed(room.path()),
        [],
        "it may be about to record them itself"
    );
    drop(dying);
    house.engine.record_destroyed().await.unwrap();
    let records = destroyed(room.path());
    let mut expected = [asked.clone(), ended].concat();
    expected.sort_by_key(|pointer| *pointer.id());
    assert_eq!(pointers_of(&records), expected);
    for (chain, event) in &records {
        let is_asked = event.evidence_pointer == asked[0];
        let expected = if is_asked {
            (Chain::Gateway, DestructionCause::Request)
        } else {
            (Chain::Session(ident("run")), DestructionCause::SessionEnd)
        };
        assert_eq!((chain.clone(), event.cause), expected);
        assert_eq!(event.by.is_some(), is_asked);
    }
    drop(house);
    let house = House::start(room.path(), []);
    house.engine.started(None).await.unwrap();
    assert_eq!(destroyed(room.path()), records, "once");
    let found = vault(room.path()).get(&asked[0]).unwrap();
    assert!(matches!(found, Evidence::Destroyed { .. }));
}

/// A start records what the process before it had destroyed and not recorded.
#[tokio::test]
async fn a_start_records_what_is_owed() {
    let room = tempfile::tempdir().unwrap();
    let dying = vault(room.path());
    let asked = put(&dying, "run", Class::Pii, 1);
    let why = Why::request((&ident("operator")).into());
    assert!(dying.destroy(&asked[0], &why, SystemTime::now()).unwrap());
    drop(dying);
    let house = House::start(room.path(), []);
    house.engine.started(None).await.unwrap();
    assert_eq!(pointers_of(&destroyed(room.path())), asked);
}
