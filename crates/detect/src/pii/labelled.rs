//! Values that only their label gives away: `dob: 1990-01-02`, `"guest_name": "…"`, `Passport no. …`.
//!
//! The label is the literal that the shared pass looks for; the value is read from what follows it.

mod date;
mod labels;

use std::ops::Range;

use super::address::ADDRESS;
use super::names::Names;
use super::phone;
use super::rule::{PiiRule, Sink};
use crate::candidates::{Hit, Literal};
use crate::table::{Column, MISFITS};
use labels::{LABELS, Value};

pub(crate) static BIRTH_DATE: PiiRule = PiiRule::personal(
    "date-of-birth",
    "a date of birth",
    "a possible date after words such as born or dob",
);
pub(crate) static PASSPORT: PiiRule = PiiRule::personal(
    "passport",
    "a passport number",
    "six to nine letters and digits after the word passport",
);
pub(crate) static DRIVER_LICENCE: PiiRule = PiiRule::personal(
    "driver-license",
    "a driving licence number",
    "five to eighteen letters and digits after words for a driving licence",
);
pub(crate) static BANK_ACCOUNT: PiiRule = PiiRule::personal(
    "bank-account",
    "a bank account number",
    "six to seventeen digits after words for an account",
);
pub(crate) static MEDICAL_RECORD: PiiRule = PiiRule::personal(
    "medical-record",
    "a medical record number",
    "letters and digits after words for a medical record",
);
pub(crate) static POSTAL_CODE: PiiRule = PiiRule::personal(
    "postal-code",
    "a postal code",
    "a code's shape after words such as zip or postcode",
);

/// The literals of every label.
pub(crate) fn literals() -> Vec<Literal> {
    LABELS
        .iter()
        .zip(0..)
        .map(|((label, _), tag)| Literal::any_case(*label, tag).at_word_start())
        .collect()
}

/// Decides about the value after a label.
pub(crate) fn check(text: &[u8], hit: &Hit, names: &Names, sink: &mut Sink<'_>) {
    let Some((_, value)) = LABELS.get(hit.tag as usize) else {
        return;
    };
    let before = hit
        .at
        .start
        .checked_sub(1)
        .and_then(|at| text.get(at))
        .copied()
        .unwrap_or(b' ');
    let humped = before.is_ascii_lowercase() && text.get(hit.at.start).is_some_and(u8::is_ascii_uppercase);
    if before.is_ascii_alphabetic() && !humped {
        return;
    }
    let end = hit.at.end;
    match value {
        Value::Date | Value::Passport | Value::DriverLicence | Value::BankAccount | Value::PostalCode => {
            if let Some(start) = joined_value(text, end) {
                check_code(text, start, *value, sink);
            }
        }
        Value::MedicalRecord => check_record(text, hit, sink),
        Value::NameField | Value::PerhapsNameField | Value::AddressField => {
            if let Some(value_at) = field_value(text, end) {
                check_field(text, value_at, *value, names, sink);
            }
        }
        Value::NameInText => names.check_titled(text, end, 80, sink),
        Value::KnownNameInText => names.check_known(text, end, 62, sink),
        Value::Titled => check_title(text, hit, names, sink),
        Value::SignedBelow => check_signature(text, end, names, sink),
        Value::Phone => {}
    }
    check_column(text, &hit.at, *value, names, sink);
}

/// Decides about a value that is a code and starts at a place.
fn check_code(text: &[u8], start: usize, value: Value, sink: &mut Sink<'_>) {
    match value {
        Value::Date => check_date(text, start, sink),
        Value::Passport => check_document(text, start, &PASSPORT, 6..=10, 2, sink),
        Value::DriverLicence => check_document(text, start, &DRIVER_LICENCE, 5..=18, 4, sink),
        Value::BankAccount => check_account(text, start, sink),
        Value::PostalCode => check_postal_code(text, start, sink),
        _ => {}
    }
}

/// Decides about a value that fills its field.
fn check_field(text: &[u8], field: Range<usize>, value: Value, names: &Names, sink: &mut Sink<'_>) {
    match value {
        Value::NameField => check_name(text, field, names, 85, sink),
        Value::PerhapsNameField => check_name(text, field, names, 30, sink),
        Value::AddressField => check_address(text, field, sink),
        _ => {}
    }
}

