//! Checksums that several ids share. Each takes upper-cased letters and digits.

/// The value of a digit; letters count as 0, which the shapes exclude.
pub(crate) fn digit(byte: u8) -> u32 {
    if byte.is_ascii_digit() {
        u32::from(byte - b'0')
    } else {
        0
    }
}

/// The value of a character where `A` is 10 and `Z` is 35.
pub(crate) fn base36(byte: u8) -> u32 {
    match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'Z' => u32::from(byte - b'A') + 10,
        _ => 0,
    }
}

/// A part of the characters as a number; 0 when out of range.
pub(crate) fn number(chars: &[u8], range: std::ops::Range<usize>) -> u32 {
    chars
        .get(range)
        .unwrap_or_default()
        .iter()
        .fold(0, |value, byte| value * 10 + digit(*byte))
}

/// One character; 0 when out of range.
pub(crate) fn at(chars: &[u8], index: usize) -> u8 {
    chars.get(index).copied().unwrap_or(0)
}

/// The Luhn checksum over all digits.
pub(crate) fn luhn(chars: &[u8]) -> bool {
    let sum: u32 = chars
        .iter()
        .rev()
        .zip([1, 2].into_iter().cycle())
        .map(|(byte, weight)| {
            let product = digit(*byte) * weight;
            product / 10 + product % 10
        })
        .sum();
    sum.is_multiple_of(10)
}

/// The sum of digits by weight.
pub(crate) fn weighted(chars: &[u8], weights: &[u32]) -> u32 {
    chars
        .iter()
        .zip(weights)
        .map(|(byte, weight)| digit(*byte) * weight)
        .sum()
}

/// ISO 7064 MOD 11,10 over all digits.
pub(crate) fn mod_11_10(chars: &[u8]) -> bool {
    let Some((check, body)) = chars.split_last() else {
        return false;
    };
    let mut product = 10;
    for byte in body {
        let sum = match (digit(*byte) + product) % 10 {
            0 => 10,
            sum => sum,
        };
        product = (sum * 2) % 11;
    }
    (11 - product) % 10 == digit(*check)
}

/// ISO 7064 MOD 97,10 of a number that may hold letters, for IBANs; the caller turns the characters round.
pub(crate) fn mod_97(chars: impl Iterator<Item = u8>) -> u32 {
    chars.fold(0, |rest, byte| {
        let value = base36(byte);
        if value < 10 {
            (rest * 10 + value) % 97
        } else {
            (rest * 100 + value) % 97
        }
    })
}

/// The Verhoeff checksum over all digits.
pub(crate) fn verhoeff(chars: &[u8]) -> bool {
    const PERMUTED: [[u8; 10]; 8] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 5, 7, 6, 2, 8, 3, 0, 9, 4],
        [5, 8, 0, 3, 7, 9, 6, 1, 4, 2],
        [8, 9, 1, 6, 0, 4, 3, 5, 2, 7],
        [9, 4, 5, 3, 1, 2, 6, 8, 7, 0],
        [4, 2, 8, 6, 5, 7, 3, 9, 0, 1],
        [2, 7, 9, 3, 8, 0, 6, 4, 1, 5],
        [7, 0, 4, 6, 9, 1, 3, 2, 5, 8],
    ];
    let mut state = 0;
    for (byte, row) in chars.iter().rev().zip(PERMUTED.iter().cycle()) {
        let value = row.get(digit(*byte) as usize).copied().unwrap_or(0);
        state = dihedral(state, value);
    }
    state == 0
}

/// Multiplication in the group of a pentagon's symmetries, 0 to 4 the turns and 5 to 9 the flips.
fn dihedral(a: u8, b: u8) -> u8 {
    match (a < 5, b < 5) {
        (true, true) => (a + b) % 5,
        (true, false) => (a + (b - 5)) % 5 + 5,
        (false, true) => (a - 5 + 5 - b) % 5 + 5,
        (false, false) => (a + 5 - b) % 5,
    }
}

/// Whether a day and a month can be.
pub(crate) fn is_date(month: u32, day: u32) -> bool {
    let days = match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Whether all characters are the same.
pub(crate) fn is_monotone(chars: &[u8]) -> bool {
    chars
        .first()
        .is_some_and(|first| chars.iter().all(|byte| byte == first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_tell_right_from_wrong() {
        type Check = fn(&[u8]) -> bool;
        let cases: &[(Check, &str, &str)] = &[
            (luhn, "79927398713", "79927398710"),
            (mod_11_10, "136695976", "136695975"),
            (verhoeff, "2363", "2364"),
        ];
        for (check, right, wrong) in cases {
            assert!(check(right.as_bytes()), "{right}");
            assert!(!check(wrong.as_bytes()), "{wrong}");
        }
        assert_eq!(mod_97(b"WEST12345698765432GB82".iter().copied()), 1);
    }

    #[test]
    fn the_pentagon_is_a_group() {
        for a in 0..10 {
            assert_eq!((dihedral(a, 0), dihedral(0, a)), (a, a));
            assert_eq!((0..10).filter(|b| dihedral(a, *b) == 0).count(), 1);
            for b in 0..10 {
                for c in 0..10 {
                    assert_eq!(dihedral(dihedral(a, b), c), dihedral(a, dihedral(b, c)));
                }
            }
        }
    }
}
