//! Any bytes can be weighed, and the fast way comes to the verdict of the plain one.
#![no_main]

#[path = "../../crates/detect/tests/laws/mod.rs"]
#[expect(dead_code, reason = "each target holds the detector to one law")]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::injection(bytes));
