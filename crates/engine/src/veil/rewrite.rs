//! Putting stubs where a detector found something, in place and without disturbing the JSON around it.
//!
//! Findings are places in the text that was looked at. The value is walked in the order in which it was written, so that
//! every leaf's place is known without keeping a map; a finding that reaches over several leaves takes its part of each.

use std::ops::Range;

use serde_json::{Map, Value};
use tidegate_core::{Class, MAX_RAW};
use tidegate_detect::Finding;
use tidegate_ledger::vault::Keep;

use super::table::Table;
use super::token::{name_for, tokens, unescape};

/// A place to take out.
struct Place {
    span: Range<usize>,
    name: String,
    class: Class,
}

/// Puts stubs into a value. `plain` says that the text looked at was the string itself and not JSON.
/// Says whether anything was taken out.
pub(super) fn rewrite(
    value: &mut Value,
    plain: bool,
    findings: &[Finding],
    table: &mut Table,
    keep: Keep,
) -> bool {
    let mut rewriter = Rewriter {
        places: places(findings),
        next: 0,
        at: 0,
        table,
        keep,
        changed: false,
    };
    match value {
        Value::String(text) if plain => rewriter.text(text, true),
        value => rewriter.value(value),
    }
    rewriter.changed
}

/// What may not enter raw, in order; what overlaps is one place of the higher class.
fn places(findings: &[Finding]) -> Vec<Place> {
    let mut withheld: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.class > MAX_RAW)
        .collect();
    withheld.sort_by_key(|finding| (finding.span.start, finding.span.end));
    let mut places: Vec<Place> = Vec::new();
    for finding in withheld {
        let place = Place {
            span: finding.span.clone(),
            name: name_for([finding.rule.as_str()].into_iter(), "VALUE"),
            class: finding.class,
        };
        match places.last_mut() {
            Some(last) if place.span.start < last.span.end => {
                last.span.end = last.span.end.max(place.span.end);
                if place.class > last.class {
                    (last.class, last.name) = (place.class, place.name);
                }
            }
            _ => places.push(place),
        }
    }
    places
}

struct Rewriter<'a> {
    places: Vec<Place>,
    next: usize,
    at: usize,
    table: &'a mut Table,
    keep: Keep,
    changed: bool,
}

impl Rewriter<'_> {
    fn value(&mut self, value: &mut Value) {
        if self.next >= self.places.len() {
            return;
        }
        match value {
            Value::Null => self.at += 4,
            Value::Bool(flag) => self.at += if *flag { 4 } else { 5 },
            Value::Number(number) => {
                let end = self.at + number.to_string().len();
                if let Some((name, class)) = self.take(end).first().map(|place| (place.0.clone(), place.1)) {
                    let stub = self.table.stub(&name, value, class, self.keep);
                    self.changed = true;
                    *value = Value::String(stub);
                }
                self.at = end;
            }
            Value::String(text) => self.text(text, false),
            Value::Array(items) => {
                self.at += 1;
                for (index, item) in items.iter_mut().enumerate() {
                    self.at += usize::from(index > 0);
                    self.value(item);
                }
                self.at += 1;
            }
            Value::Object(members) => self.object(members),
        }
    }

    fn object(&mut self, members: &mut Map<String, Value>) {
        self.at += 1;
        let mut rewritten = Map::new();
        for (index, (mut key, mut value)) in std::mem::take(members).into_iter().enumerate() {
            self.at += usize::from(index > 0);
            self.text(&mut key, false);
            self.at += 1;
            self.value(&mut value);
            rewritten.insert(key, value);
        }
        *members = rewritten;
        self.at += 1;
    }

    fn text(&mut self, text: &mut String, plain: bool) {
        let width = if plain { char::len_utf8 } else { written };
        let quote = usize::from(!plain);
        let begin = self.at + quote;
        let end = begin + text.chars().map(width).sum::<usize>();
        self.at = end;
        let places = self.take(end);
        self.at = end + quote;
        if places.is_empty() {
            return;
        }
        let spans = in_text(text, begin, width, &places);
        let held: Vec<Range<usize>> = tokens(text).map(|(span, _)| span).collect();
        let mut shown = String::with_capacity(text.len());
        let mut from = 0;
        for (span, (name, class, _)) in spans.into_iter().zip(&places) {
            for part in outside(&span, &held) {
                let Some(value) = text
                    .get(part.clone())
                    .filter(|value| value.chars().any(char::is_alphanumeric))
                else {
                    continue;
                };
                shown.push_str(text.get(from..part.start).unwrap_or_default());
                let value = Value::String(unescape(value).into_owned());
                shown.push_str(&self.table.stub(name, &value, *class, self.keep));
                from = part.end;
                self.changed = true;
            }
        }
        shown.push_str(text.get(from..).unwrap_or_default());
        *text = shown;
    }

    /// The places that lie before this end, and reach to where the walk stands.
    fn take(&mut self, end: usize) -> Vec<(String, Class, Range<usize>)> {
        let mut taken = Vec::new();
        while let Some(place) = self.places.get(self.next) {
            if place.span.start >= end {
                break;
            }
            taken.push((place.name.clone(), place.class, place.span.clone()));
            if place.span.end > end {
                break;
            }
            self.next += 1;
        }
        taken
    }
}

/// How many bytes a letter takes in a JSON string.
const fn written(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\u{8}' | '\u{c}' | '\n' | '\r' | '\t' => 2,
        '\u{0}'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

/// The places as ranges of the text, widened to whole letters.
fn in_text(
    text: &str,
    begin: usize,
    width: fn(char) -> usize,
    places: &[(String, Class, Range<usize>)],
) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::with_capacity(places.len());
    let mut letters = text.char_indices().peekable();
    let mut at = begin;
    for (_, _, place) in places {
        while let Some((_, letter)) = letters.peek() {
            if at + width(*letter) > place.start {
                break;
            }
            at += width(*letter);
            letters.next();
        }
        let start = letters.peek().map_or(text.len(), |(index, _)| *index);
        while let Some((_, letter)) = letters.peek() {
            if at >= place.end {
                break;
            }
            at += width(*letter);
            letters.next();
        }
        let end = letters.peek().map_or(text.len(), |(index, _)| *index);
        spans.push(start..end);
    }
    spans
}

/// The parts of a range that lie outside of others, which are in order.
pub(super) fn outside(range: &Range<usize>, held: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut from = range.start;
    for inner in held
        .iter()
        .filter(|inner| inner.start < range.end && inner.end > range.start)
    {
        if from < inner.start {
            parts.push(from..inner.start);
        }
        from = from.max(inner.end);
    }
    if from < range.end {
        parts.push(from..range.end);
    }
    parts
}
