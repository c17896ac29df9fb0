//! `cargo xtask bench`: what things cost. Figures only: no benchmark passes or fails.

use crate::steps::cargo;

/// Each benchmark is a program in `bench/src/bin`.
const BENCHMARKS: &[&str] = &[
    "decisions",
    "detect",
    "egress",
    "ledger",
    "mcp",
    "shared",
    "store",
];

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
        cargo(
            &["run", "--quiet", "--release", "--package", "bench", "--bin", name],
            &[],
        )?;
    }
    Ok(())
}
