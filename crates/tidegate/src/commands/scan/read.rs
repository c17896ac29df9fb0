//! Reading a text of any size in pieces.
//!
//! Each piece is judged as the gateway judges a response: as it stands, through its escapes, and in letters of two bytes where
//! it may have such. Pieces overlap by more than any rule looks around itself, also where every letter is an escape, and each
//! finding is taken from a piece that has all around it. So no cut hides or changes one.

use std::fmt;
use std::io::{self, BufRead, Read, Write};

use tidegate_core::Class;
use tidegate_detect::Finding;
use tidegate_detect::injection::Verdict;
use tidegate_detect::wide::{Order, Wide};

use super::{Found, PlacesIn, Rules, Show, by_place, counted};

/// How a long text is cut.
#[derive(Clone, Copy)]
struct Cut {
    /// Bytes of one piece. Two are held at a time. An even number, so that no letter of two bytes is cut.
    piece: usize,
    /// How far before and after a finding the text must be at hand.
    around: usize,
}

const CUT: Cut = Cut {
    piece: 8 << 20,
    around: 512 << 10,
};

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
    scan_in(CUT, rules, input, show, out)
}

fn scan_in(
    cut: Cut,
    rules: &Rules,
    input: &mut dyn BufRead,
    show: &mut dyn Show,
    out: &mut dyn Write,
) -> Result<Total, ScanError> {
    show.begin(out).map_err(ScanError::Write)?;
    let mut walk = Walk::over(rules, piece(input, cut)?);
    loop {
        let next = piece(input, cut)?;
        if next.is_empty() {
            walk.read(walk.window.len().saturating_add(1), show, out)?;
            break;
        }
        walk.read(walk.window.len().saturating_sub(cut.around), show, out)?;
        walk.go_on(&next, cut);
    }
    show.end(&walk.total, out).map_err(ScanError::Write)?;
    Ok(walk.total)
}

struct Walk<'a> {
    rules: &'a Rules,
    /// The last piece, and what came before it as far as a rule may look back.
    window: Vec<u8>,
    window_start: usize,
    /// What starts before this place in the window has been shown.
    done: usize,
    /// Whether the text may be one in letters of two bytes, and in which order.
    wide: Option<Order>,
    places: PlacesIn,
    total: Total,
}

impl<'a> Walk<'a> {
    fn over(rules: &'a Rules, first: Vec<u8>) -> Self {
        let wide = Order::of(&first);
        Self {
            rules,
            window: first,
            window_start: 0,
            done: 0,
            wide,
            places: wide.map_or_else(PlacesIn::new, PlacesIn::in_wide_letters),
            total: Total {
                findings: 0,
                class: Class::Public,
                score: 0.0,
                verdict: Verdict::Benign,
            },
        }
    }

    /// Lets go of what nothing can look back at any more, and adds a piece. Letters of two bytes are not cut.
    fn go_on(&mut self, piece: &[u8], cut: Cut) {
        let drop = self.done.saturating_sub(cut.around) & !1;
        // The walk must have passed what is let go.
        self.places
            .advance(&self.window, self.window_start, self.window_start + drop);
        self.window.drain(..drop);
        self.window_start += drop;
        self.done -= drop;
        self.window.extend_from_slice(piece);
        self.wide = self.wide.or_else(|| Order::of(piece));
    }

    /// Judges the window and shows what starts before a place in it: everything that could change that has come.
    fn read(&mut self, until: usize, show: &mut dyn Show, out: &mut dyn Write) -> Result<(), ScanError> {
        let mut found = judged(self.rules, &self.window, &mut self.total);
        if self.wide.is_some() {
            for wide in Wide::readings(&self.window) {
                let under = judged(self.rules, wide.text.as_bytes(), &mut self.total);
                found.extend(wide.in_bytes(under));
            }
            found.sort_by(by_place);
        }
        found.retain(|finding| (self.done..until).contains(&finding.span.start));
        self.done = until;
        // They come by place, so one walk finds all their lines.
        let (back, mut places) = (self.window_start, self.places.clone());
        for finding in found {
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

/// What counts in a text, by place.
fn judged(rules: &Rules, text: &[u8], total: &mut Total) -> Vec<Finding> {
    let inspection = rules.inspect(text);
    let injection = inspection.injection;
    if injection.score > total.score {
        total.score = injection.score;
        total.verdict = injection.verdict;
    }
    counted(rules, text, inspection.scan, &injection)
}

fn piece(input: &mut dyn BufRead, cut: Cut) -> Result<Vec<u8>, ScanError> {
    let mut bytes = Vec::new();
    let read = (&mut *input).take(cut.piece as u64).read_to_end(&mut bytes);
    read.map_err(ScanError::Read)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_detect::exits::Exits;
    use tidegate_detect::{Detector, DetectorConfig};

    const SMALL: Cut = Cut {
        piece: 64 << 10,
        around: 32 << 10,
    };

    /// Where addresses start and end, with their lines and columns.
    #[derive(Default)]
    struct Addresses(Vec<[usize; 4]>);

    impl Show for Addresses {
        fn begin(&mut self, _: &mut dyn Write) -> io::Result<()> {
            Ok(())
        }

        fn finding(&mut self, found: &Found<'_>, _: &mut dyn Write) -> io::Result<()> {
            let (span, start) = (&found.finding.span, found.start);
            if found.finding.rule.as_str() == "email" {
                self.0.push([span.start, span.end, start.line, start.column]);
            }
            Ok(())
        }

        fn end(&mut self, _: &Total, _: &mut dyn Write) -> io::Result<()> {
            Ok(())
        }
    }

    fn check(text: &[u8], expected: &[[usize; 4]]) {
        let rules = Rules {
            detector: Detector::new(&DetectorConfig::default()).unwrap(),
            exits: Exits::NONE,
        };
        let mut seen = Addresses::default();
        scan_in(SMALL, &rules, &mut &*text, &mut seen, &mut io::sink()).unwrap();
        assert_eq!(seen.0, expected, "{} bytes", text.len());
    }

    #[test]
    fn no_cut_hides_or_moves_a_finding() {
        let line = "all is well here, nobody asks for anything at all today\n";
        let lines_of = |bytes: usize| line.repeat(bytes / line.len());
        let (plain, escaped) = ("bob@corp.example", "bob\\u0040corp.example");
        for (before, value, after) in [
            (1 << 10, plain, 200 << 10),
            (1 << 10, escaped, 200 << 10),
            ((32 << 10) - 10, escaped, 70 << 10),
            ((64 << 10) - 10, plain, 200),
            ((64 << 10) + 10, escaped, 100),
            ((96 << 10) - 5, plain, 70 << 10),
        ] {
            let (before, after) = (lines_of(before), lines_of(after));
            let start = before.len() + 3;
            let text = format!("{before}to {value}\n{after}");
            let place = [start, start + value.len(), before.len() / line.len() + 1, 4];
            check(text.as_bytes(), &[place]);
        }
    }

    #[test]
    fn letters_of_two_bytes_hide_nothing() {
        let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        let long = "привет\n".repeat(7_000);
        for (before, line) in [
            ("\u{feff}all is well\n", 2),
            ("all is well\n", 2),
            (&format!("\u{feff}{long}"), 7_001),
        ] {
            let start = wide(before).len() + 10;
            let text = wide(&format!("{before}mail bob@corp.example\n"));
            check(&text, &[[start, start + 32, line, 6]]);
        }
        check(b"\xff\xfemail bob@corp.example\n", &[[7, 23, 1, 3]]);
    }
}
