//! How fast the detector reads, beside programs that look for such things and beside the machine's own limit.
//!
//! `cargo xtask bench detect`. One thread, one text of each kind, made here; every figure is of time on a processor.
//! The peers written in Python get the beginning of the text: what they find is less, how fast they are is the same.

#![allow(clippy::print_stdout, reason = "printing figures is what a benchmark is for")]

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use bench::corpus::{Kind, corpus};
use bench::mean_time;
use bench::peers::{self, Figure};
use tidegate_detect::injection::InjectionContext;
use tidegate_detect::secrets::SecretRule;
use tidegate_detect::{Detector, DetectorConfig};

type Outcome<T> = Result<T, Box<dyn Error>>;

const CORPUS_BYTES: usize = 1 << 20;
/// The beginning of the same text, for programs that would need minutes for all of it.
const SLOW_BYTES: usize = 128 << 10;
const RESPONSE_BYTES: usize = 10 << 10;

/// The rules of the detector that are written as expressions, for ripgrep.
const WRITTEN: [&str; 3] = [
    include_str!("../../../crates/detect/rules/secrets-prefixed.toml"),
    include_str!("../../../crates/detect/rules/secrets-named.toml"),
    include_str!("../../../crates/detect/rules/secrets-services.toml"),
];

/// Personal data as expressions, without the checks behind them.
const PERSONAL: [&str; 6] = [
    r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}",
    r"\+[0-9]{1,3}[ -]?\(?[0-9]{2,4}\)?[ -]?[0-9]{3,4}[ -]?[0-9]{3,4}",
    r"[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}",
    r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}",
    r"[0-9]{3}-[0-9]{2}-[0-9]{4}",
    r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}",
];

fn main() -> Outcome<()> {
    let detector = Detector::new(&DetectorConfig {
        internal_domains: vec!["corp.example".into()],
        code_names: vec!["Blue Heron".into()],
        ..DetectorConfig::default()
    })?;
    let directory = tempfile::tempdir()?;
    let (patterns, count) = pattern_file(directory.path())?;
    println!(
        "detect: {} rules and the injection detector; ripgrep has {count} patterns",
        detector.rules().len()
    );
    for kind in Kind::ALL {
        let text = corpus(kind, CORPUS_BYTES);
        let path = directory.path().join(format!("{}.txt", kind.name()));
        std::fs::write(&path, &text)?;
        println!("{}, {:.1} MB", kind.name(), megabytes(text.len()));
        let own = own_figures(&detector, &text);
        let whole = own.get(1).map_or(f64::NAN, |figure| figure.speed);
        own.iter().for_each(|figure| print_figure(figure, whole));
        match peers::ripgrep(&path, &patterns) {
            Ok(figure) => print_figure(&figure, whole),
            Err(reason) => println!("  ripgrep: not measured: {reason}"),
        }
        let beginning = directory.path().join(format!("{}-beginning.txt", kind.name()));
        std::fs::write(&beginning, corpus(kind, SLOW_BYTES))?;
        match peers::in_python(&beginning) {
            Ok(figures) => figures.iter().for_each(|figure| print_figure(figure, whole)),
            Err(reason) => println!("  Presidio and detect-secrets: not measured: {reason}"),
        }
    }
    for kind in Kind::ALL {
        let response = corpus(kind, RESPONSE_BYTES);
        let time = mean_time(|| {
            black_box(detector.inspect(black_box(&response), &InjectionContext::NONE));
        });
        println!(
            "a 10 KB response, {:<6} {:>8.1} us",
            kind.name(),
            time.as_secs_f64() * 1e6
        );
    }
    Ok(())
}

fn own_figures(detector: &Detector, text: &[u8]) -> [Figure; 3] {
    let rare = memchr::memmem::Finder::new("quetzalcoatlus");
    [
        figure("Tidegate, scan", text, |text| detector.scan(text).findings.len()),
        figure("Tidegate, scan and injection", text, |text| {
            let inspection = detector.inspect(text, &InjectionContext::NONE);
            inspection.scan.findings.len() + inspection.injection.findings.len()
        }),
        figure("memmem, one rare word", text, |text| rare.find_iter(text).count()),
    ]
}

fn figure(name: &str, text: &[u8], work: impl Fn(&[u8]) -> usize) -> Figure {
    // What is made once, when it is first wanted, does not count.
    let findings = work(text) as u64;
    let time = mean_time(|| {
        black_box(work(black_box(text)));
    });
    Figure {
        peer: name.into(),
        speed: megabytes(text.len()) / time.as_secs_f64(),
        findings,
    }
}

/// A line for one program: its speed, and how many times as fast the whole detector is.
fn print_figure(figure: &Figure, whole: f64) {
    let Figure {
        peer,
        speed,
        findings,
    } = figure;
    println!(
        "  {peer:<40} {speed:>9.2} MB/s  {findings:>7} found  Tidegate is {:.2} x",
        whole / speed
    );
}

/// One pattern for each written rule: its own where it has one, else the names that it stands behind.
fn pattern_file(directory: &Path) -> Outcome<(PathBuf, usize)> {
    let mut patterns: Vec<String> = PERSONAL.map(str::to_owned).to_vec();
    for text in WRITTEN {
        let rules = SecretRule::parse_all(text)?;
        patterns.extend(rules.into_iter().map(|rule| {
            rule.pattern
                .unwrap_or_else(|| format!("(?i:{})", rule.names.join("|")))
        }));
    }
    let path = directory.join("patterns");
    std::fs::write(&path, patterns.join("\n"))?;
    Ok((path, patterns.len()))
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}
