//! Any bytes have a plain reading, and every span of it lies in what was given.
#![no_main]

#[path = "../../crates/detect/tests/laws/mod.rs"]
#[expect(dead_code, reason = "each target holds the detector to one law")]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::normalizing(bytes));