/// Decides about the values below a label that heads a column.
fn check_column(text: &[u8], label: &Range<usize>, value: Value, names: &Names, sink: &mut Sink<'_>) {
    let Some(column) = Column::below(text, &(label.start..heading_end(text, label.end))) else {
        return;
    };
    let mut misfits = 0;
    for cell in column.filter(|cell| !cell.is_empty()) {
        let before = sink.count();
        match value {
            Value::Phone => phone::check_column(text, &cell, sink),
            Value::MedicalRecord => check_record_number(text, cell.start, sink),
            Value::NameField | Value::PerhapsNameField | Value::AddressField => {
                check_field(text, cell, value, names, sink);
            }
            _ => check_code(text, cell.start, value, sink),
        }
        misfits += usize::from(sink.count() == before);
        if misfits > MISFITS {
            return;
        }
    }
}

/// A heading may say that it is a number: `account_number`, `Passport no`.
fn heading_end(text: &[u8], end: usize) -> usize {
    const TAILS: [&[u8]; 6] = [b"_number", b" number", b"number", b"_no", b" no", b" no."];
    let rest = text.get(end..).unwrap_or_default();
    let tail = TAILS.iter().rev().find(|tail| {
        rest.get(..tail.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tail))
            && !rest.get(tail.len()).is_some_and(u8::is_ascii_alphanumeric)
    });
    end + tail.map_or(0, |tail| tail.len())
}

fn check_title(text: &[u8], hit: &Hit, names: &Names, sink: &mut Sink<'_>) {
    if text.get(hit.at.start).is_some_and(u8::is_ascii_uppercase) {
        names.check_titled(text, hit.at.end, 75, sink);
    }
}

fn check_signature(text: &[u8], end: usize, names: &Names, sink: &mut Sink<'_>) {
    let rest = text.get(end..).unwrap_or_default();
    let break_length = rest
        .iter()
        .take(6)
        .take_while(|byte| matches!(byte, b' ' | b'\r' | b'\n'))
        .count();
    if rest.get(..break_length).is_some_and(|gap| gap.contains(&b'\n')) {
        let start = end + break_length;
        let line = line_end(text, start, 60);
        names.check_value(text, start..line, 68, sink);
    }
}

/// A field that holds nothing but names is believed; of another, only a value that starts with a known given name.
fn check_name(text: &[u8], value: Range<usize>, names: &Names, unknown: u8, sink: &mut Sink<'_>) {
    let percent = if names.starts_with_given(text, &value) {
        unknown.max(72)
    } else {
        unknown
    };
    names.check_value(text, value, percent, sink);
}

fn check_address(text: &[u8], value: Range<usize>, sink: &mut Sink<'_>) {
    let written = text.get(value.clone()).unwrap_or_default();
    let digits = written.iter().any(u8::is_ascii_digit);
    let words = written
        .split(|byte| *byte == b' ')
        .filter(|word| word.len() > 1)
        .count();
    let netlike = written
        .iter()
        .any(|byte| matches!(byte, b'@' | b':' | b'=' | b'{' | b'<'));
    if digits && words >= 2 && !netlike && written.iter().any(u8::is_ascii_uppercase) {
        sink.push(&ADDRESS, value, 72);
    }
}

/// The value of a field: after `:` or `=`, in quotes to the closing one, else to the end of the line or clause.
fn field_value(text: &[u8], end: usize) -> Option<Range<usize>> {
    let rest = text.get(end..)?;
    let gap = rest
        .iter()
        .take(8)
        .take_while(|byte| matches!(byte, b'"' | b'\'' | b'\\' | b' ' | b':' | b'=' | b'*'))
        .count();
    let between = rest.get(..gap)?;
    if !between.iter().any(|byte| matches!(byte, b':' | b'=')) {
        return None;
    }
    let start = end + gap;
    let stop = match between.last() {
        Some(quote @ (b'"' | b'\'')) => {
            let quote = *quote;
            let value = text
                .get(start..)?
                .iter()
                .take(120)
                .take_while(|byte| **byte != quote && **byte != b'\\' && **byte != b'\n');
            start + value.count()
        }
        _ => line_end(text, start, 120),
    };
    (stop > start).then_some(start..stop)
}

fn line_end(text: &[u8], start: usize, longest: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let stops = |byte: &u8| {
        matches!(
            byte,
            b'\n' | b'\r' | b',' | b';' | b'|' | b'(' | b'<' | b'"' | b'\t'
        )
    };
    let length = rest.iter().take(longest).take_while(|byte| !stops(byte)).count();
    let line = rest.get(..length).unwrap_or_default();
    start
        + line
            .trim_ascii_end()
            .strip_suffix(b".")
            .unwrap_or(line.trim_ascii_end())
            .len()
}

