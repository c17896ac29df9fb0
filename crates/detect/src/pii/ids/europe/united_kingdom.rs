//! Ids of the United Kingdom.

use crate::pii::context::ContextWords;
use crate::pii::ids::IdRule;
use crate::pii::ids::checks::{at, digit, is_monotone, number, weighted};
use crate::pii::rule::PiiRule;

pub(super) static RULES: &[IdRule] = &[
    IdRule {
        rule: PiiRule::personal(
            "uk-nhs",
            "a British health service number",
            "the check digit modulo 11, and its name nearby",
        ),
        shape: "9999999999",
        groupings: &[&[3, 3, 4]],
        holds: nhs,
        bare: 25,
        grouped: 45,
        named: 95,
        words: ContextWords::new(&["nhs", "national health", "health service", "patient"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "uk-nino",
            "a British national insurance number",
            "an issued prefix and suffix",
        ),
        shape: "AA999999A",
        groupings: &[&[2, 2, 2, 2, 1], &[2, 6, 1], &[2, 7], &[8, 1]],
        holds: nino,
        bare: 75,
        grouped: 85,
        named: 95,
        words: ContextWords::new(&["nino", "national insurance", "ni number", "insurance number"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "uk-driving-licence",
            "a British driving licence number",
            "the birth date inside",
        ),
        shape: "*****999999**9AA",
        groupings: &[],
        holds: licence,
        bare: 80,
        grouped: 0,
        named: 95,
        words: ContextWords::new(&["driv", "licen"]),
    },
    postcode("A99AA", &[&[2, 3]]),
    postcode("A999AA", &[&[3, 3]]),
    postcode("A9A9AA", &[&[3, 3]]),
    postcode("AA99AA", &[&[3, 3]]),
    postcode("AA999AA", &[&[4, 3]]),
    postcode("AA9A9AA", &[&[4, 3]]),
    postcode("AAA9AA", &[&[3, 3]]),
    plate("AA99AAA", &[&[4, 3]], current_plate),
    plate("A999AAA", &[&[4, 3]], prefix_plate),
    plate("A99AAA", &[&[3, 3]], prefix_plate),
    plate("A9AAA", &[&[2, 3]], prefix_plate),
    plate("AAA999A", &[&[3, 4]], suffix_plate),
    plate("AAA99A", &[&[3, 3]], suffix_plate),
    plate("AAA9A", &[&[3, 2]], suffix_plate),
];

const fn postcode(shape: &'static str, groupings: &'static [&'static [usize]]) -> IdRule {
    IdRule {
        rule: PiiRule::personal(
            "uk-postcode",
            "a British postcode",
            "letters that are in use, and address words nearby",
        ),
        shape,
        groupings,
        holds: is_postcode,
        bare: 15,
        grouped: 45,
        named: 75,
        words: ContextWords::new(&["postcode", "post code", "postal", "address", "zip"]),
    }
}

const fn plate(
    shape: &'static str,
    groupings: &'static [&'static [usize]],
    holds: fn(&[u8]) -> bool,
) -> IdRule {
    IdRule {
        rule: PiiRule::personal(
            "uk-vehicle-registration",
            "a British vehicle plate",
            "letters and age that are in use, and its name nearby",
        ),
        shape,
        groupings,
        holds,
        bare: 15,
        grouped: 35,
        named: 75,
        words: ContextWords::new(&[
            "vehicle",
            "registration",
            "reg ",
            "plate",
            "car ",
            "vrn",
            "number plate",
        ]),
    }
}

fn nhs(chars: &[u8]) -> bool {
    let sum = weighted(chars.get(..9).unwrap_or_default(), &[10, 9, 8, 7, 6, 5, 4, 3, 2]);
    !is_monotone(chars) && (11 - sum % 11) % 11 == digit(at(chars, 9))
}

fn nino(chars: &[u8]) -> bool {
    let (first, second) = (at(chars, 0), at(chars, 1));
    let unused = [*b"BG", *b"GB", *b"KN", *b"NK", *b"NT", *b"TN", *b"ZZ"];
    !b"DFIQUV".contains(&first)
        && !b"DFIOQUV".contains(&second)
        && !unused.contains(&[first, second])
        && matches!(at(chars, 8), b'A'..=b'D')
}

fn licence(chars: &[u8]) -> bool {
    let head = chars.get(..5).unwrap_or_default();
    let surname_ok = head
        .iter()
        .all(|byte| byte.is_ascii_alphabetic() || *byte == b'9')
        && at(chars, 0).is_ascii_alphabetic();
    let month = number(chars, 6..8) % 50;
    let initials_ok = chars
        .get(11..13)
        .unwrap_or_default()
        .iter()
        .all(|byte| byte.is_ascii_alphabetic() || *byte == b'9');
    surname_ok && initials_ok && (1..=12).contains(&month) && (1..=31).contains(&number(chars, 8..10))
}

fn is_postcode(chars: &[u8]) -> bool {
    let Some(inward_at) = chars.len().checked_sub(3) else {
        return false;
    };
    let (outward, inward) = chars.split_at(inward_at);
    let inward_ok = inward.iter().skip(1).all(|byte| !b"CIKMOV".contains(byte));
    let area_ok = match outward {
        [b'G', b'I', b'R'] => return inward == b"0AA",
        [_, second, _] if second.is_ascii_alphabetic() && !at(outward, 2).is_ascii_digit() => false,
        [first, second, ..] => !b"QVX".contains(first) && !b"IJZ".contains(second),
        _ => false,
    };
    inward_ok && area_ok
}

fn current_plate(chars: &[u8]) -> bool {
    let area_ok = chars
        .get(..2)
        .unwrap_or_default()
        .iter()
        .all(|byte| !b"IQZ".contains(byte));
    let end_ok = chars
        .get(4..)
        .unwrap_or_default()
        .iter()
        .all(|byte| !b"IQ".contains(byte));
    area_ok && end_ok && matches!(number(chars, 2..4), 2..=29 | 51..=79)
}

fn prefix_plate(chars: &[u8]) -> bool {
    !b"IOQUZ".contains(&at(chars, 0))
        && chars.iter().skip(1).all(|byte| !b"IQ".contains(byte))
        && at(chars, 1) != b'0'
}

fn suffix_plate(chars: &[u8]) -> bool {
    chars.last().is_some_and(|last| !b"IOQUZ".contains(last))
        && chars.iter().take(3).all(|byte| !b"IQZ".contains(byte))
        && at(chars, 3) != b'0'
}
