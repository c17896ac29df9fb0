//! Any bytes have a plain reading, and every span of it lies in what was given.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_detect::normalize::normalize;

fuzz_target!(|bytes: &[u8]| {
    let plain = normalize(bytes);
    let mut last = 0;
    for (start, character) in plain.text().char_indices() {
        let span = plain.source(start..start + character.len_utf8());
        assert!(span.start <= span.end && span.end <= bytes.len());
        assert!(span.start >= last);
        last = span.start;
    }
});