/// Where the value starts after a label: past punctuation and the small words that join the two.
fn joined_value(text: &[u8], end: usize) -> Option<usize> {
    const JOINTS: [&str; 16] = [
        "number", "num", "no", "nr", "n\u{b0}", "is", "was", "are", "id", "code", "of", "the", "on", "am",
        "my", "\u{ff1a}",
    ];
    let mut at = end;
    let limit = end + 36;
    while at < limit {
        let byte = *text.get(at)?;
        if matches!(
            byte,
            b' ' | b':' | b'=' | b'#' | b'"' | b'\'' | b'\\' | b'.' | b'(' | b'_' | b'-' | b'>' | b'\n'
        ) {
            at += 1;
            continue;
        }
        let rest = text.get(at..)?;
        let joint = JOINTS.iter().map(|joint| joint.as_bytes()).find(|joint| {
            let is_word = joint.last().is_some_and(u8::is_ascii_alphabetic);
            rest.get(..joint.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(joint))
                && !(is_word && rest.get(joint.len()).is_some_and(u8::is_ascii_alphanumeric))
        });
        match joint {
            Some(joint) => at += joint.len(),
            None => return Some(at),
        }
    }
    None
}

/// Letters and digits with single dashes or spaces between digits.
fn code_end(text: &[u8], start: usize, separators: &[u8]) -> usize {
    let mut end = start;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        end += rest
            .iter()
            .take(24)
            .take_while(|byte| byte.is_ascii_alphanumeric())
            .count();
        let goes_on = text.get(end).is_some_and(|byte| separators.contains(byte))
            && text.get(end + 1).is_some_and(u8::is_ascii_digit)
            && end - start < 24;
        if !goes_on {
            return end;
        }
        end += 1;
    }
}

fn check_document(
    text: &[u8],
    start: usize,
    rule: &PiiRule,
    lengths: std::ops::RangeInclusive<usize>,
    least_digits: usize,
    sink: &mut Sink<'_>,
) {
    let stop = code_end(text, start, b"-");
    let written = text.get(start..stop).unwrap_or_default();
    let digits = written.iter().filter(|byte| byte.is_ascii_digit()).count();
    let chars = written.iter().filter(|byte| byte.is_ascii_alphanumeric()).count();
    let small = written.iter().filter(|byte| byte.is_ascii_lowercase()).count();
    if lengths.contains(&chars) && digits >= least_digits && small <= 2 {
        sink.push(rule, start..stop, 80);
    }
}

fn check_account(text: &[u8], start: usize, sink: &mut Sink<'_>) {
    let stop = code_end(text, start, b"- ");
    let written = text.get(start..stop).unwrap_or_default();
    let digits = written.iter().filter(|byte| byte.is_ascii_digit()).count();
    let solid = written
        .iter()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b' '));
    if solid && (6..=17).contains(&digits) {
        sink.push(&BANK_ACCOUNT, start..stop, 75);
    }
}

fn check_record(text: &[u8], hit: &Hit, sink: &mut Sink<'_>) {
    let label = text.get(hit.at.clone()).unwrap_or_default();
    let Some(mut start) = joined_value(text, hit.at.end) else {
        return;
    };
    // The label may be the first part of the number itself, as in MRN-12345.
    if label.eq_ignore_ascii_case(b"mrn") && text.get(hit.at.end) == Some(&b'-') {
        start = hit.at.start;
    }
    check_record_number(text, start, sink);
}

fn check_record_number(text: &[u8], start: usize, sink: &mut Sink<'_>) {
    let stop = code_end(text, start, b"-");
    let written = text.get(start..stop).unwrap_or_default();
    let digits = written.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits >= 5 && written.len() <= 20 {
        sink.push(&MEDICAL_RECORD, start..stop, 80);
    }
}

fn check_postal_code(text: &[u8], start: usize, sink: &mut Sink<'_>) {
    let stop = code_end(text, start, b"- ");
    let written = text.get(start..stop).unwrap_or_default();
    let digits = written.iter().filter(|byte| byte.is_ascii_digit()).count();
    let chars = written.iter().filter(|byte| **byte != b' ').count();
    let long_enough = chars >= 4 || chars == 3 && digits == 3;
    if written.len() <= 10 && digits >= 2 && long_enough && chars <= 9 {
        sink.push(&POSTAL_CODE, start..stop, 65);
    }
}

