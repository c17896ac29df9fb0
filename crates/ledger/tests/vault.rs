//! Evidence is kept, found, destroyed, and never lies about.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod house;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use house::at;
use tidegate_core::{Class, Confined, Ident};
use tidegate_ledger::EvidencePointer;
use tidegate_ledger::vault::{
    Deposit, Evidence, Keep, KeySource, Retention, Vault, VaultError, Why, conformance,
};

const CANARY: &[u8] = b"canary-4111-1111-1111-1111";

fn open(house: &Path) -> Vault {
    let keys = KeySource::File(house.join("vault.key"));
    Vault::open(&house.join("vault.sqlite"), keys, at(1000)).unwrap()
}

fn deposit(class: Class) -> Deposit {
    let session = Ident::parse("s").unwrap();
    Deposit {
        session,
        content: Confined::new(class, CANARY.to_vec()),
        keep: Keep::ByClass,
    }
}

fn content(vault: &Vault, pointer: &EvidencePointer) -> Vec<u8> {
    match vault.get(pointer).unwrap() {
        Evidence::Present(confined) => {
            assert_eq!(confined.class(), pointer.class());
            confined.into_exposed()
        }
        other => panic!("{other:?}"),
    }
}

/// Whether any file of the house holds some bytes.
fn on_disk(house: &Path, needle: &[u8]) -> bool {
    let files = fs::read_dir(house)
        .unwrap()
        .map(|entry| fs::read(entry.unwrap().path()).unwrap());
    files
        .into_iter()
        .any(|bytes| bytes.windows(needle.len()).any(|window| window == needle))
}

#[test]
fn evidence_survives_and_is_never_in_the_clear() {
    let house = house::room();
    let vault = open(house.path());
    let classes = [Class::Public, Class::Internal, Class::Confidential, Class::Pii];
    let pointers = vault.put_all(classes.map(deposit).into(), at(0)).unwrap();
    assert_eq!(
        pointers.iter().map(EvidencePointer::class).collect::<Vec<_>>(),
        classes
    );
    let keys = KeySource::File(house.path().join("vault.key"));
    let second = Vault::open(&house.path().join("vault.sqlite"), keys, at(0)).unwrap();
    let check = |vault: &Vault| {
        for pointer in &pointers {
            assert_eq!(content(vault, pointer), CANARY);
            assert_eq!(EvidencePointer::parse(&pointer.to_string()).unwrap(), *pointer);
        }
    };
    check(&vault);
    check(&second);
    drop((vault, second));
    check(&open(house.path()));
    assert!(!on_disk(house.path(), CANARY));
    let elsewhere = EvidencePointer::parse(&format!("evidence://pii/{}", "0".repeat(32))).unwrap();
    assert_eq!(open(house.path()).get(&elsewhere).unwrap(), Evidence::Unknown);
}

#[test]
fn a_secret_is_on_no_disk_and_ends_with_its_session() {
    let house = house::room();
    let vault = open(house.path());
    let held = vault.put(deposit(Class::Secret), at(0)).unwrap();
    let mut opted_in = deposit(Class::Secret);
    opted_in.keep = Keep::OnDisk;
    let kept = vault.put(opted_in, at(0)).unwrap();
    assert_eq!(
        (content(&vault, &held), content(&vault, &kept)),
        (CANARY.to_vec(), CANARY.to_vec())
    );

    assert_eq!(
        vault.end_session(&Ident::parse("other").unwrap(), at(5)).unwrap(),
        []
    );
    assert_eq!(
        vault.end_session(&Ident::parse("s").unwrap(), at(5)).unwrap(),
        [held]
    );
    assert_eq!(vault.get(&held).unwrap(), Evidence::Destroyed { at: at(5) });
    assert_eq!(content(&vault, &kept), CANARY);

    let lost = vault.put(deposit(Class::Secret), at(6)).unwrap();
    drop(vault);
    let vault = open(house.path());
    assert_eq!(vault.get(&lost).unwrap(), Evidence::Destroyed { at: at(1000) });
    assert_eq!(content(&vault, &kept), CANARY);
}

