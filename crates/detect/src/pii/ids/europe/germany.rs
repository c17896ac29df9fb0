//! Ids of Germany.

use crate::pii::context::ContextWords;
use crate::pii::ids::IdRule;
use crate::pii::ids::checks::{at, base36, digit, is_date, is_monotone, mod_11_10, number};
use crate::pii::rule::PiiRule;

pub(super) static RULES: &[IdRule] = &[
    IdRule {
        rule: PiiRule::personal(
            "de-tax-id",
            "a German tax id",
            "repeated digits as issued and the check digit",
        ),
        shape: "99999999999",
        groupings: &[&[2, 3, 3, 3]],
        holds: tax_id_as_issued,
        bare: 60,
        grouped: 85,
        named: 95,
        words: TAX_WORDS,
    },
    IdRule {
        rule: PiiRule::personal(
            "de-tax-id",
            "a German tax id",
            "the check digit and its name nearby",
        ),
        shape: "99999999999",
        groupings: &[&[2, 3, 3, 3]],
        holds: |chars| tax_id(chars) && !tax_id_as_issued(chars),
        bare: 40,
        grouped: 60,
        named: 85,
        words: TAX_WORDS,
    },
    IdRule {
        rule: PiiRule::personal(
            "de-social-security",
            "a German pension insurance number",
            "a birth date and the check digit",
        ),
        shape: "99999999A999",
        groupings: &[&[2, 6, 1, 3], &[2, 6, 4]],
        holds: pension,
        bare: 90,
        grouped: 92,
        named: 95,
        words: ContextWords::new(&[
            "rvnr",
            "sozialversicherung",
            "rentenversicherung",
            "sv-nummer",
            "svnr",
        ]),
    },
    IdRule {
        rule: PiiRule::personal(
            "de-health-insurance",
            "a German health insurance number",
            "the check digit, and its name nearby",
        ),
        shape: "A999999999",
        groupings: &[],
        holds: health,
        bare: 45,
        grouped: 0,
        named: 95,
        words: ContextWords::new(&["kvnr", "krankenversicher", "versichertennummer", "krankenkasse"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "de-id-card",
            "a German identity card or passport number",
            "its letters and check digit, and its name nearby",
        ),
        shape: "A*******9",
        groupings: &[],
        holds: |chars| document(chars) && chars.iter().filter(|byte| byte.is_ascii_digit()).count() >= 5,
        bare: 45,
        grouped: 0,
        named: 95,
        words: DOCUMENT_WORDS,
    },
    IdRule {
        rule: PiiRule::personal(
            "de-id-card",
            "an old German identity card number",
            "its shape, and its name nearby",
        ),
        shape: "A99999999",
        groupings: &[],
        holds: |chars| at(chars, 0) == b'T',
        bare: 30,
        grouped: 0,
        named: 85,
        words: DOCUMENT_WORDS,
    },
    IdRule {
        rule: PiiRule::personal(
            "de-driver-license",
            "a German driving licence",
            "its shape, and its name nearby",
        ),
        shape: "A*99999999*",
        groupings: &[],
        holds: |_| true,
        bare: 35,
        grouped: 0,
        named: 85,
        words: ContextWords::new(&["führerschein", "fuehrerschein", "fahrerlaubnis", "driv"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "de-vat-id",
            "a German VAT number",
            "country prefix and check digit",
        ),
        shape: "AA999999999",
        groupings: &[&[2, 9], &[2, 3, 3, 3]],
        holds: |chars| chars.starts_with(b"DE") && mod_11_10(chars.get(2..).unwrap_or_default()),
        bare: 75,
        grouped: 75,
        named: 95,
        words: ContextWords::new(&["ust", "umsatzsteuer", "vat", "mwst"]),
    },
];

const TAX_WORDS: ContextWords = ContextWords::new(&[
    "steuer",
    "idnr",
    "tin",
    "tax",
    "identifikationsnummer",
    "steuerid",
]);
const DOCUMENT_WORDS: ContextWords = ContextWords::new(&[
    "personalausweis",
    "ausweis",
    "reisepass",
    "pass",
    "id card",
    "identity card",
]);

fn tax_id(chars: &[u8]) -> bool {
    let body = chars.get(..10).unwrap_or_default();
    let most = (b'0'..=b'9')
        .map(|wanted| body.iter().filter(|byte| **byte == wanted).count())
        .max();
    at(chars, 0) != b'0' && most.is_some_and(|most| most <= 3) && mod_11_10(chars)
}

fn tax_id_as_issued(chars: &[u8]) -> bool {
    let body = chars.get(..10).unwrap_or_default();
    let repeated = (b'0'..=b'9')
        .filter(|wanted| body.iter().filter(|byte| *byte == wanted).count() > 1)
        .count();
    repeated == 1 && tax_id(chars)
}

fn pension(chars: &[u8]) -> bool {
    const WEIGHTS: [u32; 12] = [2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1];
    let letter = base36(at(chars, 8)) - 9;
    let spread = chars
        .get(..8)
        .unwrap_or_default()
        .iter()
        .map(|byte| digit(*byte))
        .chain([letter / 10, letter % 10])
        .chain(
            chars
                .get(9..11)
                .unwrap_or_default()
                .iter()
                .map(|byte| digit(*byte)),
        );
    let sum: u32 = spread
        .zip(WEIGHTS)
        .map(|(value, weight)| {
            let product = value * weight;
            product / 10 + product % 10
        })
        .sum();
    let day = number(chars, 2..4);
    // A day past 50 marks a second number for the same birth date.
    is_date(number(chars, 4..6), if day > 50 { day - 50 } else { day }) && sum % 10 == digit(at(chars, 11))
}

fn health(chars: &[u8]) -> bool {
    let letter = base36(at(chars, 0)).saturating_sub(9);
    let values = [letter / 10, letter % 10]
        .into_iter()
        .chain(chars.iter().skip(1).take(8).map(|byte| digit(*byte)));
    let sum: u32 = values
        .zip([1, 2].into_iter().cycle())
        .map(|(value, weight)| {
            let product = value * weight;
            product / 10 + product % 10
        })
        .sum();
    sum % 10 == digit(at(chars, 9))
}

fn document(chars: &[u8]) -> bool {
    let body = chars.get(..8).unwrap_or_default();
    let letters_ok = body
        .iter()
        .all(|byte| byte.is_ascii_digit() || b"CFGHJKLMNPRTVWXYZ".contains(byte));
    let sum: u32 = body
        .iter()
        .zip([7, 3, 1].into_iter().cycle())
        .map(|(byte, weight)| base36(*byte) * weight)
        .sum();
    letters_ok && !is_monotone(chars) && sum % 10 == digit(at(chars, 8))
}
