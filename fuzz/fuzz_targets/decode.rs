//! Decoding stays inside its budget, its depth and the text.
#![no_main]

#[path = "../../crates/detect/tests/laws/mod.rs"]
#[expect(dead_code, reason = "each target holds the detector to one law")]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::decoding(bytes));
