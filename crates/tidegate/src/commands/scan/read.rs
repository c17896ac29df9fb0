//! Reading a text of any size in pieces.
//!
//! One piece is judged as a whole, as the gateway judges a response. A longer text goes through the scanner that loses
//! no finding at a cut; injected orders are weighed piece by piece, each cut at the end of a line where there is one.

use std::fmt;
use std::io::{self, BufRead, Read, Write};

use tidegate_core::Class;
use tidegate_detect::injection::{Assessment, InjectionContext, Verdict};
use tidegate_detect::{Finding, Scan, StreamScanner};

use super::{Found, PlacesIn, Rules, Show, counted};

/// Bytes of one piece. Two are held at a time.
const PIECE: usize = 8 << 20;

/// How far beyond a piece the end of its last line is looked for.
const LINE_END: u64 = 64 << 10;

/// Why a scan stopped.
#[derive(Debug)]
pub(super) enum ScanError {
    Read(io::Error),
    Write(io::Error),
}

/// What a whole text comes to.
#[derive(Debug)]
pub(super) struct Total {
    pub(super) findings: u64,
    pub(super) class: Class,
    pub(super) score: f32,
    pub(super) verdict: Verdict,
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.findings == 1 { "finding" } else { "findings" };
        let (count, class, verdict) = (self.findings, self.class, self.verdict.as_str());
        write!(
            f,
            "{count} {noun}, class {class}, injection {:.2} ({verdict})",
            self.score
        )
    }
}

/// Scans everything that can be read and shows what is found as it is found.
pub(super) fn scan(
    rules: &Rules,
    input: &mut dyn BufRead,
    show: &mut dyn Show,
    out: &mut dyn Write,
) -> Result<Total, ScanError> {
    let mut walk = Walk {
        rules,
        window: Vec::new(),
        window_start: 0,
        places: PlacesIn::new(),
        total: Total {
            findings: 0,
            class: Class::Public,
            score: 0.0,
            verdict: Verdict::Benign,
        },
    };
    show.begin(out).map_err(ScanError::Write)?;
    let first = piece(input).map_err(ScanError::Read)?;
    let mut next = piece(input).map_err(ScanError::Read)?;
    if next.is_empty() {
        walk.window = first;
        let inspection = rules.inspect(&walk.window);
        walk.take(inspection.scan, &inspection.injection, show, out)?;
    } else {
        let mut scanner = StreamScanner::new(&rules.detector);
        let mut current = first;
        while !current.is_empty() {
            let injection = walk.grow(&current);
            walk.take(Scan::settled(scanner.push(&current)), &injection, show, out)?;
            current = std::mem::take(&mut next);
            next = piece(input).map_err(ScanError::Read)?;
        }
        walk.take(Scan::settled(scanner.finish()), &nothing(), show, out)?;
    }
    show.end(&walk.total, out).map_err(ScanError::Write)?;
    Ok(walk.total)
}

struct Walk<'a> {
    rules: &'a Rules,
    /// The last pieces: findings become final a little after their bytes have passed.
    window: Vec<u8>,
    window_start: usize,
    places: PlacesIn,
    total: Total,
}

impl Walk<'_> {
    /// Adds a piece, lets go of what is two pieces back, and weighs the piece for orders.
    fn grow(&mut self, piece: &[u8]) -> Assessment {
        let keep = self.window.len().min(PIECE);
        let drop = self.window.len() - keep;
        // The walk must have passed what is let go.
        self.places
            .advance(&self.window, self.window_start, self.window_start + drop);
        self.window.drain(..drop);
        self.window_start += drop;
        let at = self.window_start + self.window.len();
        self.window.extend_from_slice(piece);
        let inspection = self.rules.detector.inspect(piece, &InjectionContext::NONE);
        let mut injection = inspection.injection;
        for finding in &mut injection.findings {
            finding.span = finding.span.start + at..finding.span.end + at;
        }
        injection
    }

    fn take(
        &mut self,
        mut scan: Scan,
        injection: &Assessment,
        show: &mut dyn Show,
        out: &mut dyn Write,
    ) -> Result<(), ScanError> {
        if injection.score > self.total.score {
            self.total.score = injection.score;
            self.total.verdict = injection.verdict;
        }
        let back = self.window_start;
        let in_window = |finding: Finding| Finding {
            span: finding.span.start.saturating_sub(back)..finding.span.end.saturating_sub(back),
            ..finding
        };
        let local = Assessment {
            findings: injection.findings.iter().cloned().map(in_window).collect(),
            ..*injection
        };
        // What is read whole begins where its window does; what streams by is settled.
        scan.findings = scan.findings.into_iter().map(in_window).collect();
        // They come by place, so one walk finds all their lines.
        let mut places = self.places.clone();
        for finding in counted(self.rules, &self.window, scan, &local) {
            let span = finding.span.start + back..finding.span.end + back;
            let start = places.advance(&self.window, back, span.start);
            let end = places.clone().advance(&self.window, back, span.end);
            let finding = Finding { span, ..finding };
            self.total.findings += 1;
            self.total.class = self.total.class.join(finding.class);
            let found = Found {
                finding: &finding,
                start,
                end,
            };
            show.finding(&found, out).map_err(ScanError::Write)?;
        }
        Ok(())
    }
}

fn nothing() -> Assessment {
    Assessment {
        score: 0.0,
        verdict: Verdict::Benign,
        findings: Vec::new(),
    }
}

fn piece(input: &mut dyn BufRead) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    (&mut *input).take(PIECE as u64).read_to_end(&mut bytes)?;
    if bytes.len() == PIECE {
        (&mut *input).take(LINE_END).read_until(b'\n', &mut bytes)?;
    }
    Ok(bytes)
}
