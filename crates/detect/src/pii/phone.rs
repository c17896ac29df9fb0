//! Telephone numbers.
//!
//! An international number is checked against the numbering plan of its calling code, from the metadata that the
//! `phonenumber` crate maintains. Its own parser takes microseconds for each number; here the plans' patterns are
//! compiled once into automata. A number without a code is believed by the way it is written or by words nearby.

mod plan;
mod read;

use std::ops::Range;

use super::context::ContextWords;
use super::rule::{PiiRule, Sink};
use read::Written;

pub(crate) static PHONE: PiiRule = PiiRule::personal(
    "phone",
    "a telephone number",
    "the numbering plan of its calling code, the way it is grouped, or words such as call and mobile nearby",
);

const WORDS_BEFORE: ContextWords = ContextWords::new(&[
    "phone",
    "tel",
    "call",
    "mobil",
    "cell",
    "fax",
    "contact",
    "dial",
    "sms",
    "whatsapp",
    "desk",
    "hotline",
    "answering",
    "reach",
    "messages",
    "ring",
    "handy",
    "telefon",
    "téléphone",
    "movil",
    "móvil",
    "celular",
    "landline",
    "text me",
    "text him",
    "text her",
    "text us",
    "msisdn",
    "llámame",
    "llamame",
    "llámanos",
    "llamar al",
    "llame al",
    "número es",
    "numero es",
    "mi número",
    "chiamami",
    "chiamare",
    "chiama il",
    "numero è",
    "appelez",
    "appelle",
    "joindre",
    "joignable",
    "numéro est",
    "bel me",
    "bel ons",
    "bel naar",
    "rufen sie",
    "ruf mich",
    "anrufen",
    "extension",
    "office",
    "number is",
    "number to",
    "my number",
]);
/// Asked for only where such letters stand: a word that starts with none of ours can start at any byte.
const WORDS_BEYOND_ASCII: ContextWords = ContextWords::new(&[
    "звони",
    "Звони",
    "позвони",
    "Позвони",
    "тел",
    "Тел",
    "моб",
    "Моб",
    "电话",
    "電話",
    "手机",
    "手機",
    "携帯",
    "전화",
    "휴대폰",
    "연락처",
]);
const WORDS_AFTER: ContextWords =
    ContextWords::new(&["office", "fax", "mobile", "cell", "home", "work", "desk", "tel"]);
const REACH_BEFORE: usize = 36;
const REACH_AFTER: usize = 10;

/// The fewest digits of any number that is reported.
const FEWEST_DIGITS: usize = 7;

/// Decides about a number whose first digit stands at a place, with so many digits before the first gap.
pub(crate) fn check(text: &[u8], digit: usize, run: usize, sink: &mut Sink<'_>) {
    if run < FEWEST_DIGITS && !goes_on(text, digit + run) {
        return;
    }
    let Some(written) = read::number(text, digit) else {
        return;
    };
    let sure = sureness(&written);
    if sure == 0 {
        return;
    }
    if sure >= 90 || !sink.wants(80) {
        sink.push(&PHONE, written.span, sure);
        return;
    }
    let named = WORDS_BEFORE.before(text, written.span.start, REACH_BEFORE)
        || is_named_beyond_ascii(text, written.span.start)
        || WORDS_AFTER.within(
            text,
            written.span.end..(written.span.end + REACH_AFTER).min(text.len()),
        );
    let sure = if named { sure.max(80) } else { sure };
    sink.push(&PHONE, written.span, sure);
}

fn is_named_beyond_ascii(text: &[u8], start: usize) -> bool {
    let before = text.get(start.saturating_sub(REACH_BEFORE)..start);
    !before.is_none_or(<[u8]>::is_ascii) && WORDS_BEYOND_ASCII.before(text, start, REACH_BEFORE)
}

/// Decides about a cell below a label such as phone: any number that could be one is.
pub(crate) fn check_column(text: &[u8], cell: &Range<usize>, sink: &mut Sink<'_>) {
    let written = text.get(cell.clone()).unwrap_or_default();
    let Some(lead) = written.iter().position(u8::is_ascii_digit) else {
        return;
    };
    // Read by itself: a number in the cell before is no part of it.
    if let Some(number) = read::number(written, lead)
        && number.span.start == 0
        && sureness(&number) > 0
    {
        sink.push(&PHONE, cell.start..cell.start + number.span.end, 80);
    }
}

