//! Whatever is redacted can be restored.
#![no_main]

use std::collections::HashMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tidegate_detect::redact::{Redactor, restore};
use tidegate_detect::{Detector, DetectorConfig};

static DETECTOR: LazyLock<Detector> =
    LazyLock::new(|| Detector::new(&DetectorConfig::default()).expect("the default rules are sound"));

fuzz_target!(|text: &[u8]| {
    let findings = DETECTOR.scan(text).findings;
    let redacted = Redactor::new([1; 32]).redact(text, &findings).expect("one text has few values");
    let vault: HashMap<_, _> = redacted
        .replacements
        .iter()
        .map(|replaced| (replaced.stub.clone(), replaced.value.expose().clone()))
        .collect();
    assert_eq!(restore(&redacted.text, |stub| vault.get(stub).cloned()), text);
});
