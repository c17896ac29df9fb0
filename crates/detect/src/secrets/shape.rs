//! What a string of bytes looks like, judged from the bytes alone: how random, how repetitive, how much like words.

/// Shannon entropy in bits per byte. A random hex string is near 3.7, a random base64 string near 4.8.
pub(super) fn entropy(value: &[u8]) -> f32 {
    let mut counts = [0_u16; 256];
    for &byte in value {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count = count.saturating_add(1);
        }
    }
    let total = value.len().min(usize::from(u16::MAX)) as f32;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = f32::from(count) / total;
            -share * share.log2()
        })
        .sum()
}

/// How many different bytes occur.
pub(super) fn distinct(value: &[u8]) -> usize {
    let mut seen = [false; 256];
    for &byte in value {
        if let Some(slot) = seen.get_mut(usize::from(byte)) {
            *slot = true;
        }
    }
    seen.iter().filter(|&&slot| slot).count()
}

/// The longest run of one byte, and the longest run in which each byte is the successor of the one before.
pub(super) fn longest_runs(value: &[u8]) -> (usize, usize) {
    let (mut same, mut rising) = (1, 1);
    let (mut longest_same, mut longest_rising) = (value.len().min(1), value.len().min(1));
    for pair in value.windows(2) {
        let [before, after] = pair else { continue };
        same = if before == after { same + 1 } else { 1 };
        rising = if before.checked_add(1) == Some(*after) {
            rising + 1
        } else {
            1
        };
        longest_same = longest_same.max(same);
        longest_rising = longest_rising.max(rising);
    }
    (longest_same, longest_rising)
}

/// Which kinds of characters a value holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Alphabet {
    pub lower: usize,
    pub upper: usize,
    pub digits: usize,
    pub other: usize,
}

impl Alphabet {
    pub(super) fn of(value: &[u8]) -> Self {
        let mut found = Self::default();
        for byte in value {
            match byte {
                b'a'..=b'z' => found.lower += 1,
                b'A'..=b'Z' => found.upper += 1,
                b'0'..=b'9' => found.digits += 1,
                _ => found.other += 1,
            }
        }
        found
    }

    pub(super) fn letters(self) -> usize {
        self.lower + self.upper
    }
}

/// Whether every byte is a hex digit.
pub(super) fn is_hex(value: &[u8]) -> bool {
    value.iter().all(u8::is_ascii_hexdigit)
}

/// Whether the value has the 8-4-4-4-12 form of a UUID.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    let mut groups = value.split(|&byte| byte == b'-');
    let lengths = [8, 4, 4, 4, 12];
    value.len() == 36
        && lengths.iter().all(|&length| {
            groups
                .next()
                .is_some_and(|group| group.len() == length && is_hex(group))
        })
        && groups.next().is_none()
}

/// Whether a value reads like words, identifiers, versions or a path rather than like something drawn at random.
///
/// The value is cut at punctuation and at changes of case. Words are letters in one case (or capitalised) with
/// vowels in them; a single digit or letter between them counts for nothing, anything else as noise. A value is
/// word-like when words far outweigh noise. Runs of hex letters (`deadbeef`) and of
/// the alphabet are no words.
pub(super) fn is_word_like(value: &[u8]) -> bool {
    let (mut words, mut noise) = (0, 0);
    for piece in Pieces(value) {
        let is_hex_run = piece.len() >= 6 && is_hex(piece);
        let is_alphabet = longest_runs(piece).1 >= 5;
        if piece.len() >= 3 && reads_aloud(piece) && !is_hex_run && !is_alphabet {
            words += piece.len();
        } else if piece.first().is_some_and(u8::is_ascii_digit) {
            noise += piece.len() / 2;
        } else if piece.len() > 1 {
            noise += piece.len();
        }
    }
    words >= 4 && words > noise * 2 && digit_switches(value) < 3
}

/// How often a letter and a digit stand side by side: in names seldom, in random strings all the time.
fn digit_switches(value: &[u8]) -> usize {
    value
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric() && a.is_ascii_digit() != b.is_ascii_digit()))
        .count()
}

/// Cuts a value at punctuation, between letters and digits, and before a capital that follows a small letter.
struct Pieces<'a>(&'a [u8]);

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(u8::is_ascii_alphanumeric)?;
        let rest = self.0.get(start..)?;
        let cut = rest
            .windows(2)
            .position(|pair| matches!(pair, [before, after] if parts(*before, *after)))
            .map_or(rest.len(), |at| at + 1);
        let (piece, rest) = rest.split_at_checked(cut)?;
        self.0 = rest;
        Some(piece)
    }
}

fn parts(before: u8, after: u8) -> bool {
    !after.is_ascii_alphanumeric()
        || before.is_ascii_digit() != after.is_ascii_digit()
        || (before.is_ascii_lowercase() && after.is_ascii_uppercase())
}

/// Whether letters alternate between vowels and consonants about as often as in words of Latin script.
fn reads_aloud(piece: &[u8]) -> bool {
    let (mut vowels, mut consonants_in_row, mut worst) = (0, 0, 0);
    for byte in piece {
        if matches!(byte.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y') {
            vowels += 1;
            consonants_in_row = 0;
        } else {
            consonants_in_row += 1;
            worst = worst.max(consonants_in_row);
        }
    }
    vowels * 5 >= piece.len() && worst <= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_grows_with_variety() {
        assert!(entropy(b"") == 0.0);
        assert!(entropy(b"aaaaaaaa") == 0.0);
        assert!((entropy(b"abab") - 1.0).abs() < 1e-6);
        assert!((entropy(b"0123456789abcdef") - 4.0).abs() < 1e-6);
    }

    #[test]
    fn runs_are_measured() {
        assert_eq!(longest_runs(b""), (0, 0));
        assert_eq!(longest_runs(b"aab"), (2, 2));
        assert_eq!(longest_runs(b"x1234y"), (1, 4));
        assert_eq!(longest_runs(&[255, 0]), (1, 1));
    }

    #[test]
    fn uuids_have_five_groups() {
        assert!(is_uuid(b"123e4567-e89b-12d3-a456-426614174000"));
        assert!(!is_uuid(b"123e4567-e89b-12d3-a456-42661417400g"));
        assert!(!is_uuid(b"123e4567e89b12d3a456426614174000"));
    }

    #[test]
    fn words_are_told_from_noise() {
        for words in [
            "open_sesame",
            "NEXUS-GPT4-API-KEY",
            "SalesResults-1.2",
            "requiredCharacteristicTypes",
            "DOC_Vector_5_32",
            "Key128Bit",
            "org.example.service",
        ] {
            assert!(is_word_like(words.as_bytes()), "{words}");
        }
        for noise in [
            "yqDVtkqPECriaLRi",
            "8bogFuUs4ayLTsq3EJQ2ov",
            "6da89121079f83b2",
            "x7Kq2",
            "deadbeef:cafebabe",
            "abcd1234efgh5678",
        ] {
            assert!(!is_word_like(noise.as_bytes()), "{noise}");
        }
    }
}
