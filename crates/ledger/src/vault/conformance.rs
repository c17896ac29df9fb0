//! What every place for a vault's rows must do: each "must" of [`VaultRows`](super::VaultRows) is a case here, as a vault shows it.
//!
//! A backend gives one function that opens a vault on the rows of a given name: a new name is an empty vault. A case that fails
//! panics and names itself.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the suite is for tests, and a test stops at the first surprise"
)]

use std::time::{Duration, SystemTime};

use tidegate_core::{Class, Confined, Ident};
use zeroize::Zeroizing;

use super::{
    Deposit, Evidence, Issue, Keep, KeySource, LEFT_MS, Owed, Retention, TokenKind, Vault, VaultError, Why,
};
use crate::{EvidencePointer, Name};

/// The key that the suite's vaults have, and another one.
pub const KEYS: [&str; 2] = [
    "0101010101010101 0202020202020202020202020202020202020202020202020202020202020202",
    "0303030303030303 0404040404040404040404040404040404040404040404040404040404040404",
];

/// These keys, the first in use.
#[must_use]
pub fn given(keys: &[&str]) -> KeySource {
    KeySource::Given(Zeroizing::new(keys.join(",")))
}

/// Runs every case on rows of its own. `open` is called with the name of the case, the keys, and the name of who opens; what was
/// opened before under that name is gone by then.
pub fn run_all(open: impl Fn(&'static str, KeySource, &'static str) -> Result<Vault, VaultError>) {
    let with = |case, keys: &[&str]| open(case, given(keys), "one");
    evidence_is_kept_and_destroyed_once(|| with("evidence_is_kept_and_destroyed_once", &KEYS[..1]).unwrap());
    secrets_end_with_their_process(|| with("secrets_end_with_their_process", &KEYS[..1]).unwrap());
    old_evidence_is_destroyed(&with("old_evidence_is_destroyed", &KEYS[..1]).unwrap());
    a_destruction_is_owed_to_the_record(|| with("a_destruction_is_owed_to_the_record", &KEYS[..1]).unwrap());
    tokens_and_their_evidence_are_one(|| with("tokens_and_their_evidence_are_one", &KEYS[..1]).unwrap());
    a_token_stands_for_one_value(&with("a_token_stands_for_one_value", &KEYS[..1]).unwrap());
    rotation_puts_all_under_the_new_key(|keys| with("rotation_puts_all_under_the_new_key", keys));
}

/// Runs every case for rows that several gateways share: there, `open` may be called again while what it gave is in use.
pub fn run_shared(open: impl Fn(&'static str, KeySource, &'static str) -> Result<Vault, VaultError>) {
    let case = "what_one_gives_out_the_other_resolves";
    let (one, two) = (
        open(case, given(&KEYS[..1]), "one"),
        open(case, given(&KEYS[..1]), "two"),
    );
    what_one_gives_out_the_other_resolves(&one.unwrap(), &two.unwrap());
    let case = "a_secret_stays_where_it_is";
    let (one, two) = (
        open(case, given(&KEYS[..1]), "one"),
        open(case, given(&KEYS[..1]), "two"),
    );
    a_secret_stays_where_it_is(&one.unwrap(), &two.unwrap());
    let case = "each_records_what_it_destroyed";
    let (one, two) = (
        open(case, given(&KEYS[..1]), "one"),
        open(case, given(&KEYS[..1]), "two"),
    );
    each_records_what_it_destroyed(&one.unwrap(), two.unwrap());
    one_key_for_all(|keys, who| open("one_key_for_all", given(keys), who));
}

fn evidence_is_kept_and_destroyed_once(open: impl Fn() -> Vault) {
    let vault = open();
    let kept: Vec<_> = [Class::Public, Class::Internal, Class::Confidential, Class::Pii]
        .map(|class| deposit(class, Keep::ByClass))
        .into();
    let kept = vault.put_all(kept, at(1)).unwrap();
    let secret = vault.put(deposit(Class::Secret, Keep::OnDisk), at(1)).unwrap();
    drop(vault);
    let vault = open();
    for pointer in kept.iter().chain([&secret]) {
        assert_eq!(vault.get(pointer).unwrap(), present(pointer), "{pointer}");
        let other = EvidencePointer::new(pointer.class(), [9; 16]);
        assert_eq!(vault.get(&other).unwrap(), Evidence::Unknown);
    }
    assert!(vault.destroy(&secret, &Why::RETENTION, at(5)).unwrap());
    assert!(
        !vault.destroy(&secret, &Why::RETENTION, at(6)).unwrap(),
        "it was there once"
    );
    assert_eq!(vault.get(&secret).unwrap(), Evidence::Destroyed { at: at(5) });
}

