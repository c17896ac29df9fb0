//! Unbroken runs of base64 or hexadecimal.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use super::{Encoding, readable};

/// The shortest run that is tried: it holds 15 bytes of base64, fewer than any instruction needs.
const MIN_RUN: usize = 20;

/// The longest run that is tried as one piece.
const MAX_RUN: usize = 512 * 1024;

/// How much of a run is tried before the whole is decoded.
const PROBE: usize = 24;

/// The shortest line of base64 that the next line may continue.
const WRAPPED_LINE: usize = 60;

const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, CONFIG);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, CONFIG);

/// Decoded runs in order of their place.
pub(super) fn stretches(bytes: &[u8]) -> impl Iterator<Item = (Range<usize>, Encoding, String)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(run) = next_run(bytes, at) {
            at = run.end;
            let wrapped = over_wrapped_lines(bytes, run.clone());
            let alone = (wrapped != run).then_some(run);
            for span in std::iter::once(wrapped).chain(alone) {
                if let Some((encoding, text)) = bytes.get(span.clone()).and_then(decode_run) {
                    at = span.end;
                    return Some((span, encoding, text));
                }
            }
        }
        None
    })
}

/// The next run of at least [`MIN_RUN`] bytes of the alphabet. Looks at the byte where a run starting here would have
/// its last required byte, and steps back from there, so most bytes of ordinary text are never looked at.
#[expect(
    clippy::indexing_slicing,
    reason = "every index is below bytes.len() by the loop's condition"
)]
fn next_run(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let mut start = from;
    while start + MIN_RUN <= bytes.len() {
        let window = &bytes[start..start + MIN_RUN];
        match window.iter().rposition(|&byte| !is_alphabet(byte)) {
            Some(gap) => start += gap + 1,
            None => {
                let rest = &bytes[start..bytes.len().min(start + MAX_RUN)];
                let length = rest.iter().position(|&b| !is_alphabet(b)).unwrap_or(rest.len());
                return Some(start..start + length);
            }
        }
    }
    None
}

/// Base64 in mail is cut into lines of equal length; the lines are one run.
fn over_wrapped_lines(bytes: &[u8], run: Range<usize>) -> Range<usize> {
    let mut end = run.end;
    let mut line = run.len();
    while line >= WRAPPED_LINE && end - run.start < MAX_RUN {
        let rest = bytes.get(end..).unwrap_or_default();
        let newline = match rest {
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => break,
        };
        let next = rest.get(newline..).unwrap_or_default();
        line = next.iter().take_while(|&&byte| is_alphabet(byte)).count();
        if line == 0 {
            break;
        }
        end += newline + line;
    }
    run.start..end
}

fn decode_run(run: &[u8]) -> Option<(Encoding, String)> {
    let compact: Vec<u8>;
    let run = if run.contains(&b'\n') {
        compact = run.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
        compact.as_slice()
    } else {
        run
    };
    if run.iter().all(u8::is_ascii_hexdigit) {
        return decode_hex(run).map(|text| (Encoding::Hex, text));
    }
    [STANDARD, URL_SAFE]
        .iter()
        .find_map(|engine| decode_base64(engine, run))
        .map(|text| (Encoding::Base64, text))
}

fn decode_base64(engine: &GeneralPurpose, run: &[u8]) -> Option<String> {
    let probe = engine.decode(run.get(..PROBE.min(run.len() / 4 * 4))?).ok()?;
    if probe
        .iter()
        .any(|&byte| byte < 0x20 && !byte.is_ascii_whitespace())
    {
        return None;
    }
    let whole = if run.len() % 4 == 1 {
        run.get(..run.len() - 1)?
    } else {
        run
    };
    readable(engine.decode(whole).ok()?)
}

fn decode_hex(run: &[u8]) -> Option<String> {
    let pairs = run.chunks_exact(2).map(|pair| {
        let digits = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(digits, 16).ok()
    });
    readable(pairs.collect::<Option<Vec<u8>>>()?)
}

const fn is_alphabet(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}
