//! Unbroken runs of base64 or hexadecimal.

use std::ops::Range;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use fearless_simd::Simd;

use super::{CONTROLS, Encoding, readable};
use crate::lanes::{self, Chunk, Question, WIDTH};

/// The shortest run that is tried: it holds 15 bytes of base64, fewer than any instruction needs.
const MIN_RUN: usize = 20;

/// The longest run that is tried as one piece.
const MAX_RUN: usize = 512 * 1024;

/// How many lines of one block of lines are tried as its first.
const MAX_TRIES: usize = 16;

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
    let mut runs = Runs::of(bytes);
    let mut block = Block::NONE;
    std::iter::from_fn(move || {
        while let Some(run) = runs.next(at) {
            at = run.end;
            let wrapped = block.from(bytes, &run);
            for span in wrapped.into_iter().chain([run]) {
                if let Some((encoding, text)) = bytes.get(span.clone()).and_then(decode_run) {
                    at = span.end;
                    return Some((span, encoding, text));
                }
            }
        }
        None
    })
}

/// How many chunks are looked at in one go.
const CHUNKS: usize = 64;

/// Finds runs by arithmetic on whole chunks.
struct Runs<'a> {
    bytes: &'a [u8],
    /// The chunks that were looked at last, and where the first of them starts.
    chunks: [u64; CHUNKS + 1],
    first: usize,
    count: usize,
}

impl<'a> Runs<'a> {
    const fn of(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            chunks: [0; CHUNKS + 1],
            first: 0,
            count: 0,
        }
    }

    /// The next run of at least [`MIN_RUN`] bytes of the alphabet that starts here or later.
    fn next(&mut self, from: usize) -> Option<Range<usize>> {
        let mut at = from - from % WIDTH;
        while at < self.bytes.len() {
            // What stands before the place does not count.
            let here = self.chunk(at) & (u64::MAX << from.saturating_sub(at));
            let starts = starts_of_runs(here, self.chunk(at + WIDTH));
            if starts != 0 {
                let start = at + starts.trailing_zeros() as usize;
                let rest = self.bytes.get(start..self.bytes.len().min(start + MAX_RUN))?;
                let length = rest.iter().position(|&b| !is_alphabet(b)).unwrap_or(rest.len());
                return Some(start..start + length);
            }
            at += WIDTH;
        }
        None
    }

    /// Which bytes of the chunk at a place are of the alphabet. Places come in order, never two chunks before the last.
    #[inline]
    fn chunk(&mut self, at: usize) -> u64 {
        let mut number = at.wrapping_sub(self.first) / WIDTH;
        if number >= self.count {
            // The chunk before may be asked for again.
            self.first = at.saturating_sub(WIDTH);
            let left = self.bytes.len().saturating_sub(self.first).div_ceil(WIDTH);
            self.count = self.chunks.len().min(left + 1);
            let chunks = self.chunks.get_mut(..self.count).unwrap_or_default();
            lanes::ask(self.bytes, self.first, b' ', &Alphabet, chunks);
            number = (at - self.first) / WIDTH;
        }
        self.chunks.get(number).copied().unwrap_or(0)
    }
}

struct Alphabet;

impl Question for Alphabet {
    type Answer = u64;

    #[inline(always)]
    fn of<S: Simd>(&self, chunk: Chunk<'_, S>) -> u64 {
        let bytes = chunk.lanes();
        let marks = bytes.are(b'+') | bytes.are(b'/') | bytes.are(b'-') | bytes.are(b'_');
        (bytes.letters() | bytes.digits() | marks).bits()
    }
}

/// Where in a chunk [`MIN_RUN`] bytes of the alphabet begin, given which bytes of it and of the next one are.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the bits of the chunk itself")]
const fn starts_of_runs(chunk: u64, next: u64) -> u64 {
    let both = chunk as u128 | (next as u128) << WIDTH;
    let two = both & both >> 1;
    let four = two & two >> 2;
    let eight = four & four >> 4;
    let sixteen = eight & eight >> 8;
    (sixteen & sixteen >> (MIN_RUN - 16)) as u64
}

/// Lines of base64 that follow each other. They are looked through once, however many of them are tried as the first.
struct Block {
    end: usize,
    tries: usize,
    /// Up to here lines were put together that read one by one.
    joined: usize,
}

impl Block {
    const NONE: Self = Self {
        end: 0,
        tries: 0,
        joined: 0,
    };

