//! `tidegate scan`: what the detectors find in a file, without a gateway.
//!
//! A finding is shown by its place, never by its value, so the answer may be kept, mailed or uploaded where the file
//! itself may not.

mod batch;
mod places;
mod read;
mod sarif;
mod show;

use std::cmp::Ordering;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use tidegate_detect::exits::Exits;
use tidegate_detect::injection::{Assessment, InjectionContext};
use tidegate_detect::{Detector, Finding, Inspection, Scan as Scanned};

pub(crate) use places::{Place, Places as PlacesIn};

use crate::failure::Failure;
use crate::source::detection;
use crate::terminal::{note, written};

/// Find personal data, credentials, internal names and injected orders in a file
///
/// Uses the detectors of the gateway with the detect section of the configuration, if there is one. A finding is shown by its
/// place, never by its value. A file of any size is read in pieces. The exit code is 0 when nothing was found and 1 when
/// something was; with --batch it is 0 either way.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tidegate scan notes.txt
  git diff | tidegate scan
  tidegate scan --format sarif src/settings.py > settings.sarif
  printf '{\"id\":1,\"text\":\"mail bob@example.com\"}\\n' | tidegate scan --batch

With --batch each line in is {\"id\",\"text\"}, and each line out, in the same order, is
{\"id\",\"class\",\"injection\":{\"score\",\"verdict\"},\"findings\":[{\"rule\",\"kind\",\"class\",\"start\",\"end\",\"confidence\"}]}
with places in bytes, or {\"id\",\"error\"} for a line that cannot be read or is longer than 16 MiB.")]
pub(crate) struct Scan {
    /// How findings are shown
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Lines of JSON in, lines of JSON out
    #[arg(long, conflicts_with = "format")]
    batch: bool,
    /// The configuration [default: ./tidegate.toml if there is one]
    #[arg(long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    config: Option<PathBuf>,
    /// What to scan; - is standard input
    #[arg(default_value = "-", value_name = "FILE")]
    input: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, as code hosts and editors read it
    Sarif,
}

/// Everything that judges a text.
pub(crate) struct Rules {
    pub(crate) detector: Detector,
    pub(crate) exits: Exits,
}

impl Rules {
    /// Judges a whole text as the gateway judges one that a tool answers with: as it stands and through its escapes.
    pub(crate) fn inspect(&self, text: &[u8]) -> Inspection {
        self.detector.inspect_any(text, &InjectionContext::NONE)
    }
}

impl Scan {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (detector, exits) = detection(self.config)?;
        let rules = Rules { detector, exits };
        let mut input = open(&self.input)?;
        let mut out = io::BufWriter::new(io::stdout().lock());
        if self.batch {
            return stopped(batch::run(&rules, &mut input, &mut out));
        }
        let name = shown(&self.input);
        let mut show: Box<dyn Show> = match self.format {
            Format::Table => Box::new(show::Table::new(&name)),
            Format::Json => Box::new(show::Json::new(&name)),
            Format::Sarif => Box::new(sarif::Sarif::new(&name, &rules.detector)),
        };
        let result = read::scan(&rules, &mut *input, &mut *show, &mut out);
        let flushed = result.and_then(|total| out.flush().map(|()| total).map_err(read::ScanError::Write));
        match flushed {
            Ok(total) if total.findings == 0 => {
                note(format_args!("{name}: nothing found"));
                Ok(())
            }
            Ok(total) => Err(Failure::no(format_args!("{name}: {total}"))),
            Err(read::ScanError::Read(error)) => Err(Failure::environment(format_args!(
                "{name}: cannot be read: {error}"
            ))),
            // Whoever read has read enough. What did not fit into the pipe are findings.
            Err(read::ScanError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Err(
                Failure::no(format_args!("{name}: not all that was found was read")),
            ),
            Err(read::ScanError::Write(error)) => written(Err(error)),
        }
    }
}

/// A way to show findings as they come. What stands before and after them is written around them.
trait Show {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()>;
    fn finding(&mut self, found: &Found<'_>, out: &mut dyn Write) -> io::Result<()>;
    fn end(&mut self, total: &read::Total, out: &mut dyn Write) -> io::Result<()>;
}

/// A finding with its place in lines and columns.
struct Found<'a> {
    finding: &'a Finding,
    start: Place,
    end: Place,
}

/// Opens a file, or standard input for `-`.
pub(crate) fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::with_capacity(1 << 16, io::stdin())));
    }
    let file = std::fs::File::open(path).map_err(|error| {
        let name = path.display();
        match error.kind() {
            io::ErrorKind::NotFound => Failure::usage(format_args!("{name}: there is no such file")),
            _ => Failure::environment(format_args!("{name}: cannot be read: {error}")),
        }
    })?;
    Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
}

/// What a source is called in answers.
pub(crate) fn shown(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// A finding in the form that programs rely on.
fn finding_json(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule.as_str(),
        "kind": finding.kind.as_str(),
        "class": finding.class.as_str(),
        "start": finding.span.start,
        "end": finding.span.end,
        "confidence": f64::from(finding.confidence.as_percent()) / 100.0,
    })
}

/// An injection verdict in the form that programs rely on.
fn injection_json(score: f32, verdict: tidegate_detect::injection::Verdict) -> Value {
    json!({ "score": rounded(score), "verdict": verdict.as_str() })
}

/// A score as it is shown: the detector promises no more than four places.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 10_000.0).round() / 10_000.0
}

/// The findings that count, by place, the injection's own among them.
fn counted(rules: &Rules, text: &[u8], scan: Scanned, injection: &Assessment) -> Vec<Finding> {
    let mut kept = rules.exits.apply(text, None, scan).kept;
    kept.extend(injection.findings.iter().cloned());
    kept.sort_by(by_place);
    kept
}

fn by_place(a: &Finding, b: &Finding) -> Ordering {
    (a.span.start, a.span.end, &a.rule).cmp(&(b.span.start, b.span.end, &b.rule))
}

/// A reader that went away has read enough.
fn stopped(result: Result<(), read::ScanError>) -> Result<(), Failure> {
    match result {
        Ok(()) => Ok(()),
        Err(read::ScanError::Read(error)) => Err(Failure::environment(format_args!("cannot read: {error}"))),
        Err(read::ScanError::Write(error)) => written(Err(error)),
    }
}
