//! Splitting a result by its declared fields: what is cleared passes, the rest becomes stubs.
//!
//! A part that is not cleared, and in which nothing else can be declared, is taken out whole: neither its names nor how
//! many there are of anything show. So is all that stands in a column or a header that is not cleared. Elsewhere the structure stays, and names that do not read like names of fields are
//! taken out as well, since somebody may use values as keys. That holds for every name: of a member, of a column, of a
//! header. What merely has the form of a table, and no column that is declared, is no table.

use serde_json::{Map, Value};
use tidegate_core::{Class, FieldClasses, FieldCursor, MAX_RAW};
use tidegate_ledger::vault::Keep;

use super::table::Table;
use super::token::{escape, is_plain_name, name_for};
use super::{tabular, text};

/// How deep a result is followed. What lies deeper is taken out whole or passes whole.
const DEEPEST: usize = 256;

/// Splits the results of one source.
pub(super) struct Splitter<'a> {
    pub(super) table: &'a mut Table,
    pub(super) fields: &'a FieldClasses,
    /// The class of what nothing is declared of.
    pub(super) source: Class,
    /// The least that anything counts as where the splitter is at work: what the columns and headers around it declare.
    pub(super) least: Class,
    pub(super) keep: Keep,
    /// The highest class that stays in the clear.
    pub(super) cleared: Class,
    /// Whether anything was taken out.
    pub(super) redacted: bool,
    /// What was taken out, to find it again where it was not declared.
    pub(super) taken: Vec<(Value, String)>,
}

/// What the members of an object are.
#[derive(Clone, Copy)]
enum Members {
    /// Parts of what a column declares, where it stands in one.
    Of(Option<Class>),
    /// Cells, since the object is in a list: a row of a table whose columns are its names.
    Cells,
}