#[test]
fn each_class_has_its_retention() {
    let house = house::room();
    let vault = open(house.path());
    let old_pii = vault.put(deposit(Class::Pii), at(0)).unwrap();
    let old_internal = vault.put(deposit(Class::Internal), at(0)).unwrap();
    let old_secret = vault.put(deposit(Class::Secret), at(0)).unwrap();
    let new_pii = vault.put(deposit(Class::Pii), at(95)).unwrap();
    let retention = Retention::FOREVER
        .with(Class::Pii, Duration::from_secs(10))
        .with(Class::Secret, Duration::from_secs(10));
    assert_eq!(vault.destroy_expired(at(100), &Retention::FOREVER).unwrap(), []);
    assert_eq!(
        vault.destroy_expired(at(100), &retention).unwrap(),
        [old_pii, old_secret]
    );
    assert_eq!(vault.destroy_expired(at(100), &retention).unwrap(), []);
    for destroyed in [old_pii, old_secret] {
        assert_eq!(
            vault.get(&destroyed).unwrap(),
            Evidence::Destroyed { at: at(100) }
        );
    }
    for kept in [old_internal, new_pii] {
        assert_eq!(content(&vault, &kept), CANARY);
    }
    assert!(vault.destroy(&new_pii, &Why::RETENTION, at(101)).unwrap());
    assert!(!vault.destroy(&new_pii, &Why::RETENTION, at(102)).unwrap());
    assert_eq!(vault.get(&new_pii).unwrap(), Evidence::Destroyed { at: at(101) });
}

#[test]
fn destroyed_evidence_leaves_no_ciphertext() {
    let house = house::room();
    let vault = open(house.path());
    let mut large = deposit(Class::Pii);
    large.content = Confined::new(Class::Pii, CANARY.repeat(1000));
    let pointer = vault.put(large, at(0)).unwrap();
    let database = rusqlite::Connection::open(house.path().join("vault.sqlite")).unwrap();
    let ciphertext: Vec<u8> = database
        .query_row("SELECT content FROM evidence", [], |row| row.get(0))
        .unwrap();
    let wrapped: Vec<u8> = database
        .query_row("SELECT wrapped FROM evidence", [], |row| row.get(0))
        .unwrap();
    drop(database);
    // In pages of a database long content is in pieces: look for one from its middle.
    let piece = &ciphertext[10_000..10_064];
    assert!(on_disk(house.path(), piece) && on_disk(house.path(), &wrapped));
    vault.discard(&pointer, at(1)).unwrap();
    assert!(!on_disk(house.path(), piece) && !on_disk(house.path(), &wrapped));
}

#[test]
fn rotation_leaves_everything_readable_under_the_new_key_alone() {
    let house = house::room();
    let key_file = house.path().join("vault.key");
    let vault = open(house.path());
    let pointers = vault
        .put_all((0..2500).map(|_| deposit(Class::Pii)).collect(), at(0))
        .unwrap();
    let before = fs::read_to_string(&key_file).unwrap();
    assert_eq!(vault.rotate().unwrap(), 2500);
    let after = fs::read_to_string(&key_file).unwrap();
    assert_eq!(after.lines().count(), 1);
    assert_ne!(before, after);
    pointers
        .iter()
        .for_each(|pointer| assert_eq!(content(&vault, pointer), CANARY));
    drop(vault);
    let vault = open(house.path());
    pointers
        .iter()
        .for_each(|pointer| assert_eq!(content(&vault, pointer), CANARY));
    drop(vault);
    fs::write(&key_file, before).unwrap();
    let refused = Vault::open(
        &house.path().join("vault.sqlite"),
        KeySource::File(key_file),
        at(0),
    );
    assert!(matches!(refused, Err(VaultError::UnknownKey { .. })));
}

