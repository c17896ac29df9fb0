//! Other programs that look for such things, measured on the same texts in the same run.
//!
//! Presidio and detect-secrets are installed into an environment of their own under `target/` when they are first
//! wanted; ripgrep is taken as the system has it. A peer that cannot be had is named with the reason, never left out in
//! silence.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::of_children;

const PROGRAM: &str = include_str!("../peers.py");
const PACKAGES: [&str; 2] = ["presidio-analyzer", "detect-secrets"];

/// How often ripgrep reads the text in one run, so that starting it does not count.
const PASSES: usize = 32;

/// How fast a peer was on one text.
pub struct Figure {
    /// The peer, and what of it was used.
    pub peer: String,
    /// Megabytes in a second of one processor.
    pub speed: f64,
    /// How many findings it made: peers look for different things.
    pub findings: u64,
}

/// Presidio's pattern recognizers and detect-secrets' plugins on one text.
///
/// # Errors
/// Says why they cannot be had.
pub fn in_python(text: &Path) -> Result<Vec<Figure>, String> {
    let python = environment()?;
    let output = Command::new(python)
        .args(["-c", PROGRAM])
        .arg(text)
        .output()
        .map_err(|error| error.to_string())?;
    let lines = said(&output)?;
    lines
        .lines()
        .map(|line| figure(line).ok_or_else(|| format!("not a figure: {line}")))
        .collect()
}

/// ripgrep with a file of patterns, every match counted, one thread.
///
/// # Errors
/// Says why it cannot be had.
pub fn ripgrep(text: &Path, patterns: &Path) -> Result<Figure, String> {
    let bytes = std::fs::metadata(text).map_err(|error| error.to_string())?.len();
    let began = of_children().ok_or("the system does not tell what a child used")?;
    let output = Command::new("rg")
        .args([
            "--no-config",
            "--threads=1",
            "--text",
            "--count-matches",
            "--no-filename",
        ])
        .args(["--regex-size-limit=1G", "--dfa-size-limit=1G", "--file"])
        .arg(patterns)
        .args(vec![text; PASSES])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("rg: {error} (most systems have a package named ripgrep)"))?;
    let spent = of_children().unwrap_or(began).saturating_sub(began);
    // Without a match ripgrep says nothing and gives 1.
    let counts = if output.status.code() == Some(1) {
        String::new()
    } else {
        said(&output)?
    };
    let findings = counts.lines().next().and_then(|line| line.parse().ok());
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let megabytes = (bytes * PASSES as u64) as f64 / 1e6;
    Ok(Figure {
        peer: "ripgrep".into(),
        speed: megabytes / spent.as_secs_f64(),
        findings: findings.unwrap_or(0),
    })
}

fn figure(line: &str) -> Option<Figure> {
    let value: Value = serde_json::from_str(line).ok()?;
    Some(Figure {
        peer: value.get("peer")?.as_str()?.to_owned(),
        speed: value.get("megabytes_per_second")?.as_f64()?,
        findings: value.get("findings")?.as_u64()?,
    })
}

/// The Python that has the peers.
fn environment() -> Result<PathBuf, String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers");
    let python = directory.join("bin/python");
    let ready = directory.join("ready");
    if !ready.exists() {
        let made = Command::new("python3")
            .args(["-m", "venv"])
            .arg(&directory)
            .output();
        said(&made.map_err(|error| format!("python3: {error}"))?)?;
        let installed = Command::new(&python)
            .args(["-m", "pip", "install", "--quiet"])
            .args(PACKAGES)
            .output();
        said(&installed.map_err(|error| format!("pip: {error}"))?)?;
        std::fs::write(ready, "").map_err(|error: io::Error| error.to_string())?;
    }
    Ok(python)
}

/// What a program printed, or the last line of its complaint.
fn said(output: &Output) -> Result<String, String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(complaint.trim().lines().last().unwrap_or("it failed").to_owned())
}
