//! Finding values again that were taken out: where the same result repeats them in a field that is cleared, and where a
//! sink repeats what was put into its call. They become the stubs they were.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};
use tidegate_core::Class;
use tidegate_ledger::vault::Keep;

use super::rewrite::outside;
use super::table::Table;
use super::token::tokens;

/// Values shorter than this are found only where they are a whole value.
const SHORTEST: usize = 4;
/// Values of this length are found inside longer words too.
const UNMISTAKABLE: usize = 8;
/// The most values that are looked for in one result.
const MOST: usize = 4_000;

/// What to look for, and what to put in its place.
#[derive(Default)]
pub(super) struct Echoes {
    texts: Vec<(String, Place)>,
    whole: HashMap<String, String>,
}

#[derive(Clone)]
enum Place {
    /// A stub that there is.
    Stub(String),
    /// A part of something larger, which has no stub of its own yet.
    Part { name: String, class: Class },
}

impl Echoes {
    /// Looks for a value that has a stub. `whole` also finds it where it is a whole value, however short.
    pub(super) fn add(&mut self, value: &Value, stub: &str, class: Class, whole: bool) {
        if whole {
            self.whole.insert(value.to_string(), stub.to_owned());
        }
        match value {
            Value::String(text) => self.text(text, Place::Stub(stub.to_owned())),
            Value::Number(number) => {
                let digits = number.to_string();
                // A short number means something else elsewhere.
                if digits.len() > SHORTEST {
                    self.text(&digits, Place::Stub(stub.to_owned()));
                }
            }
            Value::Array(_) | Value::Object(_) => {
                let name =
                    super::token::Token::parse(stub).map_or_else(|| "PART".to_owned(), |token| token.name);
                self.parts(value, &Place::Part { name, class });
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn parts(&mut self, value: &Value, place: &Place) {
        match value {
            Value::String(text) => self.text(text, place.clone()),
            Value::Array(items) => items.iter().for_each(|item| self.parts(item, place)),
            Value::Object(members) => members.values().for_each(|member| self.parts(member, place)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, place: Place) {
        let text = text.trim();
        if self.texts.len() >= MOST || text.chars().count() < SHORTEST {
            return;
        }
        let encoded = percent_encoded(text);
        if encoded != text {
            self.texts.push((encoded, place.clone()));
        }
        self.texts.push((text.to_owned(), place));
    }

    /// Puts stubs into a value wherever one of the values stands. Says whether any did.
    pub(super) fn replace(self, value: &mut Value, table: &mut Table, keep: Keep) -> bool {
        if self.texts.is_empty() && self.whole.is_empty() {
            return false;
        }
        let searcher = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .ascii_case_insensitive(true)
            .build(self.texts.iter().map(|(text, _)| text));
        let Ok(searcher) = searcher else {
            return false;
        };
        let mut replacing = Replacing {
            echoes: &self,
            searcher,
            table,
            keep,
            changed: false,
        };
        replacing.value(value);
        replacing.changed
    }
}

struct Replacing<'a> {
    echoes: &'a Echoes,
    searcher: AhoCorasick,
    table: &'a mut Table,
    keep: Keep,
    changed: bool,
}

impl Replacing<'_> {
    fn value(&mut self, value: &mut Value) {
        if !self.echoes.whole.is_empty()
            && !matches!(value, Value::Array(_) | Value::Object(_))
            && let Some(stub) = self.echoes.whole.get(&value.to_string())
        {
            *value = Value::String(stub.clone());
            self.changed = true;
            return;
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => {
                let mut replaced = Map::new();
                for (mut key, mut member) in std::mem::take(members) {
                    self.text(&mut key);
                    self.value(&mut member);
                    replaced.insert(key, member);
                }
                *members = replaced;
            }
            Value::Number(number) => {
                let digits = number.to_string();
                let found = self.searcher.find(&digits);
                if found.is_some_and(|found| found.len() == digits.len()) {
                    let mut text = digits;
                    self.text(&mut text);
                    *value = Value::String(text);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn text(&mut self, text: &mut String) {
        let held: Vec<_> = tokens(text).map(|(span, _)| span).collect();
        let mut shown = String::new();
        let mut from = 0;
        for found in self.searcher.find_iter(text.as_str()) {
            let span = found.span().range();
            let is_whole = span.len() >= UNMISTAKABLE || is_bounded(text, span.start, span.end);
            if !is_whole || outside(&span, &held) != [span.clone()] {
                continue;
            }
            let Some((_, place)) = self.echoes.texts.get(found.pattern().as_usize()) else {
                continue;
            };
            let stub = match place {
                Place::Stub(stub) => stub.clone(),
                Place::Part { name, class } => {
                    let value = text.get(span.clone()).unwrap_or_default().to_owned();
                    self.table.stub(name, &Value::String(value), *class, self.keep)
                }
            };
            shown.push_str(text.get(from..span.start).unwrap_or_default());
            shown.push_str(&stub);
            from = span.end;
            self.changed = true;
        }
        if from > 0 {
            shown.push_str(text.get(from..).unwrap_or_default());
            *text = shown;
        }
    }
}

/// Whether a range of a text stands by itself and not inside a longer word.
fn is_bounded(text: &str, start: usize, end: usize) -> bool {
    let joins = |edge: Option<char>, inner: Option<char>| {
        edge.is_some_and(char::is_alphanumeric) && inner.is_some_and(char::is_alphanumeric)
    };
    let inner = text.get(start..end).unwrap_or_default();
    let before = text.get(..start).and_then(|head| head.chars().next_back());
    let after = text.get(end..).and_then(|tail| tail.chars().next());
    !joins(before, inner.chars().next()) && !joins(after, inner.chars().next_back())
}

/// A text as it stands in an address.
fn percent_encoded(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes()
        .fold(String::with_capacity(text.len()), |mut encoded, byte| {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
                encoded.push(char::from(byte));
            } else {
                let _ = write!(encoded, "%{byte:02X}");
            }
            encoded
        })
}
