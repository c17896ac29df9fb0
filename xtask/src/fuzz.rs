//! `cargo xtask fuzz`: the laws of `crates/detect/tests/laws`, held against whatever a fuzzer can think of.

use std::process::Command;

use crate::steps::{cargo, root};

/// Each target is a program in `fuzz/fuzz_targets`.
const TARGETS: &[&str] = &["scan", "redact", "json", "decode", "normalize", "injection"];

/// Seconds for each target when nobody says.
const SECONDS: &str = "60";

/// Runs one target, or all of them, for so many seconds each.
pub(crate) fn run(only: Option<&str>, seconds: Option<&str>) -> Result<(), String> {
    let chosen: Vec<_> = TARGETS
        .iter()
        .filter(|name| only.is_none_or(|only| only == **name))
        .collect();
    if chosen.is_empty() {
        return Err(format!("no such target; there are: {}", TARGETS.join(", ")));
    }
    if !is_installed() {
        return Err("cargo-fuzz is not installed: cargo install cargo-fuzz --locked".into());
    }
    let limit = format!("-max_total_time={}", seconds.unwrap_or(SECONDS));
    for name in chosen {
        // The fuzzer's instrumentation is behind flags that a stable compiler hides; this one shows them.
        cargo(
            &["fuzz", "run", name, "--", &limit, "-max_len=2048"],
            &[("RUSTC_BOOTSTRAP", "1")],
        )?;
    }
    Ok(())
}

fn is_installed() -> bool {
    Command::new("cargo-fuzz")
        .arg("--version")
        .current_dir(root())
        .output()
        .is_ok_and(|output| output.status.success())
}
