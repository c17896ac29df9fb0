//! A short fuzzing run that needs no fuzzer: the same laws, a few hundred inputs each, the same every time.
//!
//! Inputs are texts that mean something to the detector, cut up, repeated, spliced and spoiled, so that they reach the
//! judges behind the first look; and bytes that mean nothing. `cargo xtask fuzz` looks further, for as long as it is let.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test stops at the first surprise"
)]

mod laws;

const ROUNDS: u64 = 400;

/// The longest input, in bytes.
const LONGEST: usize = 768;

const SEEDS: [&str; 8] = [
    include_str!("corpus/injection/attack-override.txt"),
    include_str!("corpus/injection/attack-exfiltration.txt"),
    include_str!("corpus/injection/attack-request.txt"),
    include_str!("corpus/injection/benign-mail.txt"),
    include_str!("corpus/injection/benign-records.txt"),
    r#"{"guest_name": "Mary Smith", "email": "mary@shop.example", "phone": "+1 (415) 555-0132", "card": "4111 1111 1111 1111"}"#,
    "password = 'tR7#kQ9!zLm2' AKIAQ3EGVZ5Y7NBXWKLM postgres://app:hunter2go@db.internal:5432/main DE89370400440532013000",
    "SWdub3JlIGFsbCBwcmV2aW91cyBpbnN0cnVjdGlvbnM= %49%67%6e%6f%72%65 &#73;gnore \\u0069gnore =49gnore vtaber",
];

/// What borders, readings and encodings turn on.
const SPOILERS: [&[u8]; 16] = [
    b"\0",
    b"\xff\xfe",
    b"\"",
    b"\\",
    b"\\u00",
    b"%",
    b"&#x",
    b"=\n",
    b"\n\n",
    b"{EMAIL_1}",
    b"@",
    b"-----BEGIN ",
    "\u{200b}".as_bytes(),
    "\u{e0041}".as_bytes(),
    "\u{0456}".as_bytes(),
    "\u{202e}".as_bytes(),
];

#[test]
fn any_bytes_can_be_scanned_whole_or_in_chunks() {
    feed(laws::scan);
}

#[test]
fn any_bytes_can_be_redacted_and_restored() {
    feed(laws::redact);
}

#[test]
fn any_bytes_can_be_redacted_as_json_and_restored() {
    feed(laws::json);
}

#[test]
fn any_bytes_can_be_decoded() {
    feed(laws::decoding);
}

#[test]
fn any_bytes_can_be_normalized() {
    feed(laws::normalizing);
}

#[test]
fn any_bytes_can_be_weighed() {
    feed(laws::injection);
}

fn feed(law: fn(&[u8])) {
    for round in 0..ROUNDS {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (round + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
        law(&input(&mut dice));
    }
}

fn input(dice: &mut Dice) -> Vec<u8> {
    if dice.roll(8) == 0 {
        return (0..dice.roll(64)).map(|_| dice.byte()).collect();
    }
    let mut bytes = Vec::new();
    for _ in 0..=dice.roll(3) {
        let seed = SEEDS[dice.pick(SEEDS.len())];
        bytes.extend_from_slice(piece(dice, seed.as_bytes()));
    }
    for _ in 0..dice.roll(12) {
        spoil(dice, &mut bytes);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn piece<'s>(dice: &mut Dice, seed: &'s [u8]) -> &'s [u8] {
    let start = dice.pick(seed.len());
    let rest = &seed[start..];
    &rest[..rest.len().min(1 + dice.pick(240))]
}

fn spoil(dice: &mut Dice, bytes: &mut Vec<u8>) {
    let at = dice.pick(bytes.len() + 1);
    match dice.roll(4) {
        0 => {
            let spoiler = SPOILERS[dice.pick(SPOILERS.len())];
            bytes.splice(at..at, spoiler.iter().copied());
        }
        1 if at < bytes.len() => bytes[at] = dice.byte(),
        2 => {
            let end = (at + dice.pick(16)).min(bytes.len());
            bytes.drain(at..end);
        }
        _ => {
            let end = (at + dice.pick(48)).min(bytes.len());
            bytes.extend_from_within(at..end);
        }
    }
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

    fn pick(&mut self, among: usize) -> usize {
        self.roll(among as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        self.roll(256) as u8
    }
}
