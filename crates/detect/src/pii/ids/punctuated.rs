//! Ids whose punctuation is their own, so that hardly anything else is written like them: `11.222.333/0001-81`.

use super::checks::{at, base36, digit, is_date, is_monotone, number, weighted};
use crate::pii::context::ContextWords;
use crate::pii::rule::{PiiRule, Sink};

/// One way of writing an id.
pub(super) struct Punctuated {
    pub(super) rule: PiiRule,
    /// `9` a digit, `A` a letter, `*` either; anything else stands for itself.
    template: &'static str,
    holds: fn(&[u8]) -> bool,
    sure: u8,
    named: u8,
    words: ContextWords,
}

/// The most letters and digits of any template.
const MOST: usize = 16;

pub(super) static RULES: &[Punctuated] = &[
    Punctuated {
        rule: PiiRule::personal(
            "br-cnpj",
            "a Brazilian taxpayer number of a company",
            "both check digits, and usual punctuation or its name nearby",
        ),
        template: "99.999.999/9999-99",
        holds: cnpj,
        sure: 92,
        named: 95,
        words: CNPJ_WORDS,
    },
    rut("99.999.999-*"),
    rut("9.999.999-*"),
    czech("999999/9999"),
    czech("999999/999"),
    hong_kong("A999999(*)"),
    hong_kong("AA999999(*)"),
    Punctuated {
        rule: PiiRule::personal(
            "pk-cnic",
            "a Pakistani identity card number",
            "usual grouping, and its name nearby",
        ),
        template: "99999-9999999-9",
        holds: |chars| matches!(at(chars, 0), b'1'..=b'8') && number(chars, 5..12) != 0,
        sure: 60,
        named: 92,
        words: ContextWords::new(&["cnic", "nadra", "nicop", "pakistan", "identity card"]),
    },
];

pub(super) const CNPJ_WORDS: ContextWords = ContextWords::new(&["cnpj", "cadastro nacional"]);
pub(super) const RUT_WORDS: ContextWords = ContextWords::new(&["rut ", "rut:", "rut=", "rut\"", "run:"]);

const fn rut(template: &'static str) -> Punctuated {
    Punctuated {
        rule: PiiRule::personal(
            "cl-rut",
            "a Chilean identity and tax number",
            "its check character, and usual punctuation or its name nearby",
        ),
        template,
        holds: chilean,
        sure: 85,
        named: 95,
        words: RUT_WORDS,
    }
}

const fn czech(template: &'static str) -> Punctuated {
    Punctuated {
        rule: PiiRule::personal(
            "cz-birth-number",
            "a Czech or Slovak birth number",
            "a birth date, divisible by eleven, and usual punctuation",
        ),
        template,
        holds: birth_number,
        sure: 60,
        named: 92,
        words: ContextWords::new(&["rodn", "birth number", "r.\u{10d}", "r\u{10d}"]),
    }
}

const fn hong_kong(template: &'static str) -> Punctuated {
    Punctuated {
        rule: PiiRule::personal(
            "hk-id",
            "a Hong Kong identity card number",
            "its check character in brackets",
        ),
        template,
        holds: hkid,
        sure: 85,
        named: 95,
        words: ContextWords::new(&["hkid", "hong kong", "identity card"]),
    }
}

/// Decides about the id whose first digit stands at a place, with so many digits before what follows them.
pub(crate) fn check(text: &[u8], digit: usize, run: usize, after: u8, sink: &mut Sink<'_>) {
    // Every template tells itself by its first digits and what follows them; few numbers do.
    let tells = match (run, after) {
        (1 | 2, b'.') => text.get(digit + run + 4) == Some(&b'.'),
        (5, b'-') | (6, b'/' | b'(') => true,
        _ => false,
    };
    if !tells {
        return;
    }
    for rule in RULES {
        rule.check(text, digit, run, after, sink);
    }
}

