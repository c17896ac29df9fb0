//! The small parts that pages are made of.

use jiff::Timestamp;
use maud::{Markup, html};
use tidegate_core::{Class, Moment};

/// A class, in its own colour and its own word.
pub(super) fn class_chip(class: Class) -> Markup {
    html! { span class={ "chip class-" (class.as_str()) } { (class) } }
}

/// A word with a tone: `good`, `wait`, `bad`, `calm`.
pub(super) fn chip(tone: &str, word: &str) -> Markup {
    html! { span class={ "chip tone-" (tone) } { (word) } }
}

/// A point in time, as people read it; times of the gateway are in UTC.
pub(super) fn when(at_ms: i64) -> Markup {
    let Ok(time) = Timestamp::from_millisecond(at_ms) else {
        return html! { (at_ms) };
    };
    html! { time datetime=(time.to_string()) { (time.strftime("%d %b %H:%M:%S")) } }
}

/// The time of day alone, for pictures.
pub(super) fn clock(at_ms: i64) -> String {
    Timestamp::from_millisecond(at_ms).map_or_else(
        |_| at_ms.to_string(),
        |time| time.strftime("%H:%M:%S").to_string(),
    )
}

/// The wall clock.
pub(super) fn now() -> Moment {
    Moment(Timestamp::now().as_millisecond())
}

/// At most so many characters of a name, with a mark where some are missing.
pub(super) fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A table in a frame of its own that scrolls where the window is narrow, by touch and by keyboard.
pub(super) fn framed(name: &str, table: &Markup) -> Markup {
    html! { div.frame role="region" aria-label=(name) tabindex="0" { (table) } }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number with its groups apart.
pub(super) fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// One of something, or several.
pub(super) fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{} times", number(more)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_readable() {
        assert_eq!(number(0), "0");
        assert_eq!(number(999), "999");
        assert_eq!(number(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(short("search_email", 20), "search_email");
        assert_eq!(short("äöüäöü", 4), "äöü…");
        assert_eq!(times(1), "once");
        assert_eq!(times(3), "3 times");
        assert_eq!(clock(1_700_000_000_123), "22:13:20");
    }

    #[test]
    fn what_is_shown_is_escaped() {
        let shown = framed(
            "\"><script>alert(1)</script>",
            &chip("good", "<img src=x onerror=alert(1)>"),
        );
        let text = shown.into_string();
        assert!(!text.contains("<script") && !text.contains("<img"), "{text}");
    }
}
