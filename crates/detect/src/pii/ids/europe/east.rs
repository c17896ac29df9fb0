//! Ids of Croatia, Bulgaria and Russia.

use crate::pii::context::ContextWords;
use crate::pii::ids::IdRule;
use crate::pii::ids::checks::{at, digit, is_date, is_monotone, mod_11_10, number, weighted};
use crate::pii::rule::PiiRule;

pub(super) static RULES: &[IdRule] = &[
    IdRule {
        rule: PiiRule::personal(
            "hr-oib",
            "a Croatian personal number",
            "its check digit and its name nearby",
        ),
        shape: "99999999999",
        groupings: &[],
        holds: |chars| mod_11_10(chars) && !is_monotone(chars),
        bare: 20,
        grouped: 0,
        named: 92,
        words: ContextWords::new(&["oib", "osobni identifikacijski"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "bg-egn",
            "a Bulgarian citizen number",
            "a birth date, its check digit, and its name nearby",
        ),
        shape: "9999999999",
        groupings: &[],
        holds: bulgarian,
        bare: 30,
        grouped: 0,
        named: 92,
        words: ContextWords::new(&["egn", "\u{435}\u{433}\u{43d}", "\u{415}\u{413}\u{41d}"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "ru-snils",
            "a Russian insurance account number",
            "its check number, and usual grouping or its name nearby",
        ),
        shape: "99999999999",
        groupings: &[&[3, 3, 3, 2]],
        holds: snils,
        bare: 35,
        grouped: 70,
        named: 95,
        words: ContextWords::new(&[
            "snils",
            "\u{441}\u{43d}\u{438}\u{43b}\u{441}",
            "\u{421}\u{41d}\u{418}\u{41b}\u{421}",
        ]),
    },
    IdRule {
        rule: PiiRule::personal(
            "ru-inn",
            "a Russian taxpayer number of a person",
            "both check digits and its name nearby",
        ),
        shape: "999999999999",
        groupings: &[],
        holds: inn,
        bare: 35,
        grouped: 0,
        named: 92,
        words: ContextWords::new(&[
            "inn ",
            "inn:",
            "inn=",
            "inn\"",
            "\u{438}\u{43d}\u{43d}",
            "\u{418}\u{41d}\u{41d}",
        ]),
    },
];

fn bulgarian(chars: &[u8]) -> bool {
    // Those born before 1900 have 20 added to the month, those after 1999 have 40.
    let month = match number(chars, 2..4) {
        month @ 41..=52 => month - 40,
        month @ 21..=32 => month - 20,
        month => month,
    };
    let sum = weighted(chars, &[2, 4, 8, 5, 10, 9, 7, 3, 6]);
    is_date(month, number(chars, 4..6)) && sum % 11 % 10 == digit(at(chars, 9))
}

fn snils(chars: &[u8]) -> bool {
    let sum = weighted(chars, &[9, 8, 7, 6, 5, 4, 3, 2, 1]);
    let body = chars.get(..9).unwrap_or_default();
    // Lower numbers were given before there was a check number.
    number(body, 0..9) > 1_001_998 && !is_monotone(body) && sum % 101 % 100 == number(chars, 9..11)
}

fn inn(chars: &[u8]) -> bool {
    let check = |weights: &[u32]| weighted(chars, weights) % 11 % 10;
    number(chars, 0..9) != 0
        && check(&[7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) == digit(at(chars, 10))
        && check(&[3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) == digit(at(chars, 11))
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn check_digits_and_names_decide() {
        for (before, rule, id) in [
            ("OIB ", "hr-oib", "33392005961"),
            ("EGN ", "bg-egn", "7523169263"),
            ("", "ru-snils", "112-233-445 95"),
            ("\u{421}\u{41d}\u{418}\u{41b}\u{421} ", "ru-snils", "11223344595"),
            ("\u{418}\u{41d}\u{41d} ", "ru-inn", "500100732259"),
        ] {
            check(&format!("{before}{id}"), &[(rule, id)]);
        }
        for text in [
            "OIB 33392005962",
            "id 33392005961",
            "EGN 7523169264",
            "id 7523169263",
            "112-233-445 96",
            "inner 500100732259",
            "INN 500100732258",
        ] {
            check(text, &[]);
        }
    }
}
