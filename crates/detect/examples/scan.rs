//! Reads a text on standard input and prints what fires where: rule, class, confidence and place, never the value.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program that prints, and stops when it cannot"
)]

use std::io::Read;

use tidegate_detect::{Detector, DetectorConfig};

fn main() {
    let detector = Detector::new(&DetectorConfig::default()).expect("the default rules are sound");
    let mut text = Vec::new();
    std::io::stdin()
        .read_to_end(&mut text)
        .expect("standard input can be read");
    for finding in detector.scan(&text).findings {
        let (start, end) = (finding.span.start, finding.span.end);
        println!(
            "{start}..{end} {} {} {}%",
            finding.rule,
            finding.class,
            finding.confidence.as_percent()
        );
    }
}
