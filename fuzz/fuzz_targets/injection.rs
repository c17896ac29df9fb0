//! Any bytes can be weighed; findings lie in the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_detect::injection::{InjectionContext, Thresholds, assess, assess_plain};

fuzz_target!(|bytes: &[u8]| {
    let plain = assess_plain(bytes, &InjectionContext::NONE, Thresholds::DEFAULT);
    assert!((0.0..=1.0).contains(&plain.score));
    assert!(plain.findings.iter().all(|finding| finding.span.end <= bytes.len()));
    let gated = assess(bytes, &[], &InjectionContext::NONE, Thresholds::DEFAULT);
    assert!(gated.score <= plain.score);
});