impl Splitter<'_> {
    /// Splits a JSON value that is a result of the source, or a document in one.
    pub(super) fn document(&mut self, value: Value) -> Value {
        let fields = self.fields;
        if let Value::String(text) = value {
            return self.words(text);
        }
        self.part(value, &fields.root(), &mut Vec::new(), None)
    }

    /// Splits a text that is no JSON: a table, a text with headers, or words of which nothing is declared.
    pub(super) fn words(&mut self, text: String) -> Value {
        let fields = self.fields;
        if fields.has_columns()
            && let Some(table) = text::table(&text, |name| fields.column(name).is_some())
        {
            let names = table.names().iter();
            let names = names.map(|name| self.name(name, fields.column(name))).collect();
            return Value::String(table.rewrite(names, |column, cell| {
                self.named(fields.column(column), column, cell)
            }));
        }
        if fields.has_headers()
            && let Some((head, body)) = text::head(&text, |name| fields.header(name).is_some())
        {
            let head = text::rewrite_head(head, |header, value| {
                let declared = fields.header(header);
                (self.name(header, declared), self.named(declared, header, value))
            });
            let (gap, body) = body.split_at(body.len() - body.trim_start_matches(['\r', '\n']).len());
            let class = self.fields.root().class().unwrap_or(self.source);
            let body = match body {
                "" => String::new(),
                body => as_text(&self.cell("TEXT", class, body.to_owned().into())),
            };
            return Value::String(format!("{head}{gap}{body}"));
        }
        let class = self.fields.root().class().unwrap_or(self.source);
        self.cell("TEXT", class, Value::String(text))
    }

    fn named(&mut self, declared: Option<Class>, name: &str, value: &str) -> String {
        let name = name_for([name].into_iter(), "COLUMN");
        let value = self.cell(
            &name,
            declared.unwrap_or(self.source),
            Value::String(value.to_owned()),
        );
        as_text(&value)
    }

    /// A part of the result. `column` is what its column declares, where it stands in a table.
    pub(super) fn part(
        &mut self,
        value: Value,
        place: &FieldCursor<'_>,
        path: &mut Vec<String>,
        column: Option<Class>,
    ) -> Value {
        let declared = place.class().into_iter().chain(column).max();
        let class = declared.unwrap_or(self.source);
        let by_name = self.fields.has_columns() || self.fields.has_headers();
        let may_differ = (place.may_differ_below() || by_name) && path.len() < DEEPEST;
        self.inside(column, |splitter| match value {
            // Nothing in it can be cleared, so it is taken out whole: names in it may be anybody's values.
            value @ (Value::Object(_) | Value::Array(_)) if splitter.least > MAX_RAW => {
                let class = class.join(splitter.highest(&value, place, path.len()));
                let name = name_for(path.iter().map(String::as_str), "RESULT");
                splitter.cell(&name, class, value)
            }
            Value::Object(members) if may_differ => {
                splitter.show();
                splitter.object(members, place, path, Members::Of(column))
            }
            Value::Array(items) if may_differ => {
                splitter.show();
                Value::Array(splitter.array(items, place, path, column))
            }
            value => {
                let name = name_for(path.iter().map(String::as_str), "RESULT");
                splitter.cell(&name, class, value)
            }
        })
    }

    /// Counts what the names and the number of parts show of the column or the header around them.
    fn show(&mut self) {
        self.cleared = self.cleared.join(self.least);
    }

    /// The highest class of anything in a value, by its place or by a name in it that a column or a header has.
    fn highest(&self, value: &Value, place: &FieldCursor<'_>, depth: usize) -> Class {
        let by_name = |name: &str| self.fields.column(name).max(self.fields.header(name));
        let below = |name: &str, value: &Value| self.highest(value, &place.descend(name), depth + 1);
        let join = |highest: Class, class: Option<Class>| highest.join(class.unwrap_or(highest));
        let own = place.class().unwrap_or(Class::Public);
        match value {
            Value::Object(members) if depth < DEEPEST => {
                members.iter().fold(own, |highest, (name, value)| {
                    join(highest.join(below(name, value)), by_name(name))
                })
            }
            Value::Array(items) if depth < DEEPEST => {
                let items = items.iter().enumerate();
                items.fold(own, |highest, (index, item)| {
                    highest.join(below(&index.to_string(), item))
                })
            }
            Value::String(name) => join(own, by_name(name)),
            _ => own,
        }
    }

    /// Works inside a column or a header: what it declares covers all below, whatever is declared there.
    fn inside<T>(&mut self, declared: Option<Class>, work: impl FnOnce(&mut Self) -> T) -> T {
        let around = self.least;
        self.least = around.join(declared.unwrap_or(around));
        let done = work(self);
        self.least = around;
        done
    }

    /// One value of one class: it passes, or a stub stands in its place.
    fn cell(&mut self, name: &str, class: Class, value: Value) -> Value {
        let class = class.join(self.least);
        if class <= MAX_RAW {
            self.cleared = self.cleared.join(class);
            return escaped(value);
        }
        self.redacted = true;
        let stub = self.table.stub(name, &value, class, self.keep);
        self.taken.push((value, stub.clone()));
        Value::String(stub)
    }

    fn object(
        &mut self,
        mut members: Map<String, Value>,
        place: &FieldCursor<'_>,
        path: &mut Vec<String>,
        members_are: Members,
    ) -> Value {
        let mut split = Map::new();
        if let Some(table) = tabular::layout(&members, self.fields) {
            let (name, columns) = (table.rows_in, table.columns_in);
            path.push(name.to_owned());
            let rows = members.remove(name).unwrap_or_default();
            let rows = tabular::split_rows(self, &table.columns, rows, &place.descend(name), path);
            path.pop();
            split.insert(name.to_owned(), rows);
            path.push(columns.to_owned());
            let names = members.remove(columns).unwrap_or_default();
            let names = tabular::split_columns(self, names, &place.descend(columns), path);
            path.pop();
            split.insert(columns.to_owned(), names);
        }
        for (key, value) in members {
            let below = place.descend(&key);
            path.push(key.clone());
            let (column, name) = match members_are {
                Members::Of(column) => (column, self.key(&key)),
                Members::Cells => {
                    let column = self.fields.column(&key);
                    (column, self.name(&key, column))
                }
            };
            let value = if self.fields.has_headers() && key.eq_ignore_ascii_case("headers") {
                self.inside(column, |splitter| tabular::headers(splitter, value, &below, path))
            } else {
                self.part(value, &below, path, column)
            };
            path.pop();
            split.insert(name, value);
        }
        Value::Object(split)
    }

    fn array(
        &mut self,
        items: Vec<Value>,
        place: &FieldCursor<'_>,
        path: &mut Vec<String>,
        column: Option<Class>,
    ) -> Vec<Value> {
        let mut split = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let index = index.to_string();
            let below = place.descend(&index);
            path.push(index);
            let item = match item {
                Value::Object(row) if self.fields.has_columns() => {
                    self.object(row, &below, path, Members::Cells)
                }
                item => self.part(item, &below, path, column),
            };
            path.pop();
            split.push(item);
        }
        split
    }

    /// The name of a column or a header as it may be shown. One that is declared says no more than its declaration.
    pub(super) fn name(&mut self, name: &str, declared: Option<Class>) -> String {
        match declared {
            Some(_) => escape(name).into_owned(),
            None => self.key(name),
        }
    }

    /// A name as it may be shown. One that does not read like the name of a field counts as a value of the source, and
    /// any as the column or the header that it stands in.
    pub(super) fn key(&mut self, key: &str) -> String {
        let class = match is_plain_name(key) {
            true => Class::Public,
            false => self.source,
        };
        as_text(&self.cell("NAME", class, Value::String(key.to_owned())))
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value in which whatever looks like a stub is marked as text.
pub(super) fn escaped(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(match escape(&text) {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(marked) => marked,
        }),
        Value::Array(items) => items.into_iter().map(escaped).collect(),
        Value::Object(members) => {
            let marked = members.into_iter().map(|(key, value)| match escape(&key) {
                std::borrow::Cow::Borrowed(_) => (key, escaped(value)),
                std::borrow::Cow::Owned(key) => (key, escaped(value)),
            });
            marked.collect()
        }
        other => other,
    }
}
