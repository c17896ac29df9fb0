//! `tidegate explain`: which rule fired where, why, and what would let that one finding through.

use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;

use clap::Args;
use tidegate_detect::exits::ValueDigest;
use tidegate_detect::{Detector, Finding, FindingKind};

use super::scan::{PlacesIn, Rules, open, shown};
use crate::failure::Failure;
use crate::source::detection;
use crate::terminal::{FAINT, HEAD, answer, note, painted};

/// The largest text that is explained at once.
const LARGEST_TEXT: usize = 16 << 20;

/// Say which rule fired where and why, and how to let a false finding through
///
/// For each finding: its place, its rule in words, the other rules that fired there, and a ready-made [[detect.exits]]
/// block for the configuration that lets this one value through and nothing else. The value itself is never shown.
/// The exit code is 0 when nothing was found and 1 when something was. Reads up to 16 MiB.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tidegate explain notes.txt
  tidegate explain --rule email                what one rule looks for
  tidegate explain --rules                     every rule in one line
  printf %s 'the value' | sha256sum            makes a value_sha256 by hand")]
pub(crate) struct Explain {
    /// Explain one rule instead of a text
    #[arg(long, value_name = "RULE", conflicts_with_all = ["rules", "input"])]
    rule: Option<String>,
    /// List every rule instead
    #[arg(long, conflicts_with = "input")]
    rules: bool,
    /// The configuration [default: ./tidegate.toml if there is one]
    #[arg(long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    config: Option<PathBuf>,
    /// What to explain; - is standard input
    #[arg(default_value = "-", value_name = "FILE")]
    input: PathBuf,
}

impl Explain {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (detector, exits) = detection(self.config)?;
        let rules = Rules { detector, exits };
        let detector = &rules.detector;
        if self.rules {
            return list(detector);
        }
        if let Some(rule) = self.rule {
            return describe(detector, &rule);
        }
        let name = shown(&self.input);
        let mut text = Vec::new();
        open(&self.input)?
            .take(LARGEST_TEXT as u64 + 1)
            .read_to_end(&mut text)
            .map_err(|error| Failure::environment(format_args!("{name}: cannot be read: {error}")))?;
        if text.len() > LARGEST_TEXT {
            return Err(Failure::usage(format_args!(
                "{name}: larger than {LARGEST_TEXT} bytes"
            )));
        }
        let inspection = rules.inspect(&text);
        let exited = rules.exits.apply(&text, None, inspection.scan);
        let mut findings = exited.kept;
        findings.extend(inspection.injection.findings);
        findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
        let raw = detector.scan_unresolved(&text);
        let mut places = PlacesIn::new();
        for finding in &findings {
            let at = places.advance(&text, 0, finding.span.start);
            let place = format!("{name}:{}:{}", at.line, at.column);
            answer(painted(HEAD, format_args!("{place}: {}", finding.rule)))?;
            explain(detector, &text, finding, &raw)?;
        }
        for (exit, _) in &exited.let_through {
            note(format_args!("{name}: let through by the exit {exit}"));
        }
        match findings.len() {
            0 => {
                note(format_args!("{name}: nothing found"));
                Ok(())
            }
            count => Err(Failure::no(format_args!("{name}: findings: {count}"))),
        }
    }
}

/// A rule in words: what it looks for and how that is checked.
pub(crate) fn in_words(detector: &Detector, rule: &str) -> Option<(String, String)> {
    if let Some(pattern) = rule.strip_prefix("injection.") {
        let family = pattern.split('.').next().unwrap_or(pattern);
        let checked = match family {
            "learned" => {
                "weights of words and pairs of words, learned from orders and ordinary texts and added up"
            }
            _ => "patterns over the meanings of words, weighed together, through disguise and encodings",
        };
        return Some((injected(family).to_owned(), checked.to_owned()));
    }
    detector
        .explain(rule)
        .map(|description| (description.looks_for, description.verified_by))
}

fn injected(family: &str) -> &'static str {
    match family {
        "override" => "text that tells the agent to drop its instructions",
        "role" | "persona" | "amoral" | "fiction" => {
            "text that gives the agent another role or frees it from rules"
        }
        "reveal" | "secret" => "text that asks the agent for its instructions or for secrets",
        "exfil" => "text that asks the agent to send data somewhere",
        "tool" => "text that asks the agent to call a tool",
        "policy" | "authority" => "text that claims the authority to change the rules",
        "learned" => "text whose choice of words is that of orders",
        "conceal" | "hidden" => "text that is hidden, or asks to hide something from the user",
        "task" | "order" | "demand" | "hijack" | "plain" | "say" | "value" => {
            "text that gives the agent a task"
        }
        _ => "text that gives the agent orders",
    }
}

fn list(detector: &Detector) -> Result<(), Failure> {
    for rule in detector.rules() {
        answer(format_args!("{:<36} {}", rule.rule.as_str(), rule.looks_for))?;
    }
    answer(format_args!("{:<36} {}", "injection.*", injected("")))
}

fn describe(detector: &Detector, rule: &str) -> Result<(), Failure> {
    let Some((looks_for, verified_by)) = in_words(detector, rule) else {
        let rules = detector.rules();
        let close = rules
            .iter()
            .map(|known| {
                (
                    strsim::damerau_levenshtein(rule, known.rule.as_str()),
                    &known.rule,
                )
            })
            .min_by_key(|(distance, _)| *distance)
            .filter(|(distance, _)| *distance <= 3);
        let hint = close
            .map(|(_, rule)| format!("; did you mean {rule}?"))
            .unwrap_or_default();
        return Err(Failure::no(format_args!("there is no such rule{hint}")));
    };
    answer(format_args!("looks for   {looks_for}"))?;
    answer(format_args!("checked by  {verified_by}"))
}

fn explain(detector: &Detector, text: &[u8], finding: &Finding, raw: &[Finding]) -> Result<(), Failure> {
    if let Some((looks_for, verified_by)) = in_words(detector, finding.rule.as_str()) {
        answer(format_args!("  looks for   {looks_for}"))?;
        answer(format_args!("  checked by  {verified_by}"))?;
    }
    answer(format_args!(
        "  found       {} bytes, class {}, kind {}, confidence {}%",
        finding.span.len(),
        finding.class,
        finding.kind.as_str(),
        finding.confidence.as_percent()
    ))?;
    let others = others(finding, raw);
    if !others.is_empty() {
        answer(format_args!("  also there  {}", others.join(", ")))?;
    }
    if finding.kind == FindingKind::Injection {
        return answer("  an injection has no exit: a person decides about each\n");
    }
    let value = text.get(finding.span.clone()).unwrap_or_default();
    let block = format!(
        "  [[detect.exits]]\n  rule = \"{}\"\n  value_sha256 = \"{}\"\n  reason = \"\"",
        finding.rule,
        ValueDigest::of(value).to_hex()
    );
    answer(painted(
        FAINT,
        "  to let this value through, give a reason and add:",
    ))?;
    answer(format_args!("{block}\n"))
}

/// Rules that fired on some of the same bytes and gave way.
fn others(finding: &Finding, raw: &[Finding]) -> Vec<String> {
    let meets = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
    let mut others: Vec<_> = raw
        .iter()
        .filter(|other| meets(&other.span, &finding.span) && other.rule != finding.rule)
        .map(|other| other.rule.as_str().to_owned())
        .collect();
    others.sort_unstable();
    others.dedup();
    others
}