    /// The lines from a run on, if there are more than one: not where they cannot read as text, and all of them not too often,
    /// since each try reads all of them. After that only lines that read one by one are put together, each of them once.
    fn from(&mut self, bytes: &[u8], run: &Range<usize>) -> Option<Range<usize>> {
        if run.start >= self.end {
            *self = Self {
                end: over_wrapped_lines(bytes, run, |_| true),
                tries: MAX_TRIES,
                joined: 0,
            };
        }
        if self.end <= run.end || !bytes.get(run.clone()).is_some_and(may_read) {
            return None;
        }
        if let Some(left) = self.tries.checked_sub(1) {
            self.tries = left;
            return Some(run.start..self.end);
        }
        let reads = |line: &[u8]| decode_run(line).is_some();
        if run.start < self.joined || !bytes.get(run.clone()).is_some_and(reads) {
            return None;
        }
        self.joined = over_wrapped_lines(bytes, run, reads);
        (self.joined > run.end).then_some(run.start..self.joined)
    }
}

/// Whether the beginning of a run may be text in some encoding.
fn may_read(run: &[u8]) -> bool {
    let engines = [STANDARD, URL_SAFE];
    run.iter().all(u8::is_ascii_hexdigit) || engines.iter().any(|engine| reads_at_first(engine, run))
}

/// Base64 in mail is cut into lines of equal length; the lines are one run. Gives the end of those that go on with it.
fn over_wrapped_lines(bytes: &[u8], run: &Range<usize>, goes_on: impl Fn(&[u8]) -> bool) -> usize {
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
        if line == 0 || !next.get(..line).is_some_and(&goes_on) {
            break;
        }
        end += newline + line;
    }
    end
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
    // Without marks both alphabets read the same.
    let marked = run.iter().any(|byte| !byte.is_ascii_alphanumeric());
    let alphabets = [STANDARD, URL_SAFE];
    alphabets
        .iter()
        .take(if marked { 2 } else { 1 })
        .find_map(|engine| decode_base64(engine, run))
        .map(|text| (Encoding::Base64, text))
}

fn decode_base64(engine: &GeneralPurpose, run: &[u8]) -> Option<String> {
    if !reads_at_first(engine, run) {
        return None;
    }
    let whole = if run.len() % 4 == 1 {
        run.get(..run.len() - 1)?
    } else {
        run
    };
    readable(engine.decode(whole).ok()?)
}

/// Whether the first bytes decode, to none that no text has.
fn reads_at_first(engine: &GeneralPurpose, run: &[u8]) -> bool {
    let probe = run.get(..PROBE.min(run.len() / 4 * 4)).unwrap_or_default();
    let mut decoded = [0; PROBE];
    engine.decode_slice(probe, &mut decoded).is_ok_and(|length| {
        let mut first = decoded.iter().take(length);
        first.all(|&byte| byte >= 0x20 || byte.is_ascii_whitespace())
    })
}

fn decode_hex(run: &[u8]) -> Option<String> {
    let bytes = || {
        run.chunks_exact(2).map(|pair| {
            let digits = pair
                .iter()
                .map(|digit| char::from(*digit).to_digit(16).unwrap_or(0));
            digits.fold(0, |byte, digit| byte << 4 | digit as u8)
        })
    };
    // What has so many controls reads as nothing.
    let controls = bytes().filter(|byte| byte.is_ascii_control() && !char::from(*byte).is_whitespace());
    if controls.count() * CONTROLS > run.len() / 2 {
        return None;
    }
    readable(bytes().collect())
}

const fn is_alphabet(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// However many lines there are, all of them are tried as one text a few times, and each is put together with others once.
    #[test]
    fn lines_are_tried_together_a_few_times() {
        let words = STANDARD.encode("Words that read well, all through their line, by themselves");
        for line in ["QUFB".repeat(19), words.get(..76).unwrap().to_owned()] {
            let text = format!("{line}\n").repeat(500);
            let (mut runs, mut block, mut at, mut read) = (Runs::of(text.as_bytes()), Block::NONE, 0, 0);
            while let Some(run) = runs.next(at) {
                at = run.end;
                read += block.from(text.as_bytes(), &run).map_or(0, |tried| tried.len());
            }
            assert!(read <= (MAX_TRIES + 1) * text.len(), "{read}");
        }
    }

    proptest! {
        #[test]
        fn whole_chunks_find_the_runs_that_single_bytes_show(
            parts in proptest::collection::vec("[a-zA-Z0-9+/_-]{1,50}[ .,\n]{0,3}|[ -~]{0,30}|[a-f]{100,200}", 0..200),
        ) {
            let text = parts.concat();
            let bytes = text.as_bytes();
            let plainly = |from: usize| {
                let starts = from..(bytes.len() + 1).saturating_sub(MIN_RUN);
                let mut long = starts.filter(|start| bytes[*start..start + MIN_RUN].iter().all(|b| is_alphabet(*b)));
                long.next().map(|start| start..start + bytes[start..].iter().take_while(|b| is_alphabet(**b)).count())
            };
            let (mut runs, mut at) = (Runs::of(bytes), 0);
            loop {
                let run = runs.next(at);
                prop_assert_eq!(&run, &plainly(at));
                let Some(run) = run else { break };
                at = run.end;
            }
        }
    }
}
