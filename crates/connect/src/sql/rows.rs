//! Rows as they come, up to what one call gives back.

use serde_json::{Value, json};

use crate::Bounds;

/// The longest text in one cell, in characters.
pub(super) const MOST_CHARACTERS: usize = 16_384;

/// A result that grows row by row until it is full.
#[derive(Debug)]
pub(super) struct Rows {
    columns: Vec<String>,
    rows: Vec<Value>,
    bytes: usize,
    bounds: Bounds,
    cut: Option<Cut>,
    shortened: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Rows,
    Bytes,
}

impl Rows {
    pub(super) const fn new(columns: Vec<String>, bounds: Bounds) -> Self {
        Self {
            columns,
            rows: Vec::new(),
            bytes: 0,
            bounds,
            cut: None,
            shortened: false,
        }
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Takes a row; false when there is no place for it or any other.
    pub(super) fn push(&mut self, cells: Vec<Value>) -> bool {
        if self.rows.len() >= self.bounds.rows {
            self.cut = Some(Cut::Rows);
            return false;
        }
        let row = Value::Array(cells);
        let size = row.to_string().len();
        if self.bytes + size > self.bounds.bytes {
            self.cut = Some(Cut::Bytes);
            return false;
        }
        self.bytes += size;
        self.rows.push(row);
        true
    }

    /// A text as a cell holds it.
    pub(super) fn text(&mut self, mut text: String) -> Value {
        if let Some((end, _)) = text.char_indices().nth(MOST_CHARACTERS) {
            text.truncate(end);
            text.push('…');
            self.shortened = true;
        }
        Value::String(text)
    }

    /// Bytes as a cell holds them: text where they are text.
    pub(super) fn bytes(&mut self, bytes: Vec<u8>) -> Value {
        match String::from_utf8(bytes) {
            Ok(text) => self.text(text),
            Err(error) => Value::String(format!("({} bytes that are no text)", error.as_bytes().len())),
        }
    }

    /// The result, and in plain words what is missing from it.
    pub(super) fn into_content(self) -> Value {
        let mut notes = Vec::new();
        let (rows, bytes) = (self.bounds.rows, self.bounds.bytes);
        match self.cut {
            Some(Cut::Rows) => notes.push(format!("only the first {rows} rows are here; there are more")),
            Some(Cut::Bytes) => notes.push(format!(
                "only the first {} rows are here; more would be over {bytes} bytes",
                self.rows.len()
            )),
            None => {}
        }
        if self.shortened {
            notes.push(format!(
                "values longer than {MOST_CHARACTERS} characters end in …"
            ));
        }
        let mut content = json!({
            "columns": self.columns,
            "row_count": self.rows.len(),
            "rows": self.rows,
            "truncated": self.cut.is_some(),
        });
        if let (Some(content), false) = (content.as_object_mut(), notes.is_empty()) {
            let advice = if self.cut.is_some() {
                "; narrow the query with WHERE, LIMIT and OFFSET, or count and sum in it"
            } else {
                ""
            };
            content.insert("note".to_owned(), format!("{}{advice}", notes.join("; ")).into());
        }
        content
    }
}