#[test]
fn given_keys_rotate_in_the_operators_hands() {
    let house = house::room();
    let path = house.path().join("vault.sqlite");
    let given = |text: String| KeySource::Given(text.into());
    let (old, new) = (
        format!("{} {}", "01".repeat(8), "a1".repeat(32)),
        format!("{} {}", "02".repeat(8), "a2".repeat(32)),
    );
    let vault = Vault::open(&path, given(old.clone()), at(0)).unwrap();
    let pointer = vault.put(deposit(Class::Pii), at(0)).unwrap();
    drop(vault);
    assert!(matches!(
        Vault::open(&path, given(new.clone()), at(0)),
        Err(VaultError::UnknownKey { .. })
    ));
    let vault = Vault::open(&path, given(format!("{new},{old}")), at(0)).unwrap();
    assert_eq!(content(&vault, &pointer), CANARY);
    assert_eq!(vault.rotate().unwrap(), 1);
    drop(vault);
    assert_eq!(
        content(&Vault::open(&path, given(new), at(0)).unwrap(), &pointer),
        CANARY
    );
    assert!(matches!(
        Vault::open(&path, given("nonsense".into()), at(0)),
        Err(VaultError::NotKeys)
    ));
}

#[test]
fn keys_are_for_their_owner_alone_and_never_replaced_silently() {
    let house = house::room();
    let (path, key_file) = (house.path().join("vault.sqlite"), house.path().join("vault.key"));
    let vault = open(house.path());
    vault.put(deposit(Class::Pii), at(0)).unwrap();
    drop(vault);
    for file in [&path, &key_file] {
        assert_eq!(
            fs::metadata(file).unwrap().permissions().mode() & 0o777,
            0o600,
            "{file:?}"
        );
    }
    fs::set_permissions(&key_file, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = Vault::open(&path, KeySource::File(key_file.clone()), at(0));
    assert!(matches!(refused, Err(VaultError::KeyFile(_))));
    fs::remove_file(&key_file).unwrap();
    let refused = Vault::open(&path, KeySource::File(key_file.clone()), at(0));
    assert!(matches!(refused, Err(VaultError::UnknownKey { .. })));
    assert!(!key_file.exists());
}

#[test]
fn what_is_held_is_bounded() {
    let house = house::room();
    let vault = open(house.path());
    let sized = |class, len| Deposit {
        content: Confined::new(class, vec![7; len]),
        ..deposit(Class::Pii)
    };
    assert!(matches!(
        vault.put(sized(Class::Pii, (16 << 20) + 1), at(0)),
        Err(VaultError::TooLarge)
    ));
    for _ in 0..4 {
        vault.put(sized(Class::Secret, 16 << 20), at(0)).unwrap();
    }
    assert!(matches!(
        vault.put(sized(Class::Secret, 1), at(0)),
        Err(VaultError::Full)
    ));
    vault.end_session(&Ident::parse("s").unwrap(), at(1)).unwrap();
    vault.put(sized(Class::Secret, 1), at(0)).unwrap();
}

#[test]
fn the_file_keeps_the_contract() {
    let house = house::room();
    let open =
        |case: &'static str, keys, _: &'static str| Vault::open(&house.path().join(case), keys, at(1000));
    conformance::run_all(open);
    conformance::run_shared(open);
}

#[test]
fn a_secret_is_gone_with_the_process_that_held_it() {
    let house = house::room();
    let (first, second) = (open(house.path()), open(house.path()));
    let secret = first.put(deposit(Class::Secret), at(0)).unwrap();
    assert!(matches!(second.get(&secret), Err(VaultError::Elsewhere { .. })));
    let third = open(house.path());
    assert_eq!(
        content(&first, &secret),
        CANARY,
        "an opening buries nothing of those who live"
    );
    drop(first);
    for vault in [second, third] {
        assert!(matches!(vault.get(&secret).unwrap(), Evidence::Destroyed { .. }));
    }
}
