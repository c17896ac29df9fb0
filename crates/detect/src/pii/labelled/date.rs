//! Dates as people and programs write them: in digits, with the name of a month, and in East Asian characters.

use crate::pii::ids::checks::{is_date, number};

/// The end of the date that starts at a place.
pub(super) fn end(text: &[u8], start: usize) -> Option<usize> {
    numeric_end(text, start)
        .or_else(|| solid_end(text, start))
        .or_else(|| marked_end(text, start))
        .or_else(|| worded_end(text, start))
}

/// `1990-01-02`, `2.1.1990`, and either of them before a time of the day.
fn numeric_end(text: &[u8], start: usize) -> Option<usize> {
    let mut parts = [0u32; 3];
    let mut at = start;
    let mut separator = None;
    for (index, part) in parts.iter_mut().enumerate() {
        if index > 0 {
            let byte = *text.get(at).filter(|byte| matches!(byte, b'-' | b'/' | b'.'))?;
            if separator.is_some_and(|first| first != byte) {
                return None;
            }
            separator = Some(byte);
            at += 1;
        }
        let length = digits(text, at, 4)?;
        *part = number(text, at..at + length);
        at += length;
    }
    let [first, second, third] = parts;
    let possible = is_date(second, third) || is_date(second, first) || is_date(first, second);
    let has_time = matches!(text.get(at..), Some([b'T', hour, ..]) if hour.is_ascii_digit());
    (possible && (has_time || !text.get(at).is_some_and(u8::is_ascii_alphanumeric))).then_some(at)
}

/// `19900102`: eight digits are a date only when year, month and day can all be.
fn solid_end(text: &[u8], start: usize) -> Option<usize> {
    let at = start + digits(text, start, 8).filter(|length| *length == 8)?;
    let possible = (1900..2100).contains(&number(text, start..start + 4))
        && is_date(number(text, start + 4..start + 6), number(text, start + 6..at));
    (possible && !text.get(at).is_some_and(u8::is_ascii_alphanumeric)).then_some(at)
}

/// `1990年1月2日`, `1990년 1월 2일`.
fn marked_end(text: &[u8], start: usize) -> Option<usize> {
    const MARKS: [[&str; 3]; 2] = [["年", "月", "日"], ["년", "월", "일"]];
    MARKS.iter().find_map(|marks| {
        let mut at = start;
        for mark in marks {
            if at > start && text.get(at) == Some(&b' ') {
                at += 1;
            }
            at += digits(text, at, 4)?;
            text.get(at..)?.starts_with(mark.as_bytes()).then_some(())?;
            at += mark.len();
        }
        Some(at)
    })
}

/// The number of digits at a place, unless there are none or more than `most`.
fn digits(text: &[u8], at: usize, most: usize) -> Option<usize> {
    let run = text.get(at..)?.iter().take(most + 1);
    let length = run.take_while(|byte| byte.is_ascii_digit()).count();
    (1..=most).contains(&length).then_some(length)
}

/// The most words of a date: `el 4 de mayo de 1990` has them all.
const WORDS: usize = 6;

/// `12 March 1990`, `March 12, 1990`, `02-Jan-1990`, `4 de mayo de 1990`.
fn worded_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    let mut month = false;
    for _ in 0..WORDS {
        let rest = text.get(at..)?;
        let letters = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte >= 0x80;
        let length = rest.iter().take(24).take_while(letters).count();
        let word = rest.get(..length).filter(|word| !word.is_empty())?;
        at += length;
        match word {
            [first, ..] if first.is_ascii_digit() => {
                if length == 4 && word.iter().all(u8::is_ascii_digit) {
                    return month.then_some(at);
                }
            }
            _ if is_month(word) => month = true,
            // The small words between: of, the, de, den.
            _ if length <= 3 => {}
            _ => return None,
        }
        let between = |byte: &&u8| matches!(byte, b' ' | b',' | b'.' | b'-' | b'/');
        at += text.get(at..)?.iter().take(2).take_while(between).count();
    }
    None
}

fn is_month(word: &[u8]) -> bool {
    MONTHS.iter().any(|name| {
        word.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
    })
}

/// How the names of the months begin in the languages whose words for a date of birth are known.
#[rustfmt::skip]
const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    // German, Dutch, the Nordic languages.
    "jän", "mär", "mae", "maa", "mrt", "mai", "maj", "mei", "okt", "dez", "des",
    // French.
    "fév", "fev", "avr", "jui", "aoû", "aou", "déc",
    // Spanish, Italian, Portuguese.
    "ene", "abr", "ago", "dic", "gen", "mag", "giu", "lug", "set", "ott", "out",
    // Polish.
    "sty", "lut", "kwi", "cze", "lip", "sie", "wrz", "paź", "lis", "gru",
    // Russian.
    "янв", "фев", "мар", "апр", "мая", "май", "июн", "июл", "авг", "сен", "окт", "ноя", "дек",
    // Turkish.
    "oca", "şub", "nis", "haz", "tem", "ağu", "eyl", "eki", "kas", "ara",
];

#[cfg(test)]
mod tests {
    use super::end;

    #[test]
    fn dates_end_where_they_end() {
        for date in [
            "1990-01-02",
            "2.1.1990",
            "01/02/90",
            "19820919",
            "1985年3月12日",
            "1985년 3월 12일",
            "12 March 1990",
            "March 12, 1990",
            "12th of March, 1990",
            "02-Jan-1949",
            "3. Mai 1979",
            "5 juillet 1974",
            "1er août 1974",
            "4 de mayo de 1990",
            "7 października 1981",
            "12 марта 1985",
        ] {
            for after in ["", ".", " x", "</dob>", "\"", "\n"] {
                let text = format!("{date}{after}");
                assert_eq!(end(text.as_bytes(), 0), Some(date.len()), "{text}");
            }
        }
        assert_eq!(end(b"1982-09-19T00:00:00Z", 0), Some(10));
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "",
            "12",
            "1990-13-32",
            "1990-01-02x",
            "1990-01-02Tuesday",
            "19821319",
            "18820919",
            "198209190",
            "19820919a",
            "1985年3月",
            "12 tomatoes 1990",
            "12 March 19901",
            "March of the penguins, 2005",
            "in 1990",
        ] {
            assert_eq!(end(text.as_bytes(), 0), None, "{text}");
        }
    }
}
