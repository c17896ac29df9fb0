//! `cargo xtask bench`: what things cost. Figures only: no benchmark passes or fails.

use crate::sdk;
use crate::steps::cargo;

/// Each benchmark is a program in `bench/src/bin`, but for [`SDK`].
const BENCHMARKS: &[&str] = &[
    "console",
    "decisions",
    "detect",
    "egress",
    "gates",
    "ledger",
    "mcp",
    SDK,
    "shared",
    "store",
];

/// The one that is written in Python.
const SDK: &str = "sdk";

/// Runs one benchmark, or all of them.
pub(crate) fn run(only: Option<&str>) -> Result<(), String> {
    let chosen: Vec<_> = BENCHMARKS
        .iter()
        .filter(|name| only.is_none_or(|only| only == **name))
        .collect();
    if chosen.is_empty() {
        return Err(format!("no such benchmark; there are: {}", BENCHMARKS.join(", ")));
    }
    for name in chosen {
        if *name == SDK {
            sdk::bench()?;
            continue;
        }
        cargo(
            &["run", "--quiet", "--release", "--package", "bench", "--bin", name],
            &[],
        )?;
    }
    Ok(())
}
