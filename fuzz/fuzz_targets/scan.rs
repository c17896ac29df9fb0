//! Any bytes can be scanned, and a stream of them finds the same.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tidegate_detect::{Detector, DetectorConfig, StreamScanner};

static DETECTOR: LazyLock<Detector> =
    LazyLock::new(|| Detector::new(&DetectorConfig::default()).expect("the default rules are sound"));

fuzz_target!(|text: &[u8]| {
    let whole = DETECTOR.scan(text).findings;
    let mut scanner = StreamScanner::new(&DETECTOR);
    let cut = text.first().map_or(1, |first| usize::from(*first) + 1);
    let mut found: Vec<_> = text.chunks(cut).flat_map(|chunk| scanner.push(chunk)).collect();
    found.extend(scanner.finish());
    assert_eq!(found, whole);
});
