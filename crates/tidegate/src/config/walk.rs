//! Walking a parsed TOML table so that no key is overlooked.
//!
//! Each part of the configuration asks a [`Section`] for the keys it understands. What nobody asked for is reported when
//! the section goes out of scope, so the list of known keys is the code that reads them and cannot drift from it, and
//! no part can forget the check. Wrong types are reported and read as absent; the report then keeps the configuration
//! from being used at all.

use std::fmt::Display;
use std::ops::{Deref, RangeInclusive};
use std::str::FromStr;

use toml::de::{DeString, DeTable, DeValue};

use super::problem::Report;

type Value<'i> = toml::Spanned<DeValue<'i>>;

const TEXT: &str = "a text in quotes";

/// A value and the byte where it starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) offset: usize,
}

impl<T> Deref for At<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// One table of the file.
pub(super) struct Section<'r, 'i> {
    report: &'r Report<'i>,
    /// Its dotted name; empty for the whole file.
    path: String,
    /// Where its name stands.
    pub(super) offset: usize,
    table: &'r DeTable<'i>,
    asked: Vec<&'r str>,
}

impl<'r, 'i> Section<'r, 'i> {
    /// The whole file.
    pub(super) const fn root(report: &'r Report<'i>, table: &'r DeTable<'i>) -> Self {
        Self {
            report,
            path: String::new(),
            offset: 0,
            table,
            asked: Vec::new(),
        }
    }

    /// Where mistakes are reported.
    pub(super) const fn report(&self) -> &'r Report<'i> {
        self.report
    }

