//! Tables and headers inside plain text: comma, semicolon or tab separated values, tables in bars, and lines
//! `Name: value` before the first empty one.

use csv::{ReaderBuilder, WriterBuilder};

/// A table in a text.
pub(super) struct Table {
    form: Form,
    rows: Vec<Vec<String>>,
}

enum Form {
    Separated(u8),
    Bars,
}

/// Reads a text as a table with its columns' names in the first row; `None` when it is none. Words with commas have the
/// form of a table too, so one of the names must be known.
pub(super) fn table(text: &str, is_known: impl Fn(&str) -> bool) -> Option<Table> {
    let is_named = |table: &Table| table.names().iter().any(|name| is_known(name));
    if text.trim_start().starts_with('|') {
        return bars(text).filter(is_named);
    }
    [b',', b';', b'\t'].into_iter().find_map(|delimiter| {
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .from_reader(text.as_bytes());
        let rows: Result<Vec<Vec<String>>, _> = reader
            .records()
            .map(|record| record.map(|record| record.iter().map(str::to_owned).collect()))
            .collect();
        let rows = rows.ok()?;
        let is_table = rows.len() > 1 && rows.first().is_some_and(|names| names.len() > 1);
        let table = is_table.then_some(Table {
            form: Form::Separated(delimiter),
            rows,
        });
        table.filter(is_named)
    })
}

fn bars(text: &str) -> Option<Table> {
    let mut rows = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let inner = line.strip_prefix('|')?.strip_suffix('|')?;
        rows.push(inner.split('|').map(|cell| cell.trim().to_owned()).collect());
    }
    let width = rows.first().map(Vec::len)?;
    let is_table = rows.len() > 1 && rows.iter().all(|row: &Vec<String>| row.len() == width);
    is_table.then_some(Table {
        form: Form::Bars,
        rows,
    })
}

impl Table {
    /// The first row, which names the columns.
    pub(super) fn names(&self) -> &[String] {
        self.rows.first().map_or(&[], Vec::as_slice)
    }

    /// The table with other names and other cells. A row of dashes under the names stays.
    pub(super) fn rewrite(
        self,
        shown_names: Vec<String>,
        mut cell: impl FnMut(&str, &str) -> String,
    ) -> String {
        let Self { form, mut rows } = self;
        let mut rows_left = rows.iter_mut();
        let names = rows_left
            .next()
            .map(|first| std::mem::replace(first, shown_names))
            .unwrap_or_default();
        for row in rows_left {
            if matches!(form, Form::Bars) && row.iter().all(|cell| is_rule(cell)) {
                continue;
            }
            for (index, value) in row.iter_mut().enumerate() {
                *value = cell(names.get(index).map_or("", String::as_str), value);
            }
        }
        match form {
            Form::Bars => rows.iter().fold(String::new(), |text, row| {
                format!("{text}| {} |\n", row.join(" | "))
            }),
            Form::Separated(delimiter) => separated(delimiter, &rows),
        }
    }
}

fn is_rule(cell: &str) -> bool {
    !cell.is_empty() && cell.bytes().all(|byte| matches!(byte, b'-' | b':'))
}

fn separated(delimiter: u8, rows: &[Vec<String>]) -> String {
    let mut writer = WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    for row in rows {
        // Writing to memory does not fail; were it so, the row is left out rather than shown as it was.
        let _ = writer.write_record(row);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

/// The lines `Name: value` that a text begins with, and the rest from the empty line on; `None` when it begins
/// otherwise. A sentence may begin so too, so one of the names must be known.
pub(super) fn head(text: &str, is_known: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let end = ["\r\n\r\n", "\n\n"].iter().filter_map(|gap| text.find(gap)).min();
    let (head, body) = text.split_at_checked(end.unwrap_or(text.len()))?;
    let is_header = |line: &str| line.starts_with([' ', '\t']) || header(line).is_some();
    let begins = head.lines().next().is_some_and(|line| header(line).is_some());
    let is_named = head.lines().filter_map(header).any(|(name, _)| is_known(name));
    (begins && is_named && head.lines().all(is_header)).then_some((head, body))
}

fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    is_name(name).then_some((name, value.trim()))
}

/// The head with other names and values. A line that goes on with the value before it is part of that value.
pub(super) fn rewrite_head(head: &str, mut shown: impl FnMut(&str, &str) -> (String, String)) -> String {
    let mut headers: Vec<(&str, String)> = Vec::new();
    for line in head.lines() {
        match (header(line), headers.last_mut()) {
            (Some((name, value)), _) if !line.starts_with([' ', '\t']) => {
                headers.push((name, value.to_owned()))
            }
            (_, Some((_, value))) => {
                value.push(' ');
                value.push_str(line.trim());
            }
            (_, None) => {}
        }
    }
    let lines = headers.iter().map(|(name, value)| {
        let (name, value) = shown(name, value);
        format!("{name}: {value}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_and_written_by_column() {
        for (text, expected) in [
            (
                "name,email\nAnna,a@x\n\"B, C\",b@x\n",
                "name,email\nAnna,<email>\n\"B, C\",<email>\n",
            ),
            ("name\temail\nAnna\ta@x\n", "name\temail\nAnna\t<email>\n"),
            (
                "| name | email |\n|---|:-:|\n| Anna | a@x |\n",
                "| name | email |\n| --- | :-: |\n| Anna | <email> |\n",
            ),
        ] {
            let table = table(text, |name| name == "email").unwrap();
            let names = table.names().to_vec();
            let hidden = table.rewrite(names, |column, cell| match column {
                "email" => format!("<{column}>"),
                _ => cell.to_owned(),
            });
            assert_eq!(hidden, expected);
        }
        for text in [
            "",
            "one line, with a comma",
            "a,b\n1,2,3\n",
            "words\nand words\n",
            "| a |\nno bar\n",
        ] {
            assert!(table(text, |_| true).is_none(), "{text}");
        }
    }

    #[test]
    fn what_has_no_known_name_is_no_table_and_no_head() {
        let is_city = |name: &str| name == "city";
        for text in [
            "Anna Schmidt, room 7\nseen today, sent home\n",
            "Schmidt;7\nCarter;9\n",
            "| Anna | 7 |\n| Ben | 9 |\n",
        ] {
            assert!(table(text, is_city).is_none(), "{text}");
        }
        assert!(head("Anna: room 7\n\nx", is_city).is_none());
        // A separator that gives no known name is not the one.
        let table = table("city;note, long\nBern;far, away\n", is_city).unwrap();
        assert_eq!(table.names(), ["city", "note, long"]);
        let names = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(
            table.rewrite(names, |column, _| column.to_owned()),
            "a;b\ncity;note, long\n"
        );
    }

    #[test]
    fn headers_end_at_the_empty_line() {
        let (head, body) = head("From: Anna\nSubject: a\n b\n\nDear: all", |name| {
            name == "Subject"
        })
        .unwrap();
        assert_eq!(body, "\n\nDear: all");
        let shown = rewrite_head(head, |name, value| (name.to_uppercase(), format!("[{value}]")));
        assert_eq!(shown, "FROM: [Anna]\nSUBJECT: [a b]");
        for text in ["", "no header here", "From Anna\n\nx", " From: x\n\ny"] {
            assert!(super::head(text, |_| true).is_none(), "{text}");
        }
    }
}
