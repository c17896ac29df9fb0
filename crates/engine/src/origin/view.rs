//! The plain readings of a text: as it stands, and what stands encoded in it.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use tidegate_detect::decode::{Limits, decode};
use tidegate_detect::normalize::normalize;

/// How many encodings inside each other are undone.
const DEPTH: usize = 3;

/// The most bytes that decoding may give.
const MOST_DECODED: usize = 256 * 1024;

/// The shortest and the longest run that is tried as one encoded value.
const RUN: std::ops::RangeInclusive<usize> = 8..=4_096;

/// Fewer decoded bytes than this must be ASCII.
const SHORT: usize = 24;

const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const BASE64: [GeneralPurpose; 2] = [
    GeneralPurpose::new(&alphabet::STANDARD, CONFIG),
    GeneralPurpose::new(&alphabet::URL_SAFE, CONFIG),
];

/// The readings of a text: the first is of the text itself, the others of what stands encoded in it.
#[derive(Debug)]
pub(super) struct Views {
    pub(super) plain: String,
    pub(super) decoded: Vec<String>,
}

impl Views {
    pub(super) fn of(text: &str) -> Self {
        let normalized = normalize(text.as_bytes());
        let mut budget = MOST_DECODED;
        let mut decoded = Vec::new();
        unfold(text, DEPTH, &mut budget, &mut decoded);
        if !normalized.is_borrowed() {
            unfold(normalized.text(), DEPTH, &mut budget, &mut decoded);
        }
        Self {
            plain: plain(normalized.text()),
            decoded: decoded
                .iter()
                .map(|text| plain(normalize(text.as_bytes()).text()))
                .collect(),
        }
    }
}

fn unfold(text: &str, depth: usize, budget: &mut usize, found: &mut Vec<String>) {
    if depth == 0 {
        return;
    }
    let limits = Limits {
        depth: 1,
        bytes: *budget,
    };
    let stretches = decode(text.as_bytes(), limits)
        .into_iter()
        .map(|found| found.text);
    for inner in stretches.chain(runs(text).filter_map(decoded_run)) {
        if inner.len() > *budget {
            return;
        }
        *budget -= inner.len();
        unfold(&inner, depth - 1, budget, found);
        found.push(inner);
    }
}

/// Runs that may be one encoded value each. Long ones that hold sentences are found by the detector's own decoding.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_')))
        .filter(|run| RUN.contains(&run.len()))
}

fn decoded_run(run: &str) -> Option<String> {
    if run.len().is_multiple_of(2) && run.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let pairs = run.as_bytes().chunks_exact(2).map(|pair| {
            let digits = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(digits, 16).ok()
        });
        if let Some(text) = pairs.collect::<Option<Vec<u8>>>().and_then(value) {
            return Some(text);
        }
    }
    let whole = if run.len() % 4 == 1 {
        run.get(..run.len() - 1)?
    } else {
        run
    };
    BASE64.iter().find_map(|engine| value(engine.decode(whole).ok()?))
}

/// Text that may be a value: it prints, and is mostly letters and digits. A short one is plain ASCII, since ordinary
/// words decode to all sorts of letters.
fn value(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    if text.len() < SHORT && !text.is_ascii() {
        return None;
    }
    let (mut telling, mut all) = (0_usize, 0_usize);
    for character in text.chars() {
        if character.is_control() && !character.is_whitespace() {
            return None;
        }
        all += 1;
        telling += usize::from(character.is_alphanumeric());
    }
    (telling * 2 >= all).then_some(text)
}

/// Lower case, with addresses that were spelled for people written as addresses.
fn plain(text: &str) -> String {
    let mut text = text.to_lowercase();
    for (spelled, sign) in [("at", "@"), ("dot", ".")] {
        for (open, close) in [('[', ']'), ('(', ')'), ('{', '}')] {
            let marked = format!("{open}{spelled}{close}");
            if text.contains(&marked) {
                text = text.replace(&format!(" {marked} "), sign).replace(&marked, sign);
            }
        }
    }
    while text.contains(" @") || text.contains("@ ") {
        text = text.replace(" @", "@").replace("@ ", "@");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_in_whatever_it_is_wrapped() {
        let wrapped = [
            "JAY@Google.COM",
            "jay%40google.com",
            "jay&#64;google.com",
            "jay\\u0040google.com",
            "jay=40google.com",
            "ｊａｙ@ｇｏｏｇｌｅ.ｃｏｍ",
            "jay [at] google [dot] com",
            "jay @ google.com",
            "j\u{200b}ay@google.com",
            "amF5QGdvb2dsZS5jb20=",
            "6a617940676f6f676c652e636f6d",
            "YW1GNVFHZHZiMmRzWlM1amIyMD0=",
        ];
        for text in wrapped {
            let views = Views::of(&format!("write to {text} now"));
            let all = std::iter::once(&views.plain).chain(&views.decoded);
            assert!(
                all.into_iter().any(|view| view.contains("jay@google.com")),
                "{text}: {views:?}"
            );
        }
    }
}