/// Whether more digits may follow those that end at a place.
fn goes_on(text: &[u8], end: usize) -> bool {
    match text.get(end..) {
        Some([b' ' | b'-' | b'.' | b'/' | b'(' | b')', rest @ ..]) => {
            rest.iter().take(3).any(u8::is_ascii_digit)
        }
        _ => false,
    }
}

/// How sure the writing alone makes it.
fn sureness(written: &Written) -> u8 {
    let digits = written.digits();
    if written.plus {
        return international(digits);
    }
    if let Some(rest) = digits.strip_prefix(b"00").or_else(|| digits.strip_prefix(b"011"))
        && written.groups() > 1
        && !matches!(plan::judge(rest), plan::Verdict::Impossible)
    {
        return 75;
    }
    match (digits.len(), written.groups()) {
        (10, 3) if written.lengths() == [3, 3, 4] => north_american(digits, written),
        (11, 4) if digits.first() == Some(&b'1') && written.lengths() == [1, 3, 3, 4] => {
            north_american(digits.get(1..).unwrap_or_default(), written)
        }
        (10, 2) if written.parenthesised && written.lengths() == [3, 7] => north_american(digits, written),
        (9..=11, 3..=5) if digits.first() == Some(&b'0') => 60,
        (9..=11, 2) if digits.first() == Some(&b'0') => 45,
        (7..=15, 2..) if written.parenthesised => 55,
        (7..=15, 1) => 15,
        (7..=15, _) => 25,
        _ => 0,
    }
}

fn international(digits: &[u8]) -> u8 {
    match plan::judge(digits) {
        plan::Verdict::Planned => 96,
        plan::Verdict::Possible => 75,
        // Plans change, and people write what is left over from old ones: then the words nearby decide.
        plan::Verdict::Impossible if (FEWEST_DIGITS..=15).contains(&digits.len()) => 15,
        plan::Verdict::Impossible => 0,
    }
}

fn north_american(digits: &[u8], written: &Written) -> u8 {
    let area_ok = digits.first().is_some_and(|digit| (b'2'..=b'9').contains(digit));
    let exchange_ok = digits.get(3).is_some_and(|digit| (b'2'..=b'9').contains(digit));
    match (area_ok && exchange_ok, written.spaced_only) {
        (true, false) => 85,
        (true, true) => 60,
        (false, false) => 55,
        (false, true) => 35,
    }
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn numbers_as_people_write_them() {
        for number in [
            "+1 (416) 555-0132",
            "+44 (20) 7123 4567",
            "+49 30 1234567",
            "+33 1 42 68 53 00",
            "+41 (0)96 471 07 95",
            "905-674-3793",
            "(415)555-0132",
            "(415) 555-0132",
            "930.167.3943",
            "01.84.17.61.18",
            "0490 75 40 81",
            "+91 4155550132",
            "001-253-366-9781",
            "(898)666-3621x0135",
            "+5511984565666",
        ] {
            check(&format!("x {number}, y"), &[("phone", number)]);
        }
        check(
            "They're not answering at 71-33-52-22",
            &[("phone", "71-33-52-22")],
        );
        check("Phone: 3660170548", &[("phone", "3660170548")]);
        check("call me on 450 0840?", &[("phone", "450 0840")]);
        for (before, number) in [
            ("text him at ", "2125550187"),
            ("Ll\u{e1}mame al ", "55 1234 5678"),
            ("Chiamami al ", "347 1234567"),
            ("Bel me op ", "06-12345678"),
            ("Rufen Sie mich an: ", "0171/2345678"),
            ("Mobil: ", "0171 2345678"),
            ("电话：", "13812345678"),
            ("phone: ", "+52 1 55 1234 5678"),
        ] {
            check(&format!("{before}{number}"), &[("phone", number)]);
        }
    }

    #[test]
    fn numbers_that_are_something_else() {
        check("on 2024-01-02 and 01.02.2024 at 12:30", &[]);
        check("1700000000 items, 3660170548 bytes, 12 345 678 rows", &[]);
        check("isbn 978-3-16-148410-0", &[]);
        check("+1 23", &[]);
        check("offset +99912345678, 号码 13812345", &[]);
    }
}
