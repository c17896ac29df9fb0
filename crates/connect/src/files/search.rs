//! Looking for a text in files.

use std::collections::VecDeque;
use std::io::Read;

use serde_json::json;
use tidegate_core::{Class, FieldClasses, MAX_RAW};

use super::Shared;
use super::content::Sort;
use super::inside::Inside;
use crate::{Brought, Failure};

/// The most that one search looks at and gives back.
const MOST_FILES: usize = 2_000;
const MOST_FILE_BYTES: u64 = 1 << 20;
const MOST_BYTES: u64 = 64 << 20;
const MOST_HITS: usize = 200;
const MOST_LINE: usize = 400;

/// A text to look for.
pub(super) struct Wanted(String);

impl Wanted {
    pub(super) fn new(text: &str) -> Result<Self, Failure> {
        let length = text.chars().count();
        if !(2..=200).contains(&length) {
            return Err(Failure::Arguments("text has 2 to 200 characters".to_owned()));
        }
        Ok(Self(text.to_lowercase()))
    }
}

/// A search under way.
#[derive(Default)]
struct Found {
    hits: Vec<serde_json::Value>,
    files: usize,
    bytes: u64,
    class: Option<Class>,
    left_out: usize,
}

impl Shared {
    pub(super) fn search(&self, wanted: &Wanted, below: &Inside) -> Result<Brought, Failure> {
        let mut found = Found::default();
        let mut waiting = VecDeque::from([below.clone()]);
        let mut is_whole = true;
        while let Some(directory) = waiting.pop_front() {
            let (entries, is_cut) = match self.root.entries(&directory, MOST_FILES) {
                Err(failure) if directory == *below => return Err(failure),
                // One that went away or may not be read is no reason to stop.
                Err(_) => continue,
                Ok(entries) => entries,
            };
            is_whole &= !is_cut;
            for entry in entries {
                if found.is_full() {
                    is_whole = false;
                    break;
                }
                let Ok(path) = Inside::file(&directory.join(&entry.name)) else {
                    continue;
                };
                match entry.kind {
                    "directory" if waiting.len() < MOST_FILES => waiting.push_back(path),
                    "file" => self.look_into(&path, wanted, &mut found),
                    _ => {}
                }
            }
        }
        let Found {
            hits,
            class,
            left_out,
            files,
            ..
        } = found;
        let mut notes = Vec::new();
        if !is_whole {
            notes.push("not all files were looked into; search below a directory".to_owned());
        }
        if left_out > 0 {
            notes.push(format!(
                "{left_out} files that may not be searched were left out; read them one by one"
            ));
        }
        let mut content = json!({"hits": hits, "files": files, "truncated": !is_whole});
        if let (false, Some(content)) = (notes.is_empty(), content.as_object_mut()) {
            content.insert("note".to_owned(), notes.join("; ").into());
        }
        Ok(Brought {
            content,
            class: class.unwrap_or(Class::Public).join(self.names),
            fields: FieldClasses::NONE,
            dataset: self.dataset.clone(),
        })
    }

    fn look_into(&self, path: &Inside, wanted: &Wanted, found: &mut Found) {
        let class = self.classes.of(path.as_str());
        let has_parts = matches!(Sort::of(path.as_str()), Sort::Table(_) | Sort::Document);
        // In a line, parts cannot be told apart.
        let is_closed = class > MAX_RAW || (has_parts && !self.fields.is_empty());
        if is_closed || Sort::of(path.as_str()) == Sort::Pdf {
            found.left_out += 1;
            return;
        }
        let Ok(file) = self.root.file(path) else {
            return;
        };
        let mut bytes = Vec::new();
        if file.take(MOST_FILE_BYTES).read_to_end(&mut bytes).is_err() {
            return;
        }
        found.files += 1;
        found.bytes += u64::try_from(bytes.len()).unwrap_or(MOST_BYTES);
        found.class = Some(found.class.unwrap_or(Class::Public).join(class));
        let Ok(text) = String::from_utf8(bytes) else {
            return;
        };
        for (number, line) in text.lines().enumerate() {
            if found.is_full() {
                return;
            }
            if line.to_lowercase().contains(&wanted.0) {
                let line: String = line.chars().take(MOST_LINE).collect();
                found
                    .hits
                    .push(json!({"path": path.as_str(), "line": number + 1, "text": line}));
            }
        }
    }
}

impl Found {
    fn is_full(&self) -> bool {
        self.hits.len() >= MOST_HITS || self.files >= MOST_FILES || self.bytes >= MOST_BYTES
    }
}