fn secrets_end_with_their_process(open: impl Fn() -> Vault) {
    let vault = open();
    let secret = || deposit(Class::Secret, Keep::ByClass);
    let (ended, lost) = (
        vault.put(secret(), at(1)).unwrap(),
        vault.put(secret(), at(1)).unwrap(),
    );
    assert_eq!(vault.get(&lost).unwrap(), present(&lost));
    assert_eq!(vault.end_session(&ident("other"), at(2)).unwrap(), []);
    assert!(vault.destroy(&ended, &Why::RETENTION, at(3)).unwrap());
    assert_eq!(vault.get(&ended).unwrap(), Evidence::Destroyed { at: at(3) });
    drop(vault);
    let vault = open();
    assert!(matches!(vault.get(&lost).unwrap(), Evidence::Destroyed { .. }));
    let last = vault.put(secret(), at(4)).unwrap();
    assert_eq!(vault.end_session(&ident("s"), at(5)).unwrap(), [last]);
    assert_eq!(vault.get(&last).unwrap(), Evidence::Destroyed { at: at(5) });
}

fn old_evidence_is_destroyed(vault: &Vault) {
    let old = vault.put(deposit(Class::Pii, Keep::ByClass), at(0)).unwrap();
    let other = vault.put(deposit(Class::Internal, Keep::ByClass), at(0)).unwrap();
    let new = vault.put(deposit(Class::Pii, Keep::ByClass), at(95)).unwrap();
    let retention = Retention::FOREVER.with(Class::Pii, Duration::from_secs(10));
    assert_eq!(vault.destroy_expired(at(100), &retention).unwrap(), [old]);
    assert_eq!(vault.destroy_expired(at(100), &retention).unwrap(), []);
    for kept in [other, new] {
        assert_eq!(vault.get(&kept).unwrap(), present(&kept));
    }
}

fn a_destruction_is_owed_to_the_record(open: impl Fn() -> Vault) {
    let vault = open();
    let put = |class| vault.put(deposit(class, Keep::ByClass), at(1)).unwrap();
    let (asked, old, page, secret) = (
        put(Class::Internal),
        put(Class::Pii),
        put(Class::Public),
        put(Class::Secret),
    );
    let request = Why::request(Name::from(&ident("somebody")));
    assert!(vault.destroy(&asked, &request, at(2)).unwrap());
    assert!(!vault.destroy(&asked, &Why::RETENTION, at(3)).unwrap());
    let retention = Retention::FOREVER.with(Class::Pii, Duration::ZERO);
    assert_eq!(vault.destroy_expired(at(3), &retention).unwrap(), [old]);
    assert_eq!(vault.end_session(&ident("s"), at(4)).unwrap(), [secret]);
    vault.discard(&page, at(5)).unwrap();
    assert_eq!(vault.get(&page).unwrap(), Evidence::Destroyed { at: at(5) });
    let expected = [
        (asked, request),
        (old, Why::RETENTION),
        (secret, Why::SESSION_END),
    ];
    let expected = expected.map(|(pointer, why)| Owed {
        pointer,
        session: ident("s"),
        why,
    });
    assert_eq!(owed(&vault, 9), sorted(expected.to_vec()));
    assert_eq!(vault.owed(2, at(6)).unwrap().len(), 2);
    // Whoever comes next under the same name, or after one that is gone, owes the same.
    drop(vault);
    let vault = open();
    assert_eq!(owed(&vault, 9), sorted(expected.to_vec()));
    vault.settle(&[asked, secret]).unwrap();
    let [_, old, _] = expected;
    assert_eq!(owed(&vault, 9), std::slice::from_ref(&old));
    vault.settle(&[old.pointer, page]).unwrap();
    assert_eq!(owed(&vault, 9), []);
}

