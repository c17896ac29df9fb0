//! Ids of the Americas.

use super::IdRule;
use super::checks::{at, digit, is_monotone, luhn, number, weighted};
use super::punctuated::{CNPJ_WORDS, RUT_WORDS, chilean, cnpj};
use crate::pii::context::ContextWords;
use crate::pii::rule::PiiRule;

const SSN_WORDS: ContextWords = ContextWords::new(&[
    "ssn",
    "social security",
    "social sec",
    "soc sec",
    "ss#",
    "id number",
    "id\u{a0}number",
    "ss number",
]);
const ITIN_WORDS: ContextWords = ContextWords::new(&["itin", "taxpayer", "tax id", "tin", "individual tax"]);

pub(super) static RULES: &[IdRule] = &[
    IdRule {
        rule: PiiRule::personal(
            "us-ssn",
            "a United States social security number",
            "area, group and serial that can be issued, and usual grouping or its name nearby",
        ),
        shape: "999999999",
        groupings: &[&[3, 2, 4]],
        holds: ssn,
        bare: 20,
        grouped: 85,
        named: 95,
        words: SSN_WORDS,
    },
    IdRule {
        rule: PiiRule::personal(
            "us-ssn",
            "a number written like a United States social security number",
            "usual grouping and its name nearby, though no such number can be issued",
        ),
        shape: "999999999",
        groupings: &[&[3, 2, 4]],
        holds: |chars| !ssn(chars) && !itin(chars),
        bare: 0,
        grouped: 0,
        named: 65,
        words: SSN_WORDS,
    },
    IdRule {
        rule: PiiRule::personal(
            "us-itin",
            "a United States individual taxpayer number",
            "leading 9, an issued group range, and usual grouping or its name nearby",
        ),
        shape: "999999999",
        groupings: &[&[3, 2, 4], &[3, 6], &[5, 4]],
        holds: itin,
        bare: 20,
        grouped: 70,
        named: 95,
        words: ITIN_WORDS,
    },
    IdRule {
        rule: PiiRule::personal(
            "us-mbi",
            "a United States Medicare beneficiary id",
            "the official alternation of digits and letters",
        ),
        shape: "9A*9A*9AA99",
        groupings: &[&[4, 3, 4]],
        holds: mbi,
        bare: 60,
        grouped: 85,
        named: 95,
        words: ContextWords::new(&["mbi", "medicare", "beneficiary"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "us-npi",
            "a United States health provider number",
            "leading 1 or 2, Luhn with the card prefix, its name nearby",
        ),
        shape: "9999999999",
        groupings: &[],
        holds: npi,
        bare: 15,
        grouped: 0,
        named: 85,
        words: ContextWords::new(&["npi", "national provider", "provider"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "us-aba-routing",
            "a United States bank routing number",
            "the 3-7-1 checksum and its name nearby",
        ),
        shape: "999999999",
        groupings: &[&[4, 4, 1]],
        holds: aba,
        bare: 15,
        grouped: 30,
        named: 80,
        words: ContextWords::new(&["aba", "routing", "bank"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "medical-license",
            "a United States DEA registration of a prescriber",
            "registrant letter and checksum",
        ),
        shape: "A*9999999",
        groupings: &[],
        holds: dea,
        bare: 60,
        grouped: 0,
        named: 90,
        words: ContextWords::new(&["dea", "medical", "certificate", "prescriber", "registration"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "ca-sin",
            "a Canadian social insurance number",
            "Luhn, an issued first digit, and usual grouping or its name nearby",
        ),
        shape: "999999999",
        groupings: &[&[3, 3, 3]],
        holds: |chars| luhn(chars) && !matches!(at(chars, 0), b'0' | b'8') && !is_monotone(chars),
        bare: 20,
        grouped: 50,
        named: 95,
        words: ContextWords::new(&["sin", "social insurance", "nas", "assurance sociale"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "br-cpf",
            "a Brazilian taxpayer number of a person",
            "both check digits, and usual grouping or its name nearby",
        ),
        shape: "99999999999",
        groupings: &[&[3, 3, 3, 2]],
        holds: cpf,
        bare: 40,
        grouped: 90,
        named: 95,
        words: ContextWords::new(&["cpf", "cadastro", "contribuinte"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "mx-curp",
            "a Mexican population register code",
            "birth date, sex and state letters, check digit",
        ),
        shape: "AAAA999999AAAAAA*9",
        groupings: &[],
        holds: curp,
        bare: 90,
        grouped: 0,
        named: 95,
        words: ContextWords::new(&["curp"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "br-cnpj",
            "a Brazilian taxpayer number of a company",
            "both check digits, and its name nearby",
        ),
        shape: "99999999999999",
        groupings: &[],
        holds: cnpj,
        bare: 40,
        grouped: 0,
        named: 95,
        words: CNPJ_WORDS,
    },
    IdRule {
        rule: PiiRule::personal(
            "cl-rut",
            "a Chilean identity and tax number",
            "its check character, and its name nearby",
        ),
        shape: "99999999*",
        groupings: &[&[8, 1]],
        holds: chilean,
        bare: 10,
        grouped: 30,
        named: 92,
        words: RUT_WORDS,
    },
    IdRule {
        rule: PiiRule::personal(
            "cl-rut",
            "a Chilean identity and tax number",
            "its check character, and its name nearby",
        ),
        shape: "9999999*",
        groupings: &[&[7, 1]],
        holds: chilean,
        bare: 10,
        grouped: 30,
        named: 92,
        words: RUT_WORDS,
    },
];

pub(super) fn ssn(chars: &[u8]) -> bool {
    let (area, group, serial) = (number(chars, 0..3), number(chars, 3..5), number(chars, 5..9));
    area != 0 && area != 666 && area < 900 && group != 0 && serial != 0 && !is_monotone(chars) && {
        // Printed on wallets and in advertisements, never a person's.
        let whole = number(chars, 0..9);
        whole != 78_051_120 && whole != 219_099_999 && whole != 123_456_789
    }
}

fn itin(chars: &[u8]) -> bool {
    let group = number(chars, 3..5);
    at(chars, 0) == b'9' && matches!(group, 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

fn mbi(chars: &[u8]) -> bool {
    let letters_ok = chars.iter().all(|byte| !b"SLOIBZ".contains(byte));
    at(chars, 0) != b'0' && letters_ok
}

fn npi(chars: &[u8]) -> bool {
    let mut whole = [0; 15];
    for (slot, byte) in whole.iter_mut().zip(b"80840".iter().chain(chars)) {
        *slot = *byte;
    }
    matches!(at(chars, 0), b'1' | b'2') && luhn(&whole)
}

fn aba(chars: &[u8]) -> bool {
    let first = number(chars, 0..2);
    matches!(first, 0..=12 | 21..=32 | 61..=72 | 80)
        && number(chars, 0..9) != 0
        && weighted(chars, &[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10)
}

fn dea(chars: &[u8]) -> bool {
    let registrant = b"ABCDEFGHJKLMPRSTUX".contains(&at(chars, 0));
    let second = at(chars, 1);
    let sum = weighted(chars.get(2..8).unwrap_or_default(), &[1, 2, 1, 2, 1, 2]);
    registrant && (second.is_ascii_alphabetic() || second == b'9') && sum % 10 == digit(at(chars, 8))
}

fn cpf(chars: &[u8]) -> bool {
    let check = |count: u32| {
        let sum: u32 = (0..count)
            .zip(chars)
            .map(|(index, byte)| digit(*byte) * (count + 1 - index))
            .sum();
        (sum * 10 % 11) % 10
    };
    !is_monotone(chars) && check(9) == digit(at(chars, 9)) && check(10) == digit(at(chars, 10))
}

fn curp(chars: &[u8]) -> bool {
    // The alphabet has an Ñ between N and O, which shifts the later letters by one.
    let value = |byte: u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        b'A'..=b'N' => u32::from(byte - b'A') + 10,
        _ => u32::from(byte.saturating_sub(b'A')) + 11,
    };
    let sum: u32 = chars
        .iter()
        .zip(0..17)
        .map(|(byte, index)| value(*byte) * (18 - index))
        .sum();
    super::checks::is_date(number(chars, 6..8), number(chars, 8..10))
        && matches!(at(chars, 10), b'H' | b'M' | b'X')
        && (10 - sum % 10) % 10 == digit(at(chars, 17))
}
