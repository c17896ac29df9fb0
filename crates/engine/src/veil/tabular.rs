//! Tables and headers inside JSON: `{"columns": [..], "rows": [[..], ..]}`, and `headers` as an object or as pairs.

use serde_json::{Map, Value};
use tidegate_core::{Class, FieldClasses, FieldCursor};

use super::split::Splitter;

/// A table in an object: the names of its columns, and of the members that hold them and the rows.
pub(super) struct Layout {
    pub(super) columns: Vec<String>,
    pub(super) columns_in: &'static str,
    pub(super) rows_in: &'static str,
}

/// How an object is laid out as a table, where it is one: it has the form, and a column that is declared.
pub(super) fn layout(members: &Map<String, Value>, fields: &FieldClasses) -> Option<Layout> {
    if !fields.has_columns() {
        return None;
    }
    let (columns_in, columns) = ["columns", "fields", "header"]
        .into_iter()
        .find_map(|name| Some((name, column_names(members.get(name)?)?)))
        .filter(|(_, columns)| columns.iter().any(|name| fields.column(name).is_some()))?;
    let rows_in = ["rows", "data", "values"].into_iter().find(|name| {
        let rows = members.get(*name).and_then(Value::as_array);
        rows.is_some_and(|rows| rows.iter().all(Value::is_array))
    })?;
    Some(Layout {
        columns,
        columns_in,
        rows_in,
    })
}

/// Names as they are, or as the `name` of each description.
fn column_names(columns: &Value) -> Option<Vec<String>> {
    let name = |column: &Value| match column {
        Value::String(name) => Some(name.clone()),
        Value::Object(column) => column.get("name").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    columns.as_array()?.iter().map(name).collect()
}

/// Splits what says which columns there are. Only a name is one; whatever else a description holds is a part of the result.
pub(super) fn split_columns(
    splitter: &mut Splitter<'_>,
    columns: Value,
    place: &FieldCursor<'_>,
    path: &mut Vec<String>,
) -> Value {
    let Value::Array(columns) = columns else {
        return splitter.part(columns, place, path, None);
    };
    let shown = |splitter: &mut Splitter<'_>, name: &str| {
        Value::String(splitter.name(name, splitter.fields.column(name)))
    };
    let split = columns.into_iter().enumerate().map(|(index, column)| {
        let at_column = place.descend(&index.to_string());
        match column {
            Value::String(name) => shown(splitter, &name),
            Value::Object(description) => {
                let members = description.into_iter().map(|(key, value)| {
                    let value = match value {
                        Value::String(name) if key == "name" => shown(splitter, &name),
                        value => member(splitter, (&key, value), &at_column, path, None),
                    };
                    (splitter.key(&key), value)
                });
                Value::Object(members.collect())
            }
            other => splitter.part(other, &at_column, path, None),
        }
    });
    Value::Array(split.collect())
}

/// The value of a member, of which nothing is known but where it stands.
fn member(
    splitter: &mut Splitter<'_>,
    (key, value): (&str, Value),
    place: &FieldCursor<'_>,
    path: &mut Vec<String>,
    column: Option<Class>,
) -> Value {
    path.push(key.to_owned());
    let value = splitter.part(value, &place.descend(key), path, column);
    path.pop();
    value
}

/// Splits rows by the columns that their cells stand in. A cell beyond the last column counts as undeclared.
pub(super) fn split_rows(
    splitter: &mut Splitter<'_>,
    columns: &[String],
    rows: Value,
    place: &FieldCursor<'_>,
    path: &mut Vec<String>,
) -> Value {
    let Value::Array(rows) = rows else {
        return splitter.part(rows, place, path, None);
    };
    let fields = splitter.fields;
    let split = rows.into_iter().enumerate().map(|(index, row)| {
        let at_row = place.descend(&index.to_string());
        let Value::Array(cells) = row else {
            return splitter.part(row, &at_row, path, None);
        };
        let cells = cells.into_iter().enumerate().map(|(index, cell)| {
            let column = columns.get(index).map_or("", String::as_str);
            path.push(column.to_owned());
            let below = at_row.descend(&index.to_string());
            let cell = splitter.part(cell, &below, path, fields.column(column));
            path.pop();
            cell
        });
        Value::Array(cells.collect())
    });
    Value::Array(split.collect())
}

/// Splits headers, in whichever of their usual shapes they come.
pub(super) fn headers(
    splitter: &mut Splitter<'_>,
    value: Value,
    place: &FieldCursor<'_>,
    path: &mut Vec<String>,
) -> Value {
    let fields = splitter.fields;
    match value {
        Value::Object(members) => {
            let split = members.into_iter().map(|(name, value)| {
                let class = fields.header(&name);
                let value = member(splitter, (&name, value), place, path, class);
                (splitter.name(&name, class), value)
            });
            Value::Object(split.collect())
        }
        Value::Array(items) => {
            let split = items.into_iter().enumerate();
            let split = split.map(|(index, item)| {
                let at_item = place.descend(&index.to_string());
                header(splitter, item, &at_item, path)
            });
            Value::Array(split.collect())
        }
        other => splitter.part(other, place, path, None),
    }
}

/// One header: `{"name": .., "value": ..}` or `[name, value]`.
fn header(
    splitter: &mut Splitter<'_>,
    item: Value,
    place: &FieldCursor<'_>,
    path: &mut Vec<String>,
) -> Value {
    let Some(header) = Header::of(&item, splitter.fields) else {
        return splitter.part(item, place, path, None);
    };
    path.push(header.name.clone());
    let split = match item {
        Value::Object(pair) => {
            let members = pair.into_iter().map(|(key, value)| {
                let value = header.piece(splitter, &key, value, place, path);
                (splitter.key(&key), value)
            });
            Value::Object(members.collect())
        }
        Value::Array(pair) => {
            let pieces = pair.into_iter().enumerate();
            let pieces =
                pieces.map(|(index, value)| header.piece(splitter, &index.to_string(), value, place, path));
            Value::Array(pieces.collect())
        }
        other => splitter.part(other, place, path, header.class),
    };
    path.pop();
    split
}

/// What a header is called, what is declared of it, and which of its members or elements are its name and its value.
struct Header {
    name: String,
    class: Option<Class>,
    name_in: &'static str,
    value_in: &'static str,
}

impl Header {
    fn of(item: &Value, fields: &FieldClasses) -> Option<Self> {
        let (name, name_in, value_in) = match item {
            Value::Object(pair) => ["name", "key"]
                .into_iter()
                .find_map(|step| Some((pair.get(step)?.as_str()?, step, "value")))?,
            Value::Array(pair) => (pair.first()?.as_str()?, "0", "1"),
            _ => return None,
        };
        Some(Self {
            name: name.to_owned(),
            class: fields.header(name),
            name_in,
            value_in,
        })
    }

    fn piece(
        &self,
        splitter: &mut Splitter<'_>,
        step: &str,
        value: Value,
        place: &FieldCursor<'_>,
        path: &mut Vec<String>,
    ) -> Value {
        if step == self.name_in {
            return Value::String(splitter.name(&self.name, self.class));
        }
        let class = match step == self.value_in {
            true => self.class,
            // What stands beside the value is not what was declared; it counts as the header only where that is more.
            false => self.class.filter(|class| *class > splitter.source),
        };
        splitter.part(value, &place.descend(step), path, class)
    }
}
