//! What holds for any bytes at all. The fuzz targets in `fuzz/` and the smoke test here feed the same functions.

use std::collections::HashMap;
use std::sync::LazyLock;

use tidegate_detect::decode::{Limits, decode};
use tidegate_detect::injection::{InjectionContext, Thresholds, assess, assess_plain};
use tidegate_detect::normalize::normalize;
use tidegate_detect::redact::{Redacted, Redactor, restore};
use tidegate_detect::{Detector, DetectorConfig, StreamScanner};

static DETECTOR: LazyLock<Detector> =
    LazyLock::new(|| Detector::new(&DetectorConfig::default()).expect("the default rules are sound"));

/// Any bytes can be scanned, and a stream of them finds the same.
pub fn scan(text: &[u8]) {
    let whole = DETECTOR.scan(text).findings;
    let mut scanner = StreamScanner::new(&DETECTOR);
    let cut = text.first().map_or(1, |first| usize::from(*first) + 1);
    let mut found: Vec<_> = text.chunks(cut).flat_map(|chunk| scanner.push(chunk)).collect();
    found.extend(scanner.finish());
    assert_eq!(found, whole);
}

/// Whatever is redacted can be restored.
pub fn redact(text: &[u8]) {
    let findings = DETECTOR.scan(text).findings;
    let redacted = Redactor::new([1; 32])
        .redact(text, &findings)
        .expect("one text has few values");
    assert_restores(&redacted, text);
}

/// Spans in JSON stay inside the text, looking for orders changes nothing about them, and redacting can be undone.
pub fn json(text: &[u8]) {
    let findings = DETECTOR.scan_json(text).findings;
    let inspection = DETECTOR.inspect_json(text, &InjectionContext::NONE);
    assert_eq!(inspection.scan.findings, findings);
    let orders = inspection.injection.findings;
    assert!(orders.iter().all(|order| order.span.end <= text.len()));
    assert!(
        findings
            .iter()
            .all(|finding| finding.span.start < finding.span.end && finding.span.end <= text.len())
    );
    let redacted = Redactor::new([1; 32])
        .redact_json(text, &findings)
        .expect("one text has few values");
    assert_restores(&redacted, text);
}

/// Decoding stays inside its budget, its depth and the text.
pub fn decoding(text: &[u8]) {
    let limits = Limits {
        depth: 3,
        bytes: 4096,
    };
    let found = decode(text, limits);
    assert!(found.iter().map(|decoded| decoded.text.len()).sum::<usize>() <= limits.bytes);
    assert!(found.iter().all(|decoded| decoded.depth <= limits.depth));
    assert!(
        found
            .iter()
            .all(|decoded| decoded.span.start < decoded.span.end && decoded.span.end <= text.len())
    );
}

/// Any bytes have a plain reading, and every span of it lies in what was given.
pub fn normalizing(text: &[u8]) {
    let plain = normalize(text);
    let mut last = 0;
    for (start, character) in plain.text().char_indices() {
        let span = plain.source(start..start + character.len_utf8());
        assert!(span.start <= span.end && span.end <= text.len());
        assert!(span.start >= last);
        last = span.start;
    }
}

/// Any bytes can be weighed; findings lie in the text; the gate adds nothing, and what is taken for an injection by the
/// plain way is taken for one by the fast way.
pub fn injection(text: &[u8]) {
    let plain = assess_plain(text, &InjectionContext::NONE, Thresholds::DEFAULT);
    assert!((0.0..=1.0).contains(&plain.score));
    assert!(
        plain
            .findings
            .iter()
            .all(|finding| finding.span.end <= text.len())
    );
    let ungated = assess(text, &[], &InjectionContext::NONE, Thresholds::DEFAULT);
    assert!(ungated.score <= plain.score);
    let gated = DETECTOR.inspect(text, &InjectionContext::NONE).injection;
    assert_eq!(gated.verdict, plain.verdict);
}

fn assert_restores(redacted: &Redacted, text: &[u8]) {
    let vault: HashMap<_, _> = redacted
        .replacements
        .iter()
        .map(|replaced| (replaced.stub.clone(), replaced.value.expose().clone()))
        .collect();
    assert_eq!(restore(&redacted.text, |stub| vault.get(stub).cloned()), text);
}