fn each_records_what_it_destroyed(one: &Vault, two: Vault) {
    let piece = one.put(deposit(Class::Pii, Keep::ByClass), at(1)).unwrap();
    let secret = one.put(deposit(Class::Secret, Keep::ByClass), at(1)).unwrap();
    assert!(two.destroy(&piece, &Why::RETENTION, at(2)).unwrap());
    // What was held at the other one is owed by whoever ended it.
    two.end_session(&ident("s"), at(2)).unwrap();
    assert_eq!(owed(one, 9), []);
    let pointers = |owed: Vec<Owed>| owed.into_iter().map(|owed| owed.pointer).collect::<Vec<_>>();
    let mut both = vec![piece, secret];
    both.sort_by_key(|pointer| *pointer.id());
    assert_eq!(pointers(owed(&two, 9)), both);
    drop(two);
    let left = one.owed(9, at(3) + Duration::from_millis(LEFT_MS.unsigned_abs()));
    assert_eq!(
        pointers(sorted(left.unwrap())),
        both,
        "nobody's debt is forgotten"
    );
}

fn owed(vault: &Vault, most: usize) -> Vec<Owed> {
    sorted(vault.owed(most, at(6)).unwrap())
}

fn sorted(mut owed: Vec<Owed>) -> Vec<Owed> {
    owed.sort_by_key(|owed| *owed.pointer.id());
    owed
}

fn tokens_and_their_evidence_are_one(open: impl Fn() -> Vault) {
    let vault = open();
    let issues = vec![
        issue("NAME", 1, Some(1)),
        issue("EMAIL", 2, Some(2)),
        issue("EMAIL", 1, None),
    ];
    vault.issue(&ident("s"), issues, at(1)).unwrap();
    vault
        .mark_resolved(&ident("s"), &[("EMAIL".to_owned(), 2)])
        .unwrap();
    drop(vault);
    let vault = open();
    let shown: Vec<_> = vault.issued(&ident("s")).unwrap();
    let order: Vec<_> = shown
        .iter()
        .map(|token| (token.name.as_str(), token.number, token.resolved, token.alive))
        .collect();
    let expected = [
        ("EMAIL", 1, false, true),
        ("EMAIL", 2, true, true),
        ("NAME", 1, false, true),
    ];
    assert_eq!(order, expected);
    for token in &shown {
        let [piece] = token.pieces.as_slice() else {
            panic!("{:?}", token.pieces)
        };
        assert_eq!(vault.get(piece).unwrap(), present(piece));
    }
    assert_eq!(vault.issued(&ident("other")).unwrap().len(), 0);
    assert_eq!(vault.withdraw(&ident("s"), at(2)).unwrap().len(), 3);
    let withdrawn = vault.issued(&ident("s")).unwrap();
    assert!(
        withdrawn
            .iter()
            .all(|token| !token.alive && token.digest.is_none())
    );
    assert_eq!(withdrawn.len(), 3, "no number is used again");
}

