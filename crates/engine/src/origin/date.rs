//! Days of the calendar, known again in another spelling: what a person types as "May 1st to 5th" a tool is given as
//! `2024-05-01`.

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The most days that wait for their month.
const MOST_WAITING: usize = 4;

/// Reads words one after the other and says which days they name.
#[derive(Debug, Default)]
pub(super) struct Days {
    /// Days whose month has not come yet.
    waiting: Vec<u8>,
    /// The month that days may still follow.
    month: Option<u8>,
    /// Days of the last month that a year may still follow.
    yearless: Vec<(u8, u8)>,
}

impl Days {
    /// The days that this word completes, each with its year and, where it has none, without.
    pub(super) fn read(&mut self, word: &str) -> Vec<String> {
        if let Some(days) = numeric(word) {
            self.forget();
            return days;
        }
        if let Some(month) = month(word) {
            let waiting = std::mem::take(&mut self.waiting);
            self.month = Some(month);
            self.yearless = waiting.iter().map(|day| (month, *day)).collect();
            return self.yearless.iter().map(|(m, d)| yearless(*m, *d)).collect();
        }
        if let Some(year) = year(word) {
            let dated = std::mem::take(&mut self.yearless);
            self.forget();
            return dated.iter().map(|(m, d)| full(year, *m, *d)).collect();
        }
        let days = days(word);
        if days.is_empty() {
            if !matches!(word, "to" | "the" | "of" | "and" | "until" | "till" | "through") {
                self.forget();
            }
            return Vec::new();
        }
        let found = match self.month {
            Some(month) => {
                let dated: Vec<_> = days.iter().map(|day| (month, *day)).collect();
                let found = dated.iter().map(|(m, d)| yearless(*m, *d)).collect();
                self.yearless.extend(dated);
                found
            }
            None => Vec::new(),
        };
        self.waiting.extend(days);
        let surplus = self.waiting.len().saturating_sub(MOST_WAITING);
        self.waiting.drain(..surplus);
        found
    }

    fn forget(&mut self) {
        *self = Self::default();
    }
}

fn yearless(month: u8, day: u8) -> String {
    format!("day:{month:02}-{day:02}")
}

fn full(year: u16, month: u8, day: u8) -> String {
    format!("day:{year:04}-{month:02}-{day:02}")
}

/// A day in full as it is said without its year.
pub(super) fn without_year(day: &str) -> Option<String> {
    let rest = day.strip_prefix("day:")?.split_once('-')?.1;
    rest.contains('-').then(|| format!("day:{rest}"))
}

fn month(word: &str) -> Option<u8> {
    let at = MONTHS.iter().position(|month| {
        *month == word || (word.len() >= 3 && word.len() <= 4 && month.starts_with(word))
    })?;
    u8::try_from(at + 1).ok()
}

fn year(word: &str) -> Option<u16> {
    let number: u16 = word.parse().ok()?;
    (word.len() == 4 && (1900..=2199).contains(&number)).then_some(number)
}

/// `1`, `1st`, `1-5`.
fn days(word: &str) -> Vec<u8> {
    let day = |text: &str| {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let suffix = text.get(digits.len()..).unwrap_or_default();
        let number: u8 = digits.parse().ok()?;
        (digits.len() <= 2 && (1..=31).contains(&number) && matches!(suffix, "" | "st" | "nd" | "rd" | "th"))
            .then_some(number)
    };
    let days: Option<Vec<u8>> = word.split(['-', '/']).map(day).collect();
    days.filter(|days| days.len() <= 2).unwrap_or_default()
}

/// `2024-05-01` and the like. Words come without the hyphens of numbers, so eight digits may be such a day.
fn numeric(word: &str) -> Option<Vec<String>> {
    let digits: String = word.chars().filter(char::is_ascii_digit).collect();
    let plain = word
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '-' | '/' | '.'));
    if digits.len() != 8 || !plain {
        return None;
    }
    let number = |at: usize, length: usize| digits.get(at..at + length)?.parse::<u16>().ok();
    let orders = [
        (number(0, 4), number(4, 2), number(6, 2)),
        (number(4, 4), number(2, 2), number(0, 2)),
        (number(4, 4), number(0, 2), number(2, 2)),
    ];
    let days = orders.into_iter().filter_map(|(year, month, day)| {
        let (year, month, day) = (year?, u8::try_from(month?).ok()?, u8::try_from(day?).ok()?);
        let is_day = (1900..=2199).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        is_day.then(|| full(year, month, day))
    });
    let days: Vec<_> = days.collect();
    (!days.is_empty()).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_known_in_many_spellings() {
        for (text, expected) in [
            (
                "from january 11th to january 15th 2025",
                &[
                    "day:01-11",
                    "day:01-11",
                    "day:01-15",
                    "day:2025-01-11",
                    "day:2025-01-15",
                ][..],
            ),
            (
                "from the 1st to the 5th of may 2024",
                &["day:05-01", "day:05-05", "day:2024-05-01", "day:2024-05-05"],
            ),
            (
                "the 1st of june to the 5th of july",
                &["day:06-01", "day:06-05", "day:07-05"],
            ),
            ("october 1-5", &["day:10-01", "day:10-05"]),
            ("20240501", &["day:2024-05-01"]),
            ("may we march 3 times", &["day:03-03"]),
            ("it rained 3 of 31 days", &[]),
        ] {
            let mut days = Days::default();
            let found: Vec<_> = text.split(' ').flat_map(|word| days.read(word)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_full_day_loses_its_year_once() {
        assert_eq!(without_year("day:2024-05-01").as_deref(), Some("day:05-01"));
        assert_eq!(without_year("day:05-01"), None);
    }
}