    /// The dotted name of one of its keys.
    pub(super) fn name_of(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// Where one of its keys stands, or the section itself if it has no such key.
    pub(super) fn offset_of(&self, key: &str) -> usize {
        let found = self.table.keys().find(|name| *name.get_ref() == key);
        found.map_or(self.offset, |name| name.span().start)
    }

    /// Whether the key is there at all, whatever its value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Takes a key as read without looking at its value.
    pub(super) fn ignore(&mut self, key: &'static str) {
        self.asked.push(key);
    }

    /// Takes every key as read: something worse was said of the whole section.
    pub(super) fn abandon(mut self) {
        self.asked.extend(self.table.keys().map(|key| &**key.get_ref()));
    }

    /// A text.
    pub(super) fn text(&mut self, key: &'static str) -> Option<At<&'r str>> {
        self.read(key, TEXT, as_text)
    }

    /// A yes or no.
    pub(super) fn flag(&mut self, key: &'static str) -> Option<At<bool>> {
        self.read(key, "true or false", DeValue::as_bool)
    }

    /// A whole number within bounds.
    pub(super) fn count(&mut self, key: &'static str, bounds: RangeInclusive<u64>) -> Option<u64> {
        let integer = self.read(key, "a whole number", DeValue::as_integer)?;
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let fitting = number.filter(|number| bounds.contains(number));
        if fitting.is_none() {
            let (name, low, high) = (self.name_of(key), bounds.start(), bounds.end());
            self.report.error(
                integer.offset,
                format_args!("{name} must be between {low} and {high}"),
            );
        }
        fitting
    }

    /// A list of whole numbers within bounds.
    pub(super) fn counts(&mut self, key: &'static str, bounds: RangeInclusive<u64>) -> Option<Vec<u64>> {
        let expected = "a list of whole numbers, [443, 80]";
        let path = self.name_of(key);
        let array = self.read(key, expected, DeValue::as_array)?;
        let read = |item: &'r Value<'i>| {
            let integer = typed(self.report, &path, item, expected, DeValue::as_integer)?;
            let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
            let fitting = number.filter(|number| bounds.contains(number));
            if fitting.is_none() {
                let (low, high) = (bounds.start(), bounds.end());
                let error = format_args!("{path}: each must be between {low} and {high}");
                self.report.error(integer.offset, error);
            }
            fitting
        };
        Some(array.value.iter().filter_map(read).collect())
    }

    /// A number, whole or not.
    pub(super) fn number(&mut self, key: &'static str) -> Option<At<f64>> {
        self.read(key, "a number", |value| match value {
            DeValue::Float(float) => float.as_str().parse().ok(),
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
            _ => None,
        })
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, key: &'static str) -> Vec<At<&'r str>> {
        let expected = "a list of texts, [\"...\"]";
        let path = self.name_of(key);
        let Some(array) = self.read(key, expected, DeValue::as_array) else {
            return Vec::new();
        };
        let read = |item: &'r Value<'i>| typed(self.report, &path, item, expected, as_text);
        array.value.iter().filter_map(read).collect()
    }

    /// A text that stands for something; `known` are the spellings to suggest when it does not.
    pub(super) fn parsed<T>(&mut self, key: &'static str, known: &[&str]) -> Option<At<T>>
    where
        T: FromStr,
        T::Err: Display,
    {
        let text = self.text(key)?;
        self.parse(&self.name_of(key), text, known)
    }

    /// Reads a text that stands for something, reporting it under a name when it does not.
    pub(super) fn parse<T>(&self, name: &str, text: At<&str>, known: &[&str]) -> Option<At<T>>
    where
        T: FromStr,
        T::Err: Display,
    {
        let At { value, offset } = text;
        match value.parse() {
            Ok(value) => Some(At { value, offset }),
            Err(why) => {
                let hint = suggestion(value, known);
                self.report.error(offset, format_args!("{name}: {why}{hint}"));
                None
            }
        }
    }

    /// The table of that name.
    pub(super) fn section(&mut self, key: &'static str) -> Option<Section<'r, 'i>> {
        let offset = self.offset_of(key);
        let table = self.read(key, "a table", DeValue::as_table)?;
        Some(self.below(self.name_of(key), offset, table.value))
    }

    /// The tables inside the table of that name, each with the name that the file's author gave it.
    pub(super) fn sections(&mut self, key: &'static str) -> Vec<(At<&'r str>, Section<'r, 'i>)> {
        let outer = self.name_of(key);
        let entries = self.entries(key);
        let read = |(name, value): (At<&'r str>, _)| {
            let path = join(&outer, &name);
            let table = typed(self.report, &path, value, "a table", DeValue::as_table)?;
            Some((name, self.below(path, name.offset, table.value)))
        };
        entries.into_iter().filter_map(read).collect()
    }

    /// The names and texts in the table of that name, whatever the names are.
    pub(super) fn pairs(&mut self, key: &'static str) -> Vec<(At<&'r str>, At<&'r str>)> {
        let outer = self.name_of(key);
        let entries = self.entries(key);
        let read = |(name, value): (At<&'r str>, _)| {
            let text = typed(self.report, &join(&outer, &name), value, TEXT, as_text)?;
            Some((name, text))
        };
        entries.into_iter().filter_map(read).collect()
    }

    /// The tables of the list of that name, `[[key]]`.
    pub(super) fn rows(&mut self, key: &'static str) -> Vec<Section<'r, 'i>> {
        let path = self.name_of(key);
        let expected = "a list of tables, [[...]]";
        let Some(array) = self.read(key, expected, DeValue::as_array) else {
            return Vec::new();
        };
        let read = |item: &'r Value<'i>| {
            let table = typed(self.report, &path, item, expected, DeValue::as_table)?;
            Some(self.below(path.clone(), table.offset, table.value))
        };
        array.value.iter().filter_map(read).collect()
    }

    fn entries(&mut self, key: &'static str) -> Vec<(At<&'r str>, &'r Value<'i>)> {
        let Some(table) = self.read(key, "a table", DeValue::as_table) else {
            return Vec::new();
        };
        let named = |(name, value): (&'r toml::Spanned<DeString<'i>>, &'r Value<'i>)| {
            let offset = name.span().start;
            (
                At {
                    value: &**name.get_ref(),
                    offset,
                },
                value,
            )
        };
        table.value.iter().map(named).collect()
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&'r DeValue<'i>) -> Option<T>,
    ) -> Option<At<T>> {
        self.asked.push(key);
        let value = self.table.get(key)?;
        typed(self.report, &self.name_of(key), value, expected, read)
    }

    fn below(&self, path: String, offset: usize, table: &'r DeTable<'i>) -> Section<'r, 'i> {
        Section {
            report: self.report,
            path,
            offset,
            table,
            asked: Vec::new(),
        }
    }
}

impl Drop for Section<'_, '_> {
    fn drop(&mut self) {
        for (key, value) in self.table {
            let name = &**key.get_ref();
            if self.asked.contains(&name) {
                continue;
            }
            let hint = match (value.get_ref(), self.path.split_once('.')) {
                (DeValue::Table(_), Some((kind, owner))) if !owner.contains('.') => {
                    format!(
                        "; a name with a dot in it needs quotes, [{kind}.\"{owner}.{}\"]",
                        shown(name)
                    )
                }
                _ => suggestion(name, &self.asked),
            };
            let path = self.name_of(name);
            self.report
                .error(key.span().start, format_args!("unknown key {path}{hint}"));
        }
    }
}

/// The value as the type that was expected; a wrong one is reported and read as absent.
fn typed<'r, 'i, T>(
    report: &Report<'_>,
    name: &str,
    value: &'r Value<'i>,
    expected: &str,
    read: impl FnOnce(&'r DeValue<'i>) -> Option<T>,
) -> Option<At<T>> {
    let offset = value.span().start;
    let Some(read) = read(value.get_ref()) else {
        let found = value.get_ref().type_str();
        report.error(
            offset,
            format_args!("{name} must be {expected}, not {} {found}", article(found)),
        );
        return None;
    };
    Some(At { value: read, offset })
}

fn as_text<'r>(value: &'r DeValue<'_>) -> Option<&'r str> {
    match value {
        DeValue::String(text) => Some(&**text),
        _ => None,
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'i']) { "an" } else { "a" }
}

/// A dotted name, with quotes around what TOML would not read as a bare key.
fn join(path: &str, key: &str) -> String {
    let bare = !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    let key = if bare {
        shown(key)
    } else {
        format!("\"{}\"", shown(key))
    };
    if path.is_empty() {
        key
    } else {
        format!("{path}.{key}")
    }
}

/// A key as it may be printed: bounded, and with nothing that moves a terminal's cursor.
fn shown(key: &str) -> String {
    key.chars().take(80).flat_map(char::escape_debug).collect()
}

/// The known spelling that a mistaken one is closest to, if one is close.
fn suggestion(mistaken: &str, known: &[&str]) -> String {
    let distance = |name: &&&str| strsim::damerau_levenshtein(&mistaken.to_lowercase(), name);
    let near = if mistaken.len() > 80 {
        None
    } else {
        known.iter().min_by_key(distance)
    };
    match near.filter(|name| distance(name) <= 1 + name.len() / 4) {
        Some(name) => format!("; did you mean {name}?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_close_or_absent() {
        let known = ["returns", "ceiling", "external"];
        for (mistaken, hint) in [
            ("return", "; did you mean returns?"),
            ("cieling", "; did you mean ceiling?"),
            ("External", "; did you mean external?"),
            ("colour", ""),
            ("", ""),
        ] {
            assert_eq!(suggestion(mistaken, &known), hint, "{mistaken}");
        }
    }

    #[test]
    fn keys_print_without_surprises() {
        assert_eq!(join("tools", "a_b-1"), "tools.a_b-1");
        assert_eq!(join("tools", "crm.lookup"), "tools.\"crm.lookup\"");
        assert_eq!(join("", "a\u{1b}[2J\u{202e}"), "\"a\\u{1b}[2J\\u{202e}\"");
    }
}