fn a_token_stands_for_one_value(vault: &Vault) {
    let session = ident("s");
    vault
        .issue(&session, vec![issue("NAME", 1, Some(1))], at(1))
        .unwrap();
    let before = vault.issued(&session).unwrap();
    let again = vec![issue("NAME", 2, Some(7)), issue("NAME", 1, Some(2))];
    let refused = vault.issue(&session, again, at(2));
    assert!(matches!(refused, Err(VaultError::TokenTaken)), "{refused:?}");
    let after = vault.issued(&session).unwrap();
    assert_eq!(after.len(), 1, "all or nothing");
    // The same value again: it has new evidence.
    let revived = vault
        .issue(&session, vec![issue("NAME", 1, Some(1))], at(3))
        .unwrap();
    let now = vault.issued(&session).unwrap();
    let pieces = |tokens: &[super::Issued]| {
        tokens
            .iter()
            .flat_map(|token| token.pieces.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(pieces(&now), pieces(&revived));
    assert_ne!(pieces(&now), pieces(&before));
}

fn rotation_puts_all_under_the_new_key(open: impl Fn(&[&str]) -> Result<Vault, VaultError>) {
    let [old, new] = KEYS;
    let pointer = open(&[old])
        .unwrap()
        .put(deposit(Class::Pii, Keep::ByClass), at(1))
        .unwrap();
    let unknown = open(&[new]).map(drop);
    assert!(
        matches!(unknown, Err(VaultError::UnknownKey { .. })),
        "{unknown:?}"
    );
    let vault = open(&[new, old]).unwrap();
    let between = vault.put(deposit(Class::Pii, Keep::ByClass), at(1)).unwrap();
    let common = vault.common_key(b"purpose");
    assert!(vault.rotate().unwrap() > 0);
    drop(vault);
    let vault = open(&[new]).unwrap();
    assert_eq!(vault.common_key(b"purpose"), common);
    for pointer in [pointer, between] {
        assert_eq!(vault.get(&pointer).unwrap(), present(&pointer));
    }
}

fn what_one_gives_out_the_other_resolves(one: &Vault, two: &Vault) {
    let session = ident("s");
    assert_eq!(one.common_key(b"a"), two.common_key(b"a"));
    assert_ne!(one.common_key(b"a"), one.common_key(b"b"));
    let before = two.generation(&session).unwrap();
    one.issue(&session, vec![issue("NAME", 1, Some(1))], at(1))
        .unwrap();
    let after = two.generation(&session).unwrap();
    assert!(after > before, "the other is told to look again");
    let tokens = two.issued(&session).unwrap();
    let piece = tokens.first().and_then(|token| token.pieces.first()).unwrap();
    assert_eq!(two.get(piece).unwrap(), present(piece));
    let taken = two.issue(&session, vec![issue("NAME", 1, Some(2))], at(2));
    assert!(matches!(taken, Err(VaultError::TokenTaken)));
    one.mark_resolved(&session, &[("NAME".to_owned(), 1)]).unwrap();
    assert!(two.generation(&session).unwrap() > after);
    let retention = Retention::FOREVER.with(Class::Pii, Duration::ZERO);
    let both = [one, two].map(|vault| vault.destroy_expired(at(9), &retention).unwrap());
    assert_eq!(both.concat(), [*piece], "each piece is destroyed by one of them");
    assert_eq!(one.get(piece).unwrap(), Evidence::Destroyed { at: at(9) });
}

fn a_secret_stays_where_it_is(one: &Vault, two: &Vault) {
    let secret = one.put(deposit(Class::Secret, Keep::ByClass), at(1)).unwrap();
    assert_eq!(one.get(&secret).unwrap(), present(&secret));
    let elsewhere = two.get(&secret);
    assert!(
        matches!(elsewhere, Err(VaultError::Elsewhere { .. })),
        "{elsewhere:?}"
    );
    // The run ends at the other one: the secret is gone everywhere.
    two.end_session(&ident("s"), at(2)).unwrap();
    for vault in [one, two] {
        assert_eq!(vault.get(&secret).unwrap(), Evidence::Destroyed { at: at(2) });
    }
}

fn one_key_for_all(open: impl Fn(&[&str], &'static str) -> Result<Vault, VaultError>) {
    let [old, new] = KEYS;
    let one = open(&[old], "one").unwrap();
    let other = open(&[new], "two").map(drop);
    assert!(matches!(other, Err(VaultError::UnknownKey { .. })), "{other:?}");
    let two = open(&[new, old], "two").unwrap();
    let before = two.put(deposit(Class::Pii, Keep::ByClass), at(1)).unwrap();
    assert_eq!(
        one.get(&before).unwrap(),
        present(&before),
        "the key in force seals"
    );
    two.rotate().unwrap();
    let late = one.put(deposit(Class::Pii, Keep::ByClass), at(1));
    assert!(matches!(late, Err(VaultError::KeyChanged)), "{late:?}");
    assert!(matches!(one.get(&before), Err(VaultError::UnknownKey { .. })));
    assert_eq!(two.get(&before).unwrap(), present(&before));
}

const CONTENT: &[u8] = b"canary-4111-1111-1111-1111";

fn deposit(class: Class, keep: Keep) -> Deposit {
    Deposit {
        session: ident("s"),
        content: Confined::new(class, CONTENT.to_vec()),
        keep,
    }
}

fn issue(name: &str, number: u32, digest: Option<u8>) -> Issue {
    Issue {
        name: name.to_owned(),
        number,
        kind: TokenKind::Text,
        digest: digest.map(|byte| [byte; 32]),
        pieces: vec![CONTENT.to_vec()],
        class: Class::Pii,
        keep: Keep::ByClass,
    }
}

fn present(pointer: &EvidencePointer) -> Evidence {
    Evidence::Present(Confined::new(pointer.class(), CONTENT.to_vec()))
}

fn ident(text: &str) -> Ident {
    Ident::parse(text).unwrap()
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}
