//! A value that passes through every door of this crate is found nowhere afterwards: not in a file, an error or a
//! debug text.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod house;

use std::fs;
use std::path::Path;

use data_encoding::{BASE64, HEXLOWER};
use house::{at, name, session};
use sha2::{Digest as _, Sha256};
use tidegate_core::{Class, Confined, Ident};
use tidegate_ledger::event::{
    ContextAssembly, DestructionCause, EvidenceDestroyed, FieldNames, Origin, PiiEgressBlock, PiiLeakRisk,
    ToolArgumentConstruction,
};
use tidegate_ledger::vault::{Deposit, Evidence, Keep, KeySource, Retention, Vault};
use tidegate_ledger::{
    CsvExport, Event, EvidencePointer, Filter, Ledger, Name, Options, Proof, PublicKey, Reader, Trust,
    verify, write_json_lines,
};

const CANARY: &str = "Canary Finch 555-0142";

/// The canary, as itself and in every form that would give it away.
fn forms() -> Vec<Vec<u8>> {
    let digest = Sha256::digest(CANARY);
    let mut forms = vec![
        CANARY.as_bytes().to_vec(),
        HEXLOWER.encode(CANARY.as_bytes()).into_bytes(),
        BASE64.encode(CANARY.as_bytes()).into_bytes(),
        HEXLOWER.encode(&digest).into_bytes(),
        digest.to_vec(),
    ];
    forms.extend(CANARY.split(' ').map(|word| word.as_bytes().to_vec()));
    forms
}

fn check_clean(what: &str, bytes: &[u8]) {
    for form in forms() {
        let found = bytes.windows(form.len()).any(|window| window == form);
        assert!(!found, "{what} holds {}", String::from_utf8_lossy(&form));
    }
}

fn check_files(dir: &Path) -> usize {
    let mut files = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += check_files(&path);
        } else {
            check_clean(&path.display().to_string(), &fs::read(&path).unwrap());
            files += 1;
        }
    }
    files
}

fn deposit(class: Class, keep: Keep) -> Deposit {
    let content = Confined::new(class, CANARY.as_bytes().to_vec());
    Deposit {
        session: Ident::parse("s").unwrap(),
        content,
        keep,
    }
}

fn events(ledger: &Ledger, pointer: EvidencePointer) -> [Event; 4] {
    [
        ContextAssembly {
            run_id: Name::or_unnameable(CANARY),
            data_class: Class::Pii,
            source_id: name("crm"),
            redaction_applied: true,
            chunk_hash: ledger.keyed_digest(CANARY.as_bytes()),
            origin: Origin::TaskData,
            evidence_pointer: Some(pointer),
        }
        .into(),
        ToolArgumentConstruction {
            run_id: name("run"),
            tool_id: name("mail"),
            data_class: Class::Pii,
            argument_field_names: FieldNames::new([CANARY, "to"]),
            authorized_sink_verified: false,
        }
        .into(),
        PiiEgressBlock {
            run_id: name("run"),
            data_class: Class::Pii,
            destination: Name::or_unnameable(CANARY),
            blocking_rule: name("argument-above-ceiling"),
            failure_id: PiiLeakRisk,
            evidence_pointer: Some(pointer),
        }
        .into(),
        EvidenceDestroyed {
            evidence_pointer: pointer,
            cause: DestructionCause::Request,
            by: None,
        }
        .into(),
    ]
}

#[test]
fn the_canary_is_found_nowhere() {
    let house = house::room();
    let dir = house.path().join("ledger");
    let vault_file = house.path().join("vault.sqlite");
    let keys = || KeySource::File(house.path().join("vault.key"));
    let mut said = String::new();
    let mut say = |text: String| said.push_str(&text);

    let vault = Vault::open(&vault_file, keys(), at(0)).unwrap();
    say(format!("{:?}", deposit(Class::Pii, Keep::ByClass)));
    let mut pointers = Vec::new();
    for (class, keep) in [
        (Class::Confidential, Keep::ByClass),
        (Class::Pii, Keep::ByClass),
        (Class::Secret, Keep::ByClass),
        (Class::Secret, Keep::OnDisk),
    ] {
        pointers.push(vault.put(deposit(class, keep), at(0)).unwrap());
    }
    for pointer in &pointers {
        let evidence = vault.get(pointer).unwrap();
        say(format!("{pointer} {pointer:?} {evidence:?}"));
        let Evidence::Present(content) = evidence else {
            panic!("{pointer}")
        };
        assert_eq!(content.into_exposed(), CANARY.as_bytes());
    }

    let mut options = Options::new(&dir);
    options.segment_bytes = 16 << 10;
    let ledger = Ledger::open(&dir, options).unwrap();
    for event in events(&ledger, pointers[1]) {
        say(format!("{event:?}"));
        ledger.append_blocking(session("s"), &event, at(1)).unwrap();
    }
    assert!(
        check_files(house.path()) >= 9,
        "vault, ledger, index and keys, while all is open"
    );
    ledger.close().unwrap();

    let reader = Reader::open(&dir).unwrap();
    let page = reader.page(&Filter::default(), None, 100).unwrap();
    let mut lines = Vec::new();
    write_json_lines(&page.records, &mut lines).unwrap();
    let mut csv = CsvExport::new(&mut lines).unwrap();
    page.records.iter().for_each(|record| csv.write(record).unwrap());
    csv.finish().unwrap();
    assert_eq!(
        lines.split(|byte| *byte == b'\n').count(),
        4 + 1 + 4 + 1,
        "both exports hold every record"
    );
    say(format!("{page:?} {}", String::from_utf8(lines).unwrap()));
    say(reader.prove(&session("s"), 0).unwrap().to_json());
    say(format!("{:?}", verify(&dir, Trust::DIRECTORY)));

    // What is handed a canary where it does not belong says nothing about it.
    say(format!(
        "{:?} {}",
        Name::parse(CANARY),
        Name::parse(CANARY).unwrap_err()
    ));
    say(format!(
        "{:?} {}",
        EvidencePointer::parse(CANARY),
        EvidencePointer::parse(CANARY).unwrap_err()
    ));
    say(format!("{:?}", Proof::parse(CANARY)));
    say(format!("{:?}", PublicKey::parse(CANARY)));
    say(format!("{:?}", vault.rotate()));
    say(format!(
        "{:?}",
        vault.destroy_expired(
            at(100),
            &Retention::FOREVER.with(Class::Pii, std::time::Duration::ZERO)
        )
    ));
    say(format!(
        "{:?}",
        vault.end_session(&Ident::parse("s").unwrap(), at(100))
    ));
    drop(vault);
    for bad_keys in [
        KeySource::Given(CANARY.to_owned().into()),
        KeySource::Given(format!("{} {CANARY}", "01".repeat(8)).into()),
    ] {
        let refused = Vault::open(&vault_file, bad_keys, at(0)).map(|_| ()).unwrap_err();
        say(format!("{refused} {refused:?}"));
    }
    fs::write(house.path().join("ledger.key"), CANARY).unwrap();
    let refused = Ledger::open(&dir, Options::new(&dir)).map(|_| ()).unwrap_err();
    say(format!("{refused} {refused:?}"));
    fs::remove_file(house.path().join("ledger.key")).unwrap();

    check_clean("what was said", said.as_bytes());
    check_files(house.path());
}
