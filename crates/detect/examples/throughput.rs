//! How fast the detector is on this machine, beside the fastest thing that still reads every byte.
//!
//! `cargo run --release -p tidegate-detect --example throughput`. The corpus is made here, the same every time.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program that prints figures, and stops when it cannot"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use tidegate_detect::injection::InjectionContext;
use tidegate_detect::{Detector, DetectorConfig};

const CORPUS_BYTES: usize = 1 << 20;
const LONG_ENOUGH: Duration = Duration::from_millis(400);

fn main() {
    let config = DetectorConfig {
        internal_domains: vec!["corp.example".into()],
        code_names: vec!["Blue Heron".into()],
        ..DetectorConfig::default()
    };
    let detector = Detector::new(&config).expect("the default rules are sound");
    for (name, corpus) in [
        ("clean prose", corpus(clean_prose)),
        ("clean JSON", corpus(clean_json)),
        ("dense with hits", corpus(dense)),
    ] {
        let found = detector.scan(&corpus).findings.len();
        println!("{name}: {} MB, {found} findings", corpus.len() >> 20);
        report("scan", &corpus, |text| detector.scan(text).findings.len());
        report("scan and injection", &corpus, |text| {
            detector
                .inspect(text, &InjectionContext::NONE)
                .scan
                .findings
                .len()
        });
        let rare = memchr::memmem::Finder::new("quetzalcoatlus");
        report("memmem, one rare word", &corpus, |text| {
            rare.find_iter(text).count()
        });
        report("memchr, '@'", &corpus, |text| {
            memchr::memchr_iter(b'@', text).count()
        });
    }
    for (name, make) in [("clean", clean_json as Piece), ("dense", dense)] {
        let response = corpus_of(make, 10 << 10);
        let time = mean(|| {
            for _ in 0..100 {
                black_box(detector.inspect(black_box(&response), &InjectionContext::NONE));
            }
        });
        println!(
            "a 10 KB response, {name}: {:.1} us",
            time.as_secs_f64() * 1e6 / 100.0
        );
    }
}

fn report(name: &str, corpus: &[u8], work: impl Fn(&[u8]) -> usize) {
    let time = mean(|| {
        black_box(work(black_box(corpus)));
    });
    println!(
        "  {name:<24} {:>9.0} MB/s",
        megabytes(corpus.len()) / time.as_secs_f64()
    );
}

/// The mean time of one round, over enough rounds that the clock's grain does not matter.
fn mean(work: impl Fn()) -> Duration {
    let (start, started) = (Instant::now(), time_on_processor());
    let spent = || match (started, time_on_processor()) {
        (Some(started), Some(now)) => now.saturating_sub(started),
        _ => start.elapsed(),
    };
    let mut rounds = 0;
    while spent() < LONG_ENOUGH {
        work();
        rounds += 1;
    }
    spent() / rounds
}

/// What this thread has used of a processor, where the system tells: a busy machine then does not look like a slow one.
fn time_on_processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

#[expect(clippy::cast_precision_loss, reason = "a corpus is far below 2^52 bytes")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

type Piece = fn(&mut Dice, &mut String);

fn corpus(piece: Piece) -> Vec<u8> {
    corpus_of(piece, CORPUS_BYTES)
}

fn corpus_of(piece: Piece, bytes: usize) -> Vec<u8> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut text = String::with_capacity(bytes + 4096);
    while text.len() < bytes {
        piece(&mut dice, &mut text);
    }
    text.into_bytes()
}

/// A small generator that gives the same numbers everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn word(&mut self) -> &'static str {
        let index = usize::try_from(self.roll(WORDS.len() as u64)).unwrap_or(0);
        WORDS.get(index).copied().unwrap_or("and")
    }
}

const WORDS: &[&str] = &[
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "is",
    "that",
    "for",
    "on",
    "with",
    "as",
    "was",
    "this",
    "by",
    "are",
    "from",
    "at",
    "or",
    "an",
    "which",
    "report",
    "system",
    "service",
    "market",
    "during",
    "between",
    "however",
    "several",
    "water",
    "people",
    "around",
    "small",
    "large",
    "number",
    "process",
    "different",
    "another",
    "through",
    "because",
    "region",
    "quarter",
    "increase",
    "delivery",
    "schedule",
    "weather",
    "garden",
    "music",
    "library",
    "mountain",
    "possible",
    "standard",
    "result",
    "measure",
    "without",
    "already",
    "language",
    "village",
    "season",
    "history",
    "growth",
    "pattern",
    "surface",
    "average",
    "network",
    "request",
    "response",
    "message",
    "status",
    "version",
];

fn clean_prose(dice: &mut Dice, text: &mut String) {
    for index in 0..6 + dice.roll(12) {
        let word = dice.word();
        if index == 0 {
            text.push_str(&word[..1].to_uppercase());
            text.push_str(&word[1..]);
        } else {
            text.push(' ');
            text.push_str(word);
        }
    }
    text.push_str(if dice.roll(6) == 0 { ".\n\n" } else { ". " });
}

fn clean_json(dice: &mut Dice, text: &mut String) {
    text.push_str(&format!(
        "{{\"id\": {}, \"title\": \"{} {} {}\", \"created\": \"20{:02}-{:02}-{:02}T{:02}:{:02}:00Z\", \"score\": {}.{}, \
         \"tags\": [\"{}\", \"{}\"], \"body\": \"",
        dice.roll(100_000),
        dice.word(),
        dice.word(),
        dice.word(),
        10 + dice.roll(16),
        1 + dice.roll(12),
        1 + dice.roll(28),
        dice.roll(24),
        dice.roll(60),
        dice.roll(100),
        dice.roll(100),
        dice.word(),
        dice.word(),
    ));
    for _ in 0..3 {
        clean_prose(dice, text);
    }
    text.push_str("\"},\n");
}

fn dense(dice: &mut Dice, text: &mut String) {
    text.push_str(&format!(
        "{{\"guest_name\": \"Mary Smith\", \"email\": \"{}.{}{}@example.com\", \"phone\": \"+1 ({}) {}-{:04}\", ",
        dice.word(),
        dice.word(),
        dice.roll(100),
        201 + dice.roll(700),
        200 + dice.roll(700),
        dice.roll(10_000),
    ));
    text.push_str(&format!(
        "\"ip\": \"{}.{}.{}.{}\", \"card\": \"4111 1111 1111 1111\", \"iban\": \"DE89370400440532013000\", \
         \"ssn\": \"{:03}-{:02}-{:04}\", ",
        11 + dice.roll(100),
        dice.roll(256),
        dice.roll(256),
        1 + dice.roll(250),
        1 + dice.roll(600),
        1 + dice.roll(98),
        1 + dice.roll(9998),
    ));
    text.push_str("\"host\": \"wiki.corp.example\", \"note\": \"");
    for _ in 0..3 {
        clean_prose(dice, text);
    }
    text.push_str("\"},\n");
}
