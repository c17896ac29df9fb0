//! Ids of things that belong to one person: vehicles and telephones.

use super::IdRule;
use super::checks::{at, base36, digit, is_monotone, luhn};
use crate::pii::context::ContextWords;
use crate::pii::rule::PiiRule;

const VIN_WORDS: ContextWords = ContextWords::new(&[
    "vin ",
    "vin:",
    "vin=",
    "vin#",
    "vin\"",
    "vin_",
    "vin-",
    "vehicle id",
    "chassis",
    "fahrgestell",
    "fin:",
]);

pub(super) static RULES: &[IdRule] = &[
    IdRule {
        rule: PiiRule::personal(
            "vin",
            "a vehicle identification number",
            "its check digit, and its name nearby",
        ),
        shape: "*****************",
        groupings: &[],
        holds: |chars| is_vin(chars) && is_checked(chars),
        bare: 45,
        grouped: 0,
        named: 95,
        words: VIN_WORDS,
    },
    IdRule {
        rule: PiiRule::personal(
            "vin",
            "a vehicle identification number without a check digit, as makers outside North America write it",
            "the letters that are used, and its name nearby",
        ),
        shape: "*****************",
        groupings: &[],
        holds: |chars| is_vin(chars) && !is_checked(chars),
        bare: 5,
        grouped: 0,
        named: 75,
        words: VIN_WORDS,
    },
    IdRule {
        rule: PiiRule::personal(
            "imei",
            "the number of a mobile device",
            "Luhn and its name nearby",
        ),
        shape: "999999999999999",
        groupings: &[&[2, 6, 6, 1], &[6, 2, 6, 1]],
        holds: |chars| luhn(chars) && !is_monotone(chars),
        bare: 15,
        grouped: 55,
        named: 92,
        words: ContextWords::new(&["imei"]),
    },
];

/// Letters and digits as makers use them; the last ones are a serial number.
fn is_vin(chars: &[u8]) -> bool {
    let digits = chars.iter().filter(|byte| byte.is_ascii_digit()).count();
    let tail = chars.get(13..).unwrap_or_default();
    chars.iter().all(|byte| !b"IOQ".contains(byte))
        && (6..17).contains(&digits)
        && tail.iter().all(u8::is_ascii_digit)
}

fn is_checked(chars: &[u8]) -> bool {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    // The letters count from 1 to 9 and again; S is the second of its row.
    let value = |byte: u8| match byte {
        b'S'..=b'Z' => base36(byte) - base36(b'S') + 2,
        b'J'..=b'R' => base36(byte) - base36(b'J') + 1,
        b'A'..=b'H' => base36(byte) - base36(b'A') + 1,
        _ => digit(byte),
    };
    let sum: u32 = chars
        .iter()
        .zip(WEIGHTS)
        .map(|(byte, weight)| value(*byte) * weight)
        .sum();
    b"0123456789X".get((sum % 11) as usize) == Some(&at(chars, 8))
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn names_and_check_digits_decide() {
        check("VIN 1HGCM82633A004352 plate", &[("vin", "1HGCM82633A004352")]);
        check("VIN: WVWZZZ1JZXW000001", &[("vin", "WVWZZZ1JZXW000001")]);
        check("id 1HGCM82633A004352", &[]);
        check("vintage 1HGCM82643A004352", &[]);
        check("VIN 1HGCM82633A0O4352", &[]);
        check("IMEI 490154203237518", &[("imei", "490154203237518")]);
        check("IMEI: 49-015420-323751-8", &[("imei", "49-015420-323751-8")]);
        check("IMEI 490154203237519", &[]);
        check("id 490154203237518", &[]);
    }
}
