//! International bank account numbers: the country's length and the check modulo 97.

use super::ids::checks::mod_97;
use super::rule::{PiiRule, Sink};
use super::token::Candidate;

pub(crate) static IBAN: PiiRule = PiiRule::personal(
    "iban",
    "an international bank account number",
    "the length of its country and the check digits modulo 97",
);

/// Country and length, from the public registry.
const LENGTHS: &[(&[u8; 2], usize)] = &[
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AO", 25),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BF", 28),
    (b"BG", 22),
    (b"BH", 22),
    (b"BI", 27),
    (b"BJ", 28),
    (b"BR", 29),
    (b"BY", 28),
    (b"CF", 27),
    (b"CG", 27),
    (b"CH", 21),
    (b"CI", 28),
    (b"CM", 27),
    (b"CR", 22),
    (b"CV", 25),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DJ", 27),
    (b"DK", 18),
    (b"DO", 28),
    (b"DZ", 26),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FK", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GA", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GQ", 27),
    (b"GR", 27),
    (b"GT", 28),
    (b"GW", 25),
    (b"HN", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IR", 26),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KM", 27),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MA", 28),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MG", 27),
    (b"MK", 19),
    (b"ML", 28),
    (b"MN", 20),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"MZ", 25),
    (b"NE", 28),
    (b"NI", 28),
    (b"NL", 18),
    (b"NO", 15),
    (b"OM", 23),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"RU", 33),
    (b"SA", 24),
    (b"SC", 31),
    (b"SD", 18),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"SN", 28),
    (b"SO", 23),
    (b"ST", 25),
    (b"SV", 28),
    (b"TD", 27),
    (b"TG", 28),
    (b"TL", 23),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"VA", 22),
    (b"VG", 24),
    (b"XK", 20),
    (b"YE", 30),
];

/// Decides about one candidate.
pub(crate) fn check(candidate: &Candidate<'_>, sink: &mut Sink<'_>) {
    let [first, second, rest @ ..] = candidate.chars else {
        return;
    };
    if candidate.letters & 0b1111 != 0b0011 || rest.len() < 13 {
        return;
    }
    let Ok(country) = LENGTHS.binary_search_by(|(country, _)| (*country).cmp(&[*first, *second])) else {
        return;
    };
    let length = LENGTHS.get(country).map_or(0, |(_, length)| *length);
    if candidate.chars.len() != length || !is_grouped_like_an_iban(candidate) {
        return;
    }
    let turned = candidate
        .chars
        .iter()
        .skip(4)
        .chain(candidate.chars.iter().take(4))
        .copied();
    if mod_97(turned) == 1 {
        sink.push(&IBAN, candidate.span.clone(), 98);
    }
}

/// Solid, or with equal separators; banks print fours, and some print a country's own parts.
fn is_grouped_like_an_iban(candidate: &Candidate<'_>) -> bool {
    candidate.is_solid() || (candidate.is_uniform() && candidate.first_length() == 4) || {
        candidate.is_uniform() && candidate.first_length() == 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn countries_are_sorted_for_the_search() {
        assert!(LENGTHS.is_sorted_by(|a, b| a.0 < b.0));
    }
}
