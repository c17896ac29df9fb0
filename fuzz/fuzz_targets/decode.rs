//! Decoding stays inside its budget, its depth and the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_detect::decode::{Limits, decode};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { depth: 3, bytes: 4096 };
    let found = decode(bytes, limits);
    assert!(found.iter().map(|decoded| decoded.text.len()).sum::<usize>() <= limits.bytes);
    assert!(found.iter().all(|decoded| decoded.depth <= limits.depth));
    assert!(found.iter().all(|decoded| decoded.span.start < decoded.span.end && decoded.span.end <= bytes.len()));
});
