//! Ids of Norway, Denmark, Switzerland, Portugal and Ireland.

use crate::pii::context::ContextWords;
use crate::pii::ids::IdRule;
use crate::pii::ids::checks::{at, base36, digit, is_date, is_monotone, number, weighted};
use crate::pii::rule::PiiRule;

pub(super) static RULES: &[IdRule] = &[
    IdRule {
        rule: PiiRule::personal(
            "no-national-id",
            "a Norwegian national number",
            "a birth date, both check digits, and usual grouping or its name nearby",
        ),
        shape: "99999999999",
        groupings: &[&[6, 5]],
        holds: norwegian,
        bare: 45,
        grouped: 75,
        named: 95,
        words: ContextWords::new(&[
            "f\u{f8}dsels",
            "fodsels",
            "fnr",
            "personnummer",
            "d-nummer",
            "norwegian",
        ]),
    },
    IdRule {
        rule: PiiRule::personal(
            "dk-cpr",
            "a Danish personal number",
            "a birth date, and its name nearby",
        ),
        shape: "9999999999",
        groupings: &[&[6, 4]],
        holds: |chars| is_date(number(chars, 2..4), number(chars, 0..2)),
        bare: 10,
        grouped: 30,
        named: 88,
        words: ContextWords::new(&["cpr", "danish"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "ch-ahv",
            "a Swiss social insurance number",
            "the country prefix 756 and the check digit",
        ),
        shape: "9999999999999",
        groupings: &[&[3, 4, 4, 2]],
        holds: swiss,
        bare: 65,
        grouped: 95,
        named: 97,
        words: ContextWords::new(&["ahv", "avs", "sozialversicherung", "social insurance"]),
    },
    IdRule {
        rule: PiiRule::personal(
            "pt-nif",
            "a Portuguese taxpayer number",
            "its check digit and its name nearby",
        ),
        shape: "999999999",
        groupings: &[&[3, 3, 3]],
        holds: portuguese,
        bare: 15,
        grouped: 25,
        named: 90,
        words: ContextWords::new(&["nif", "contribuinte", "nipc"]),
    },
    irish("9999999A"),
    irish("9999999AA"),
];

const fn irish(shape: &'static str) -> IdRule {
    IdRule {
        rule: PiiRule::personal(
            "ie-pps",
            "an Irish personal public service number",
            "its check letter and its name nearby",
        ),
        shape,
        groupings: &[],
        holds: pps,
        bare: 30,
        grouped: 0,
        named: 95,
        words: ContextWords::new(&["pps", "personal public service"]),
    }
}

fn norwegian(chars: &[u8]) -> bool {
    let check = |weights: &[u32]| match 11 - weighted(chars, weights) % 11 {
        11 => 0,
        rest => rest,
    };
    // People without residence have 40 added to the day.
    let day = number(chars, 0..2);
    let day = if day > 40 { day - 40 } else { day };
    is_date(number(chars, 2..4), day)
        && check(&[3, 7, 6, 1, 8, 9, 4, 5, 2]) == digit(at(chars, 9))
        && check(&[5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) == digit(at(chars, 10))
}

fn swiss(chars: &[u8]) -> bool {
    let sum = weighted(chars, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]);
    chars.starts_with(b"756") && sum.is_multiple_of(10)
}

fn portuguese(chars: &[u8]) -> bool {
    let check = match weighted(chars, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11 {
        0 | 1 => 0,
        rest => 11 - rest,
    };
    !matches!(at(chars, 0), b'0' | b'4' | b'7') && !is_monotone(chars) && check == digit(at(chars, 8))
}

fn pps(chars: &[u8]) -> bool {
    // A second letter counts nine times; the W of older numbers is the 23rd letter, which is nothing modulo 23.
    let second = chars.get(8).map_or(0, |byte| base36(*byte) - 9);
    let sum = weighted(chars, &[8, 7, 6, 5, 4, 3, 2]) + 9 * second;
    b"WABCDEFGHIJKLMNOPQRSTUV".get((sum % 23) as usize) == Some(&at(chars, 7))
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn check_digits_and_names_decide() {
        for (before, rule, id) in [
            ("f\u{f8}dselsnummer ", "no-national-id", "19045804588"),
            ("nr ", "no-national-id", "190458 04588"),
            ("CPR-nummer ", "dk-cpr", "120785-1234"),
            ("", "ch-ahv", "756.9217.0769.85"),
            ("NIF ", "pt-nif", "123456789"),
            ("PPS number ", "ie-pps", "1234567TW"),
            ("PPSN: ", "ie-pps", "1234567FA"),
        ] {
            check(&format!("{before}{id}"), &[(rule, id)]);
        }
        for text in [
            "f\u{f8}dselsnummer 19045804589",
            "nr 19045804588",
            "CPR-nummer 321385-1234",
            "order 120785-1234",
            "756.9217.0769.86",
            "NIF 123456788",
            "order 123456789",
            "PPS number 1234567UW",
            "part 1234567FA",
        ] {
            check(text, &[]);
        }
    }
}
