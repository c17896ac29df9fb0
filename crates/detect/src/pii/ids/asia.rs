//! Ids of Asia and Africa.

mod east;

use super::IdRule;
use super::checks::{at, digit, is_date, is_monotone, luhn, number, verhoeff, weighted};
use crate::pii::context::ContextWords;
use crate::pii::rule::PiiRule;

pub(super) static RULES: [&[IdRule]; 2] = [OTHERS, east::RULES];

static OTHERS: &[IdRule] = &[
    IdRule {
        rule: PiiRule::personal(
            "in-aadhaar",
            "an Indian Aadhaar number",
            "Verhoeff, first digit 2 to 9, and usual grouping or its name nearby",
        ),
        shape: "999999999999",
        groupings: &[&[4, 4, 4]],
        holds: |chars| {
            at(chars, 0) >= b'2' && !is_monotone(chars) && !is_palindrome(chars) && verhoeff(chars)
        },
        bare: 35,
        grouped: 75,
        named: 95,
        words: ContextWords::new(&["aadhaar", "aadhar", "uidai", "uid"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "in-pan",
            "an Indian permanent account number",
            "the letter for the kind of holder, or its name nearby",
        ),
        shape: "AAAAA9999A",
        groupings: &[],
        holds: |chars| b"ABCFGHJLPT".contains(&at(chars, 3)),
        bare: 80,
        grouped: 0,
        named: 95,
        words: ContextWords::new(&["pan", "permanent account"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "in-voter",
            "an Indian voter card number",
            "its shape, and its name nearby",
        ),
        shape: "AAA9999999",
        groupings: &[],
        holds: |_| true,
        bare: 35,
        grouped: 0,
        named: 85,
        words: ContextWords::new(&["voter", "vote", "epic", "elector"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "in-passport",
            "an Indian passport number",
            "its shape, and its name nearby",
        ),
        shape: "A9999999",
        groupings: &[],
        holds: |chars| {
            (b'1'..=b'9').contains(&at(chars, 1))
                && (b'1'..=b'9').contains(&at(chars, 7))
                && !b"QXZ".contains(&at(chars, 0))
        },
        bare: 20,
        grouped: 0,
        named: 85,
        words: ContextWords::new(&["passport"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "in-gstin",
            "an Indian goods and services tax number",
            "the state code and the account number inside",
        ),
        shape: "99AAAAA9999A*A*",
        groupings: &[],
        holds: |chars| {
            (1..=37).contains(&number(chars, 0..2)) && at(chars, 12) != b'0' && at(chars, 13) == b'Z'
        },
        bare: 85,
        grouped: 0,
        named: 95,
        words: ContextWords::new(&["gst"]),
    },
    indian_vehicle("AA99AA9999", 60),
    indian_vehicle("AA99A9999", 50),
    indian_vehicle("AA9AAA9999", 55),
    indian_vehicle("AA9AA9999", 45),
    IdRule {
        rule: PiiRule::personal(
            "sg-nric-fin",
            "a Singaporean identity card number",
            "its check letter",
        ),
        shape: "A9999999A",
        groupings: &[],
        holds: nric,
        bare: 80,
        grouped: 0,
        named: 95,
        words: ContextWords::new(&["nric", "fin", "identity card"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "sg-uen",
            "a Singaporean entity number",
            "its shape, and its name nearby",
        ),
        shape: "999999999A",
        groupings: &[],
        holds: |chars| (1900..2100).contains(&number(chars, 0..4)),
        bare: 30,
        grouped: 0,
        named: 80,
        words: ContextWords::new(&["uen", "unique entity", "acra"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "kr-rrn",
            "a Korean resident number",
            "a birth date, a digit for century and sex, and usual grouping or its name nearby",
        ),
        shape: "9999999999999",
        groupings: &[&[6, 7]],
        holds: |chars| {
            is_date(number(chars, 2..4), number(chars, 4..6)) && matches!(at(chars, 6), b'1'..=b'4')
        },
        bare: 35,
        grouped: 80,
        named: 95,
        words: ContextWords::new(&["rrn", "korean", "resident", "주민"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "kr-frn",
            "a Korean registration number of a foreigner",
            "a birth date, a digit for century and sex, and usual grouping or its name nearby",
        ),
        shape: "9999999999999",
        groupings: &[&[6, 7]],
        holds: |chars| {
            is_date(number(chars, 2..4), number(chars, 4..6)) && matches!(at(chars, 6), b'5'..=b'8')
        },
        bare: 35,
        grouped: 80,
        named: 95,
        words: ContextWords::new(&["frn", "korean", "foreigner", "외국인"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "kr-brn",
            "a Korean business number",
            "its check digit, and usual grouping or its name nearby",
        ),
        shape: "9999999999",
        groupings: &[&[3, 2, 5]],
        holds: korean_business,
        bare: 18,
        grouped: 75,
        named: 90,
        words: ContextWords::new(&["brn", "korean", "business reg", "사업자"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "kr-driver-license",
            "a Korean driving licence",
            "an issuing region and usual grouping",
        ),
        shape: "999999999999",
        groupings: &[&[2, 2, 6, 2]],
        holds: |chars| (11..=28).contains(&number(chars, 0..2)),
        bare: 10,
        grouped: 70,
        named: 90,
        words: ContextWords::new(&["driver", "driving", "licen", "운전면허"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "th-tnin",
            "a Thai national number",
            "its check digit, a kind and a province, and usual grouping or its name nearby",
        ),
        shape: "9999999999999",
        groupings: &[&[1, 4, 5, 2, 1]],
        holds: thai,
        bare: 35,
        grouped: 90,
        named: 95,
        words: ContextWords::new(&["thai", "tnin", "national id", "เลข", "บัตร"]),
    },
    IdRule {
        rule: PiiRule::personal("tr-national-id", "a Turkish identity number", "both check digits"),
        shape: "99999999999",
        groupings: &[],
        holds: turkish,
        bare: 65,
        grouped: 0,
        named: 95,
        words: ContextWords::new(&["tc ", "tckn", "kimlik", "turkish", "türk", "t.c."]),
    },
    IdRule {
        rule: PiiRule::personal(
            "ng-nin",
            "a Nigerian national number",
            "its check digit and its name nearby",
        ),
        shape: "99999999999",
        groupings: &[&[4, 3, 4]],
        holds: verhoeff,
        bare: 15,
        grouped: 20,
        named: 85,
        words: ContextWords::new(&["nin", "nigeria", "nimc", "national identification"]),
    },
    IdRule {
        rule: philippine_tin(),
        shape: "999999999",
        groupings: &[&[3, 3, 3]],
        ..PHILIPPINE
    },
    IdRule {
        rule: philippine_tin(),
        shape: "999999999999",
        groupings: &[&[3, 3, 3, 3]],
        ..PHILIPPINE
    },
    IdRule {
        rule: PiiRule::personal(
            "cn-resident-id",
            "a Chinese resident number",
            "a birth date and the check character",
        ),
        shape: "99999999999999999*",
        groupings: &[],
        holds: chinese,
        bare: 90,
        grouped: 0,
        named: 95,
        words: ContextWords::new(&["resident", "id card", "身份证"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "za-id",
            "a South African identity number",
            "a birth date, the citizenship digit, Luhn, and its name nearby",
        ),
        shape: "9999999999999",
        groupings: &[&[6, 4, 3], &[6, 4, 2, 1]],
        holds: |chars| {
            is_date(number(chars, 2..4), number(chars, 4..6))
                && matches!(at(chars, 10), b'0' | b'1')
                && luhn(chars)
        },
        bare: 45,
        grouped: 85,
        named: 95,
        words: ContextWords::new(&["south africa", "rsa id", "id number", "identity number", "sa id"]),
    },
];

const PHILIPPINE: IdRule = IdRule {
    rule: philippine_tin(),
    shape: "",
    groupings: &[],
    holds: |chars| {
        number(chars, 0..9) != 0
            && weighted(chars.get(..8).unwrap_or_default(), &[9, 8, 7, 6, 5, 4, 3, 2]) % 11
                == digit(at(chars, 8))
    },
    bare: 10,
    grouped: 50,
    named: 85,
    words: ContextWords::new(&["tin", "bir", "tax id", "taxpayer"]),
};

const fn philippine_tin() -> PiiRule {
    PiiRule::personal(
        "ph-tin",
        "a Philippine taxpayer number",
        "its check digit, and its name nearby",
    )
}

const fn indian_vehicle(shape: &'static str, bare: u8) -> IdRule {
    IdRule {
        rule: PiiRule::personal(
            "in-vehicle-registration",
            "an Indian vehicle plate",
            "a state code and the order of letters and digits",
        ),
        shape,
        groupings: &[&[2, 2, 2, 4], &[4, 2, 4], &[2, 2, 1, 4]],
        holds: |chars| {
            chars
                .get(..2)
                .is_some_and(|state| INDIAN_STATES.contains(&[at(state, 0), at(state, 1)]))
        },
        bare,
        grouped: 75,
        named: 90,
        words: ContextWords::new(&["vehicle", "registration", "plate", "rto", "bike", "car"]),
    }
}

const INDIAN_STATES: [[u8; 2]; 38] = [
    *b"AN", *b"AP", *b"AR", *b"AS", *b"BR", *b"CG", *b"CH", *b"DD", *b"DL", *b"DN", *b"GA", *b"GJ", *b"HP",
    *b"HR", *b"JH", *b"JK", *b"KA", *b"KL", *b"LA", *b"LD", *b"MH", *b"ML", *b"MN", *b"MP", *b"MZ", *b"NL",
    *b"OD", *b"OR", *b"PB", *b"PY", *b"RJ", *b"SK", *b"TN", *b"TR", *b"TS", *b"UK", *b"UP", *b"WB",
];

fn is_palindrome(chars: &[u8]) -> bool {
    chars.iter().eq(chars.iter().rev())
}

fn nric(chars: &[u8]) -> bool {
    let body = chars.get(1..8).unwrap_or_default();
    let sum = weighted(body, &[2, 7, 6, 5, 4, 3, 2]);
    let (offset, letters): (u32, &[u8; 11]) = match at(chars, 0) {
        b'S' => (0, b"JZIHGFEDCBA"),
        b'T' => (4, b"JZIHGFEDCBA"),
        b'F' => (0, b"XWUTRQPNMLK"),
        b'G' => (4, b"XWUTRQPNMLK"),
        b'M' => (3, b"KLJNPQRTUWX"),
        _ => return false,
    };
    let rest = ((sum + offset) % 11) as usize;
    let index = if at(chars, 0) == b'M' { 10 - rest } else { rest };
    letters.get(index) == Some(&at(chars, 8))
}

fn korean_business(chars: &[u8]) -> bool {
    let sum = weighted(chars, &[1, 3, 7, 1, 3, 7, 1, 3, 5]);
    let sum = sum + digit(at(chars, 8)) * 5 / 10;
    number(chars, 0..3) > 100 && (10 - sum % 10) % 10 == digit(at(chars, 9))
}

fn thai(chars: &[u8]) -> bool {
    let sum = weighted(
        chars.get(..12).unwrap_or_default(),
        &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2],
    );
    let province = number(chars, 1..3);
    matches!(at(chars, 0), b'1'..=b'8')
        && (10..=96).contains(&province)
        && !is_monotone(chars)
        && (11 - sum % 11) % 10 == digit(at(chars, 12))
}

fn turkish(chars: &[u8]) -> bool {
    let sum_of = |indices: [usize; 5]| indices.iter().map(|index| digit(at(chars, *index))).sum::<u32>();
    let odd = sum_of([0, 2, 4, 6, 8]);
    let even = [1, 3, 5, 7]
        .iter()
        .map(|index| digit(at(chars, *index)))
        .sum::<u32>();
    let tenth = (odd * 7 + 100 - even) % 10;
    let eleventh = (odd + even + tenth) % 10;
    at(chars, 0) != b'0' && tenth == digit(at(chars, 9)) && eleventh == digit(at(chars, 10))
}

fn chinese(chars: &[u8]) -> bool {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let rest = (weighted(chars, &WEIGHTS) % 11) as usize;
    is_date(number(chars, 10..12), number(chars, 12..14))
        && (1900..2100).contains(&number(chars, 6..10))
        && b"10X98765432".get(rest) == Some(&at(chars, 17))
}