fn check_date(text: &[u8], start: usize, sink: &mut Sink<'_>) {
    if let Some(stop) = date::end(text, start) {
        sink.push(&BIRTH_DATE, start..stop, 85);
    }
}

#[cfg(test)]
mod tests {
    use crate::pii::tests::check;

    #[test]
    fn values_after_labels() {
        check("DOB: 1990-02-11.", &[("date-of-birth", "1990-02-11")]);
        check("born on 11 March 1990 in", &[("date-of-birth", "11 March 1990")]);
        check("passport number is XN1234567", &[("passport", "XN1234567")]);
        check(
            "driver's license number is F162823540116",
            &[("driver-license", "F162823540116")],
        );
        check("Account: 9406135368, x", &[("bank-account", "9406135368")]);
        check("(MRN: MRN-8951477)", &[("medical-record", "MRN-8951477")]);
        check("My zip code is 76400", &[("postal-code", "76400")]);
    }

    #[test]
    fn dates_of_birth_in_other_forms_and_languages() {
        for (text, date) in [
            ("Geburtsdatum: 3. Mai 1979", "3. Mai 1979"),
            ("n\u{e9}e le 5 juillet 1974 \u{e0} Lyon", "5 juillet 1974"),
            ("Data di nascita: 12/03/1985", "12/03/1985"),
            ("Дата рождения: 12 марта 1985 г.", "12 марта 1985"),
            ("生年月日\u{ff1a}1985年3月12日", "1985年3月12日"),
            ("<dob>1982-09-19</dob>", "1982-09-19"),
            ("birthDate=1982-09-19T00:00:00Z", "1982-09-19"),
            ("DOB=19820919", "19820919"),
        ] {
            check(text, &[("date-of-birth", date)]);
        }
        check("dob: 82091999, dob > 12, born free in 1966", &[]);
        check("passeport n\u{b0} 14AB12345", &[("passport", "14AB12345")]);
    }

    #[test]
    fn values_below_labels() {
        check(
            "name,ssn,dob\nHarold Bixby,254-30-7716,03/14/1962\n",
            &[
                ("person-name", "Harold Bixby"),
                ("us-ssn", "254-30-7716"),
                ("date-of-birth", "03/14/1962"),
            ],
        );
        check(
            "id,phone number,Account\n1,2125550187,73289104\n",
            &[("phone", "2125550187"), ("bank-account", "73289104")],
        );
        check("x\tpassport\nA\t533401288\n", &[("passport", "533401288")]);
        check(
            "first_name,last_name\nXyla,Quorn\nN/A,Demir\n",
            &[
                ("person-name", "Xyla"),
                ("person-name", "Quorn"),
                ("person-name", "Demir"),
            ],
        );
        check(
            "| DOB | City |\n|---|---|\n| 1982-09-19 | Rome |",
            &[("date-of-birth", "1982-09-19")],
        );
        check(
            "street,city\n77 Massachusetts Ave,Cambridge\n",
            &[("postal-address", "77 Massachusetts Ave")],
        );
    }

    #[test]
    fn what_stands_below_other_headings() {
        check("name,size\nBackup Job,1982-09-19\n", &[]);
        check("the account, or\n21255501, or\n", &[]);
        check("account,type\nopen,1\nclosed,73289104\n", &[]);
        check("dob count,total\n1982-09-19,19820919\n", &[]);
    }

    #[test]
    fn names_and_addresses_in_fields() {
        check(
            r#"{"guest_name": "Xyla Quorn"}"#,
            &[("person-name", "Xyla Quorn")],
        );
        check(
            r#"{\"guestName\": \"Xyla Quorn\"}"#,
            &[("person-name", "Xyla Quorn")],
        );
        check(r#"{"name": "Mary"}"#, &[("person-name", "Mary")]);
        check(r#"{"name": "Backup Job"}"#, &[]);
        check("My name is Rubija", &[("person-name", "Rubija")]);
        check("Contact Mr. Gonzalez at", &[("person-name", "Gonzalez")]);
        check("Best regards,\nXyla Quorn\n", &[("person-name", "Xyla Quorn")]);
        check(
            r#"{"address": "5 Long Hollow, Springfield"}"#,
            &[("postal-address", "5 Long Hollow, Springfield")],
        );
    }
}
