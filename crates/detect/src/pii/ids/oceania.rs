//! Ids of Australia.

use super::IdRule;
use super::checks::{at, digit, number, weighted};
use crate::pii::context::ContextWords;
use crate::pii::rule::PiiRule;

pub(super) static RULES: &[IdRule] = &[
    IdRule {
        rule: PiiRule::personal(
            "au-abn",
            "an Australian business number",
            "the weighted sum modulo 89, and usual grouping or its name nearby",
        ),
        shape: "99999999999",
        groupings: &[&[2, 3, 3, 3]],
        holds: abn,
        bare: 40,
        grouped: 75,
        named: 95,
        words: ContextWords::new(&["abn", "australian business", "business number"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "au-acn",
            "an Australian company number",
            "its check digit and its name nearby",
        ),
        shape: "999999999",
        groupings: &[&[3, 3, 3]],
        holds: acn,
        bare: 15,
        grouped: 40,
        named: 90,
        words: ContextWords::new(&["acn", "australian company", "company number"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "au-tfn",
            "an Australian tax file number",
            "the weighted sum modulo 11, and usual grouping or its name nearby",
        ),
        shape: "999999999",
        groupings: &[&[3, 3, 3]],
        holds: |chars| {
            number(chars, 0..9) != 0 && weighted(chars, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11)
        },
        bare: 18,
        grouped: 45,
        named: 95,
        words: ContextWords::new(&["tfn", "tax file"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "au-medicare",
            "an Australian Medicare card number",
            "first digit 2 to 6, check digit, and usual grouping or its name nearby",
        ),
        shape: "9999999999",
        groupings: &[&[4, 5, 1]],
        holds: medicare,
        bare: 25,
        grouped: 80,
        named: 95,
        words: ContextWords::new(&["medicare"]),
    },
];

fn abn(chars: &[u8]) -> bool {
    let first = digit(at(chars, 0));
    let sum = weighted(chars, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
    first != 0 && sum >= 10 && (sum - 10).is_multiple_of(89)
}

fn acn(chars: &[u8]) -> bool {
    let sum = weighted(chars.get(..8).unwrap_or_default(), &[8, 7, 6, 5, 4, 3, 2, 1]);
    number(chars, 0..9) != 0 && (10 - sum % 10) % 10 == digit(at(chars, 8))
}

fn medicare(chars: &[u8]) -> bool {
    let sum = weighted(chars.get(..8).unwrap_or_default(), &[1, 3, 7, 9, 1, 3, 7, 9]);
    matches!(at(chars, 0), b'2'..=b'6') && sum % 10 == digit(at(chars, 8))
}
