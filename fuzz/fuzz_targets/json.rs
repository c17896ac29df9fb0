//! Spans in JSON stay inside the text, and redacting it can be undone.
#![no_main]

use std::collections::HashMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tidegate_detect::redact::{Redactor, restore};
use tidegate_detect::{Detector, DetectorConfig};

static DETECTOR: LazyLock<Detector> =
    LazyLock::new(|| Detector::new(&DetectorConfig::default()).expect("the default rules are sound"));

fuzz_target!(|text: &[u8]| {
    let findings = DETECTOR.scan_json(text).findings;
    assert!(findings.iter().all(|finding| finding.span.start < finding.span.end && finding.span.end <= text.len()));
    let redacted = Redactor::new([1; 32]).redact_json(text, &findings).expect("one text has few values");
    let vault: HashMap<_, _> = redacted
        .replacements
        .iter()
        .map(|replaced| (replaced.stub.clone(), replaced.value.expose().clone()))
        .collect();
    assert_eq!(restore(&redacted.text, |stub| vault.get(stub).cloned()), text);
});
