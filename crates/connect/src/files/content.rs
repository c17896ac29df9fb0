//! What is in a file, as an agent is given it.

use std::fs::File;
use std::io::{Read as _, Seek, SeekFrom};

use serde_json::{Value, json};

use crate::Failure;

/// The most rows and columns of a table.
const MOST_ROWS: usize = 20_000;
const MOST_COLUMNS: usize = 200;

/// A sort of file, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Text,
    /// With the separator that is usual in it.
    Table(char),
    Document,
    Pdf,
}

impl Sort {
    pub(super) fn of(path: &str) -> Self {
        let end = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
        match end.map(|(_, end)| end.to_ascii_lowercase()).as_deref() {
            Some("csv") => Self::Table(','),
            Some("tsv") => Self::Table('\t'),
            Some("json") => Self::Document,
            Some("pdf") => Self::Pdf,
            _ => Self::Text,
        }
    }
}

/// What was read.
pub(super) struct Read {
    pub(super) content: Value,
    pub(super) parts: Parts,
}

/// What in a file can be told apart by name.
pub(super) enum Parts {
    Nothing,
    Members,
    Columns(Vec<String>),
}

/// What stands between the cells of a table.
pub(super) const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

pub(super) fn of_file(path: &str, mut file: File, offset: u64, most: usize) -> Result<Read, Failure> {
    let unreadable = |_| Failure::Unavailable("the file cannot be read now".to_owned());
    let size = file.metadata().map_err(unreadable)?.len();
    file.seek(SeekFrom::Start(offset)).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut bytes).map_err(unreadable)?;
    let is_cut = bytes.len() > most;
    bytes.truncate(most);
    let text = as_text(bytes, offset > 0, is_cut)?;
    let sort = Sort::of(path);
    let whole = offset == 0 && !is_cut;
    let note = is_cut.then(|| {
        let end = offset.saturating_add(u64::try_from(text.len()).unwrap_or_default());
        format!("only bytes {offset} to {end} of {size} are here; read on with offset {end}")
    });
    let read = match sort {
        Sort::Document if whole => serde_json::from_str(&text).ok().map(document),
        Sort::Table(usual) if offset == 0 => table(&text, usual, is_cut),
        _ => None,
    };
    let mut read = read.unwrap_or_else(|| Read {
        content: json!({"text": text}),
        parts: Parts::Nothing,
    });
    finish(&mut read.content, path, note);
    Ok(read)
}

pub(super) fn of_pdf(path: &str, mut text: String, most: usize) -> Read {
    let is_cut = text.len() > most;
    if is_cut {
        let end = (0..=most)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or_default();
        text.truncate(end);
    }
    let note = is_cut.then(|| format!("only the first {most} bytes of the PDF's text are here"));
    let mut content = json!({"text": text});
    finish(&mut content, path, note);
    Read {
        content,
        parts: Parts::Nothing,
    }
}

fn finish(content: &mut Value, path: &str, note: Option<String>) {
    let Some(members) = content.as_object_mut() else {
        return;
    };
    members.insert("path".to_owned(), path.into());
    let is_cut = note.is_some() || members.contains_key("note");
    members.insert("truncated".to_owned(), is_cut.into());
    if let Some(note) = note {
        members.insert("note".to_owned(), note.into());
    }
}

/// The bytes as text. Where they were cut, a character that lost a part of itself is left out.
fn as_text(mut bytes: Vec<u8>, is_from_middle: bool, is_cut: bool) -> Result<String, Failure> {
    let no_text =
        || Failure::Rejected("the file is no text; text, CSV, JSON and PDF files are read".to_owned());
    if is_from_middle {
        let start = bytes
            .iter()
            .take(3)
            .take_while(|byte| **byte & 0xC0 == 0x80)
            .count();
        bytes.drain(..start);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let is_end = is_cut && error.utf8_error().error_len().is_none();
            let mut bytes = error.into_bytes();
            bytes.truncate(good);
            if is_end {
                String::from_utf8(bytes).map_err(|_| no_text())
            } else {
                Err(no_text())
            }
        }
    }
}

fn document(document: Value) -> Read {
    Read {
        content: json!({"document": document}),
        parts: Parts::Members,
    }
}

/// A table with a line of names. Nothing where the text is none.
fn table(text: &str, usual: char, is_cut: bool) -> Option<Read> {
    // The last line may be half a line.
    let text = match is_cut {
        true => text.get(..=text.rfind('\n')?)?,
        false => text,
    };
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(u8::try_from(separator(text, usual)).ok()?)
        .from_reader(text.as_bytes());
    let columns: Vec<String> = reader.headers().ok()?.iter().map(str::to_owned).collect();
    if columns.is_empty() || columns.len() > MOST_COLUMNS {
        return None;
    }
    let mut rows = Vec::new();
    let mut has_more = false;
    for record in reader.records() {
        if rows.len() == MOST_ROWS {
            has_more = true;
            break;
        }
        rows.push(Value::from(
            record.ok()?.iter().map(str::to_owned).collect::<Vec<_>>(),
        ));
    }
    let mut content = json!({"columns": columns, "row_count": rows.len(), "rows": rows});
    if let (true, Some(content)) = (has_more, content.as_object_mut()) {
        content.insert(
            "note".to_owned(),
            format!("only the first {MOST_ROWS} rows are here").into(),
        );
    }
    Some(Read {
        content,
        parts: Parts::Columns(columns),
    })
}

/// What separates the names in the first line: whatever stands there most often, outside of quotes.
fn separator(text: &str, usual: char) -> char {
    let names = text.lines().find(|line| !line.trim().is_empty());
    let count = |separator: char| {
        let unquoted = names.unwrap_or_default().split('"').step_by(2);
        unquoted
            .map(|part| part.matches(separator).count())
            .sum::<usize>()
    };
    let found = SEPARATORS.into_iter();
    found
        .max_by_key(|separator| (count(*separator), *separator == usual))
        .unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_separator_is_the_one_between_the_names() {
        for (text, usual, found) in [
            ("", ',', ','),
            ("name\nAda, Grace, Mary\n", ',', ','),
            ("name,email\na;b;c,d\n", ',', ','),
            ("\nname;email\n", ',', ';'),
            ("name|email", ',', '|'),
            ("name\temail", ',', '\t'),
            ("name;email", '\t', ';'),
            ("\"a,b,\"\"c,\";email", ',', ';'),
            ("a,b;c", ';', ';'),
        ] {
            assert_eq!(separator(text, usual), found, "{text}");
        }
    }
}
