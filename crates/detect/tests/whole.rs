//! What holds for any bytes: no panic, the same findings however a text is cut, and redaction that can be undone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use std::collections::HashMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use tidegate_core::Class;
use tidegate_detect::injection::InjectionContext;
use tidegate_detect::redact::{Redactor, Stub, restore};
use tidegate_detect::{Confidence, Detector, DetectorConfig, StreamScanner};

static DETECTOR: LazyLock<Detector> = LazyLock::new(|| {
    let config = DetectorConfig {
        internal_domains: vec!["corp.example".into()],
        code_names: vec!["Blue Heron".into()],
        least_confidence: Confidence::percent(0),
        ..DetectorConfig::default()
    };
    Detector::new(&config).unwrap()
});

/// Pieces that rules fire on, and pieces that make trouble between them.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(vec![
            "bob@example.com",
            "+1 (416) 555-0132",
            "4111 1111 1111 1111",
            "DE89370400440532013000",
            "536-90-4399",
            "2001:db8::1",
            "10.0.0.7",
            "Mary Smith",
            "wiki.corp.example",
            "Blue Heron",
            "passport no. XN1234567",
            "{EMAIL_1}",
            "{\"name\": \"Ann Lee\"}",
            "postgres://u:pa55w0rd@db/x",
            "password = \"hJ8#kLm2pQ\"",
            "AKIAIOSFODNN7EXAMPLQ",
            "9f:4f:39:9a:68:d5",
            "12 Walnut St, Bristol, MN 63749",
            "\\n",
            "\\u0040",
            "-----BEGIN PRIVATE KEY-----",
            " ",
            "\n",
            "\"",
            ":",
            "@",
            "::",
            "1",
            "Mr. ",
            "dob 1990-01-02",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..12),
        "[ -~]{0,12}".prop_map(String::into_bytes),
    ]
}

fn text(pieces: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..pieces).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_are_scanned_and_explained(text in text(30)) {
        let scan = DETECTOR.scan(&text);
        for finding in &scan.findings {
            prop_assert!(finding.span.start < finding.span.end && finding.span.end <= text.len());
        }
        for pair in scan.findings.windows(2) {
            prop_assert!(pair[0].span.end <= pair[1].span.start);
        }
        let json = DETECTOR.scan_json(&text);
        prop_assert!(json.findings.iter().all(|finding| finding.span.end <= text.len()));
        let inspection = DETECTOR.inspect(&text, &InjectionContext::NONE);
        prop_assert_eq!(inspection.scan, scan);
    }

    #[test]
    fn restoring_undoes_redacting(text in text(30), as_json in any::<bool>()) {
        let findings = if as_json { DETECTOR.scan_json(&text) } else { DETECTOR.scan(&text) }.findings;
        let mut redactor = Redactor::new([3; 32]);
        let redacted = match as_json {
            true => redactor.redact_json(&text, &findings),
            false => redactor.redact(&text, &findings),
        }
        .unwrap();
        let vault: HashMap<Stub, Vec<u8>> = redacted
            .replacements
            .iter()
            .map(|replaced| (replaced.stub.clone(), replaced.value.expose().clone()))
            .collect();
        let restored = restore(&redacted.text, |stub| vault.get(stub).cloned());
        prop_assert_eq!(restored, text);
    }

    #[test]
    fn nothing_found_remains(
        local in "[a-z]{6,12}",
        before in text(8),
        between in text(8),
        after in text(8),
    ) {
        let value = format!("{local}@nowhere.example");
        let parts: [&[u8]; 9] =
            [&before, b" ", value.as_bytes(), b" ", &between, b" ", value.as_bytes(), b" ", &after];
        let text = parts.concat();
        let findings = DETECTOR.scan(&text).findings;
        let redacted = Redactor::new([3; 32]).redact(&text, &findings).unwrap();
        let remains = redacted.text.windows(value.len()).any(|window| window == value.as_bytes());
        prop_assert!(!remains);
        for finding in findings {
            let covered = redacted.replacements.iter().any(|replaced| {
                let value = &text[finding.span.clone()];
                replaced.value.expose().windows(value.len()).any(|window| window == value)
                    && replaced.value.class() >= finding.class
            });
            prop_assert!(covered);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_stream_finds_what_the_whole_holds(
        parts in prop::collection::vec((text(12), 0..30_000usize), 4..9),
        cuts in prop::collection::vec(1..90_000usize, 1..30),
    ) {
        let mut text = Vec::new();
        for (part, filler) in parts {
            text.extend(part);
            text.extend(b"lorem ipsum dolor sit amet 12 ".iter().cycle().take(filler));
        }
        let mut scanner = StreamScanner::new(&DETECTOR);
        let mut found = Vec::new();
        let (mut rest, mut cuts) = (text.as_slice(), cuts.iter().cycle());
        while !rest.is_empty() {
            let (chunk, tail) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
            found.extend(scanner.push(chunk));
            rest = tail;
        }
        found.extend(scanner.finish());
        prop_assert_eq!(found, DETECTOR.scan(&text).findings);
    }
}

#[test]
fn the_same_value_has_the_same_stub_all_through_a_session() {
    let mut redactor = Redactor::new([9; 32]);
    let mut redact = |text: &str| {
        let findings = DETECTOR.scan(text.as_bytes()).findings;
        String::from_utf8(redactor.redact(text.as_bytes(), &findings).unwrap().text).unwrap()
    };
    assert_eq!(
        redact("to ann@example.org, bob@example.org"),
        "to {EMAIL_1}, {EMAIL_2}"
    );
    assert_eq!(redact("cc bob@example.org"), "cc {EMAIL_2}");
    assert_eq!(redact("{EMAIL_2} said"), "{STUB_LOOKALIKE_1} said");
}

#[test]
fn redacted_json_is_still_json() {
    let text = br#"{"card": 4111111111111111, "to": "ann@example.org"}"#;
    let findings = DETECTOR.scan_json(text).findings;
    let redacted = Redactor::new([9; 32]).redact_json(text, &findings).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&redacted.text).unwrap();
    assert_eq!(value["card"], "{CREDIT_CARD_NUM_1}");
    assert_eq!(value["to"], "{EMAIL_1}");
}

#[test]
fn a_scan_has_the_highest_class_found() {
    let class = |text: &str| DETECTOR.scan(text.as_bytes()).class();
    assert_eq!(class("nothing here"), Class::Public);
    assert_eq!(class("on wiki.corp.example"), Class::Internal);
    assert_eq!(class("on wiki.corp.example ask ann@example.org"), Class::Pii);
    assert_eq!(
        class("password = \"hJ8#kLm2pQ\", ask ann@example.org"),
        Class::Secret
    );
}

#[test]
fn every_finding_can_be_explained() {
    let text = "ann@example.org 4111 1111 1111 1111 wiki.corp.example 10.0.0.7 password = \"hJ8#kLm2pQ\"";
    let findings = DETECTOR.scan(text.as_bytes()).findings;
    assert!(findings.len() >= 5);
    for finding in findings {
        let explained = DETECTOR.explain(finding.rule.as_str()).unwrap();
        assert!(!explained.looks_for.is_empty() && !explained.verified_by.is_empty());
    }
    assert_eq!(DETECTOR.explain("no-such-rule"), None);
}
