//! Ids of Europe.

mod east;
mod germany;
mod north_and_west;
mod united_kingdom;

use super::IdRule;
use super::checks::{at, base36, digit, is_date, is_monotone, luhn, number, weighted};
use crate::pii::context::ContextWords;
use crate::pii::rule::PiiRule;

pub(super) static RULES: [&[IdRule]; 5] = [
    OTHERS,
    germany::RULES,
    united_kingdom::RULES,
    north_and_west::RULES,
    east::RULES,
];

const NIF_WORDS: ContextWords = ContextWords::new(&["nif", "dni", "documento", "identificaci"]);

const fn nif(shape: &'static str, groupings: &'static [&'static [usize]]) -> IdRule {
    IdRule {
        rule: PiiRule::personal("es-nif", "a Spanish tax and identity number", "its check letter"),
        shape,
        groupings,
        holds: spanish,
        bare: 65,
        grouped: 75,
        named: 95,
        words: NIF_WORDS,
    }
}

const fn swedish_person(shape: &'static str, groupings: &'static [&'static [usize]]) -> IdRule {
    IdRule {
        rule: PiiRule::personal(
            "se-personnummer",
            "a Swedish personal number",
            "a birth date and Luhn, and usual grouping or its name nearby",
        ),
        shape,
        groupings,
        holds: swedish,
        bare: 45,
        grouped: 80,
        named: 95,
        words: ContextWords::new(&[
            "personnummer",
            "pnr",
            "samordning",
            "swedish",
            "personal identity",
            "personal id",
        ]),
    }
}

static OTHERS: &[IdRule] = &[
    nif("99999999A", &[&[8, 1]]),
    nif("9999999A", &[&[7, 1]]),
    IdRule {
        rule: PiiRule::personal("es-nie", "a Spanish number of a foreigner", "its check letter"),
        shape: "A9999999A",
        groupings: &[&[1, 7, 1], &[8, 1]],
        holds: nie,
        bare: 80,
        grouped: 85,
        named: 95,
        words: ContextWords::new(&["nie", "extranjer", "identificaci"]),
    },
    IdRule {
        rule: PiiRule::personal("it-fiscal-code", "an Italian fiscal code", "its check letter"),
        shape: "AAAAAA**A**A***A",
        groupings: &[&[3, 3, 5, 5]],
        holds: italian,
        bare: 95,
        grouped: 95,
        named: 97,
        words: ContextWords::new(&["codice fiscale", "fiscal", "cf"]),
    },
    IdRule {
        rule: PiiRule::personal("it-vat-code", "an Italian VAT number", "Luhn and its name nearby"),
        shape: "99999999999",
        groupings: &[],
        holds: |chars| luhn(chars) && number(chars, 0..7) != 0,
        bare: 25,
        grouped: 0,
        named: 85,
        words: ContextWords::new(&["partita iva", "p.iva", "piva", "vat", "iva"]),
    },
    IdRule {
        rule: PiiRule::personal("it-vat-code", "an Italian VAT number", "country prefix and Luhn"),
        shape: "AA99999999999",
        groupings: &[&[2, 11]],
        holds: |chars| chars.starts_with(b"IT") && luhn(chars.get(2..).unwrap_or_default()),
        bare: 75,
        grouped: 75,
        named: 90,
        words: ContextWords::new(&["partita iva", "p.iva", "piva", "vat", "iva"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "it-driver-license",
            "an Italian driving licence",
            "its shape, and its name nearby",
        ),
        shape: "A*9999999A",
        groupings: &[],
        holds: |chars| at(chars, 0) == b'U' || at(chars, 1).is_ascii_alphabetic(),
        bare: 40,
        grouped: 0,
        named: 85,
        words: ContextWords::new(&["patente", "guida", "licen", "driv"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "it-driver-license",
            "an Italian driving licence issued centrally",
            "the U1 prefix and the letters that are used",
        ),
        shape: "A9*******A",
        groupings: &[],
        holds: |chars| {
            chars.starts_with(b"U1") && chars.iter().skip(2).take(7).all(|byte| !b"AEIOQ".contains(byte))
        },
        bare: 50,
        grouped: 0,
        named: 90,
        words: ContextWords::new(&["patente", "guida", "licen", "driv"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "it-passport",
            "an Italian passport number",
            "its shape, and its name nearby",
        ),
        shape: "AA9999999",
        groupings: &[],
        holds: |_| true,
        bare: 25,
        grouped: 0,
        named: 78,
        words: ContextWords::new(&["passaporto", "passport"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "it-identity-card",
            "an Italian electronic identity card",
            "its shape, and its name nearby",
        ),
        shape: "AA99999AA",
        groupings: &[],
        holds: |_| true,
        bare: 45,
        grouped: 0,
        named: 85,
        words: ContextWords::new(&["carta", "identit", "documento", "elettronica", "identity card"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "pl-pesel",
            "a Polish personal number",
            "a birth date and its check digit",
        ),
        shape: "99999999999",
        groupings: &[],
        holds: pesel,
        bare: 45,
        grouped: 0,
        named: 95,
        words: ContextWords::new(&["pesel"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "fi-personal-id",
            "a Finnish personal code",
            "a birth date and its check character",
        ),
        shape: "999999999*",
        groupings: &[&[6, 4]],
        holds: |chars| finnish(chars, 6),
        bare: 0,
        grouped: 90,
        named: 95,
        words: ContextWords::new(&["hetu", "henkilö", "personal identity"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "fi-personal-id",
            "a Finnish personal code",
            "a birth date and its check character",
        ),
        shape: "999999A999*",
        groupings: &[],
        holds: |chars| b"ABCDEFYXWVU".contains(&at(chars, 6)) && finnish(chars, 7),
        bare: 90,
        grouped: 0,
        named: 95,
        words: ContextWords::new(&["hetu", "henkilö", "personal identity"]),
    },
    swedish_person("9999999999", &[&[6, 4]]),
    swedish_person("999999999999", &[&[8, 4]]),
    IdRule {
        rule: PiiRule::personal(
            "se-organisationsnummer",
            "a Swedish organisation number",
            "its third digit and Luhn, and usual grouping or its name nearby",
        ),
        shape: "9999999999",
        groupings: &[&[6, 4]],
        holds: |chars| number(chars, 2..4) >= 20 && at(chars, 0) != b'0' && luhn(chars),
        bare: 20,
        grouped: 55,
        named: 90,
        words: ContextWords::new(&["organisation", "orgn", "org.", "company", "företag"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "fr-nir",
            "a French social security number",
            "sex, month and the key modulo 97",
        ),
        shape: "999999999999999",
        groupings: &[&[1, 2, 2, 2, 3, 3, 2], &[13, 2]],
        holds: french,
        bare: 60,
        grouped: 92,
        named: 95,
        words: ContextWords::new(&[
            "insee",
            "nir",
            "sécurité sociale",
            "securite sociale",
            "numéro de sécu",
        ]),
    },
    IdRule {
        rule: PiiRule::personal(
            "nl-bsn",
            "a Dutch citizen number",
            "the eleven test and its name nearby",
        ),
        shape: "999999999",
        groupings: &[&[4, 2, 3], &[3, 3, 3]],
        holds: |chars| {
            let sum = weighted(chars.get(..8).unwrap_or_default(), &[9, 8, 7, 6, 5, 4, 3, 2]);
            number(chars, 0..9) != 0 && sum % 11 == digit(at(chars, 8))
        },
        bare: 15,
        grouped: 25,
        named: 90,
        words: ContextWords::new(&["bsn", "burgerservice", "sofinummer"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "be-national-number",
            "a Belgian national number",
            "a birth date and the check modulo 97",
        ),
        shape: "99999999999",
        groupings: &[&[2, 2, 2, 3, 2], &[6, 5]],
        holds: belgian,
        bare: 50,
        grouped: 92,
        named: 95,
        words: ContextWords::new(&[
            "rijksregister",
            "registre national",
            "national number",
            "niss",
            "insz",
        ]),
    },
];

fn spanish(chars: &[u8]) -> bool {
    let Some((letter, body)) = chars.split_last() else {
        return false;
    };
    check_letter(number(body, 0..body.len())) == Some(letter)
}

fn nie(chars: &[u8]) -> bool {
    let first = match at(chars, 0) {
        b'X' => 0,
        b'Y' => 1,
        b'Z' => 2,
        _ => return false,
    };
    check_letter(first * 10_000_000 + number(chars, 1..8)) == Some(&at(chars, 8))
}

fn check_letter(number: u32) -> Option<&'static u8> {
    b"TRWAGMYFPDXBNJZSQVHLCKE".get((number % 23) as usize)
}

fn italian(chars: &[u8]) -> bool {
    const ODD: [u32; 26] = [
        1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
    ];
    let value = |byte: u8| {
        if byte.is_ascii_digit() {
            digit(byte)
        } else {
            base36(byte) - 10
        }
    };
    let sum: u32 = chars
        .iter()
        .take(15)
        .zip([true, false].into_iter().cycle())
        .map(|(byte, odd)| {
            let value = value(*byte);
            if odd {
                ODD.get(value as usize).copied().unwrap_or(0)
            } else {
                value
            }
        })
        .sum();
    b"ABCDEHLMPRST".contains(&at(chars, 8)) && base36(at(chars, 15)) == sum % 26 + 10
}

fn pesel(chars: &[u8]) -> bool {
    let sum = weighted(
        chars.get(..10).unwrap_or_default(),
        &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3],
    );
    is_date(number(chars, 2..4) % 20, number(chars, 4..6))
        && !is_monotone(chars)
        && (10 - sum % 10) % 10 == digit(at(chars, 10))
}

fn finnish(chars: &[u8], serial_at: usize) -> bool {
    let whole = number(chars, 0..6) * 1000 + number(chars, serial_at..serial_at + 3);
    is_date(number(chars, 2..4), number(chars, 0..2))
        && b"0123456789ABCDEFHJKLMNPRSTUVWXY".get((whole % 31) as usize) == chars.last()
}

fn swedish(chars: &[u8]) -> bool {
    let Some(short) = chars.len().checked_sub(10).and_then(|from| chars.get(from..)) else {
        return false;
    };
    let century_ok = chars.len() == 10 || matches!(number(chars, 0..2), 18..=20);
    let day = number(short, 4..6);
    // A coordination number has 60 added to the day.
    let day = if day > 60 { day - 60 } else { day };
    century_ok && is_date(number(short, 2..4), day) && luhn(short)
}

fn french(chars: &[u8]) -> bool {
    let body = chars
        .iter()
        .take(13)
        .fold(0u64, |value, byte| value * 10 + u64::from(digit(*byte)));
    let month = number(chars, 3..5);
    matches!(at(chars, 0), b'1' | b'2')
        && (matches!(month, 1..=12 | 20..=42 | 50..=99))
        && 97 - body % 97 == u64::from(number(chars, 13..15))
}

fn belgian(chars: &[u8]) -> bool {
    let body = number(chars, 0..9);
    let check = u64::from(number(chars, 9..11));
    let late = (2_000_000_000 + u64::from(body)) % 97;
    is_date(number(chars, 2..4), number(chars, 4..6))
        && (97 - u64::from(body) % 97 == check || 97 - late == check)
}