impl Punctuated {
    fn check(&self, text: &[u8], digit: usize, run: usize, after: u8, sink: &mut Sink<'_>) {
        let template = self.template.as_bytes();
        let letters = template.iter().take_while(|byte| **byte == b'A').count();
        if template.get(letters + run) != Some(&after) {
            return;
        }
        let Some(start) = digit.checked_sub(letters) else {
            return;
        };
        let end = start + template.len();
        let Some(written) = text.get(start..end) else {
            return;
        };
        let joins = |at: Option<usize>| {
            at.and_then(|at| text.get(at))
                .is_some_and(u8::is_ascii_alphanumeric)
        };
        if joins(start.checked_sub(1)) || joins(Some(end)) || !fits(template, written) {
            return;
        }
        let mut chars = [0; MOST];
        let mut length = 0;
        let kept = written.iter().filter(|byte| byte.is_ascii_alphanumeric());
        for (slot, byte) in chars.iter_mut().zip(kept) {
            *slot = byte.to_ascii_uppercase();
            length += 1;
        }
        if !(self.holds)(chars.get(..length).unwrap_or_default()) {
            return;
        }
        let named = self.words.near(text, &(start..end));
        sink.push(&self.rule, start..end, if named { self.named } else { self.sure });
    }
}

fn fits(template: &[u8], written: &[u8]) -> bool {
    template.iter().zip(written).all(|(wanted, byte)| match wanted {
        b'9' => byte.is_ascii_digit(),
        b'A' => byte.is_ascii_alphabetic(),
        b'*' => byte.is_ascii_alphanumeric(),
        _ => byte == wanted,
    })
}

pub(super) fn cnpj(chars: &[u8]) -> bool {
    const WEIGHTS: [u32; 13] = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];
    let check = |weights: &[u32]| match weighted(chars, weights) % 11 {
        0 | 1 => 0,
        rest => 11 - rest,
    };
    let (first, second) = (check(WEIGHTS.get(1..).unwrap_or_default()), check(&WEIGHTS));
    !is_monotone(chars) && first == digit(at(chars, 12)) && second == digit(at(chars, 13))
}

pub(super) fn chilean(chars: &[u8]) -> bool {
    let Some((check, body)) = chars.split_last() else {
        return false;
    };
    let sum: u32 = body
        .iter()
        .rev()
        .zip((2..=7).cycle())
        .map(|(byte, weight)| digit(*byte) * weight)
        .sum();
    let expected = match 11 - sum % 11 {
        11 => 0,
        10 => base36(b'K'),
        rest => rest,
    };
    !is_monotone(body) && base36(*check) == expected
}

fn birth_number(chars: &[u8]) -> bool {
    // Women have 50 added to the month, and 20 more where a day had no number left.
    let month = match number(chars, 2..4) {
        month @ 71..=82 => month - 70,
        month @ 51..=62 => month - 50,
        month @ 21..=32 => month - 20,
        month => month,
    };
    let whole = chars.iter().fold(0, |rest, byte| (rest * 10 + digit(*byte)) % 11);
    // Numbers of nine digits were given until 1953 and have no check digit.
    let divides = if chars.len() == 10 {
        whole == 0
    } else {
        number(chars, 0..2) < 54
    };
    is_date(month, number(chars, 4..6)) && divides
}

fn hkid(chars: &[u8]) -> bool {
    let Some((check, body)) = chars.split_last() else {
        return false;
    };
    // One letter stands where two can: then a blank, worth 36, is before it.
    let blank = if body.len() == 7 { 36 * 9 } else { 0 };
    let sum: u32 = body
        .iter()
        .rev()
        .zip(2..)
        .map(|(byte, weight)| base36(*byte) * weight)
        .sum();
    matches!(check, b'0'..=b'9' | b'A') && (blank + sum + base36(*check)).is_multiple_of(11)
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn punctuation_and_check_digits_decide() {
        for (rule, id) in [
            ("br-cnpj", "11.222.333/0001-81"),
            ("cl-rut", "12.958.797-0"),
            ("cl-rut", "5.126.663-3"),
            ("cz-birth-number", "850712/1238"),
            ("hk-id", "A123456(3)"),
            ("pk-cnic", "35202-1234567-1"),
        ] {
            check(id, &[(rule, id)]);
            check(&format!("no. {id}, x"), &[(rule, id)]);
        }
        for text in [
            "11.222.333/0001-82",
            "12.958.797-1",
            "12.958.7970",
            "850712/1239",
            "851512/1238",
            "A123456(4)",
            "f123456(3)x",
            "95202-1234567-1",
            "1.2.3/4",
            "12.345.678",
        ] {
            check(text, &[]);
        }
    }
}
