//! Ids of Japan, Taiwan, Malaysia, Israel and the Emirates.

use crate::pii::context::ContextWords;
use crate::pii::ids::IdRule;
use crate::pii::ids::checks::{at, digit, is_date, is_monotone, luhn, number, weighted};
use crate::pii::rule::PiiRule;

pub(super) static RULES: &[IdRule] = &[
    IdRule {
        rule: PiiRule::personal(
            "jp-my-number",
            "a Japanese individual number",
            "its check digit and its name nearby",
        ),
        shape: "999999999999",
        groupings: &[&[4, 4, 4]],
        holds: japanese,
        bare: 15,
        grouped: 30,
        named: 92,
        words: ContextWords::new(&[
            "my number",
            "mynumber",
            "individual number",
            "マイナンバー",
            "個人番号",
        ]),
    },
    IdRule {
        rule: PiiRule::personal(
            "tw-national-id",
            "a Taiwanese identity number",
            "the letter of a place, its check digit, and its name nearby",
        ),
        shape: "A999999999",
        groupings: &[],
        holds: taiwanese,
        bare: 40,
        grouped: 0,
        named: 92,
        words: ContextWords::new(&["taiwan", "national id", "身分證", "身份證", "統一編號"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "my-nric",
            "a Malaysian identity card number",
            "a birth date, a place of birth, and usual grouping or its name nearby",
        ),
        shape: "999999999999",
        groupings: &[&[6, 2, 4]],
        holds: |chars| {
            is_date(number(chars, 2..4), number(chars, 4..6))
                && matches!(number(chars, 6..8), 1..=16 | 21..=68 | 71 | 72 | 74..=93 | 98 | 99)
        },
        bare: 15,
        grouped: 60,
        named: 92,
        words: ContextWords::new(&[
            "mykad",
            "nric",
            "kad pengenalan",
            "malaysia",
            "ic no",
            "ic number",
        ]),
    },
    IdRule {
        rule: PiiRule::personal("il-id", "an Israeli identity number", "Luhn and its name nearby"),
        shape: "999999999",
        groupings: &[],
        holds: |chars| luhn(chars) && !is_monotone(chars),
        bare: 15,
        grouped: 0,
        named: 85,
        words: ContextWords::new(&["israeli id", "israel id", "teudat", "תעודת זהות", "ת.ז"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "ae-emirates-id",
            "an identity number of the United Arab Emirates",
            "the country prefix 784 and a year of birth, and usual grouping or its name nearby",
        ),
        shape: "999999999999999",
        groupings: &[&[3, 4, 7, 1]],
        holds: |chars| chars.starts_with(b"784") && (1900..2100).contains(&number(chars, 3..7)),
        bare: 40,
        grouped: 88,
        named: 95,
        words: ContextWords::new(&["emirates", "eid"]),
    },
];

fn japanese(chars: &[u8]) -> bool {
    let check = match weighted(chars, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11 {
        0 | 1 => 0,
        rest => 11 - rest,
    };
    !is_monotone(chars) && check == digit(at(chars, 11))
}

fn taiwanese(chars: &[u8]) -> bool {
    // Places have numbers from 10 on, in an order of letters that grew over time.
    let place = b"ABCDEFGHJKLMNPQRSTUVXYWZIO"
        .iter()
        .zip(10..)
        .find(|(letter, _)| **letter == at(chars, 0))
        .map_or(0, |(_, place)| place);
    let sum = place / 10
        + place % 10 * 9
        + weighted(chars.get(1..).unwrap_or_default(), &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    matches!(at(chars, 1), b'1' | b'2' | b'8' | b'9') && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn check_digits_and_names_decide() {
        for (before, rule, id) in [
            ("マイナンバー ", "jp-my-number", "1234 5678 9018"),
            ("Taiwan ID ", "tw-national-id", "A123456789"),
            ("MyKad ", "my-nric", "850712-14-5567"),
            ("Israeli ID ", "il-id", "123456782"),
            ("", "ae-emirates-id", "784-1985-1234567-1"),
        ] {
            check(&format!("{before}{id}"), &[(rule, id)]);
        }
        for text in [
            "マイナンバー 1234 5678 9017",
            "row 1234 5678 9018",
            "Taiwan ID A123456788",
            "part A123456789",
            "MyKad 851312-14-5567",
            "Israel 123456782",
            "Israeli ID 123456783",
            "id 123456782",
            "784-2585-1234567-1",
        ] {
            check(text, &[]);
        }
    }
}
