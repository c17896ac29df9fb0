//! Tables and headers inside JSON: `{"columns": [..], "rows": [[..], ..]}`, and `headers` as an object or as pairs.

use serde_json::{Map, Value};
use tidegate_core::{FieldClasses, FieldCursor};

use super::split::Splitter;

/// A table in an object: the names of its columns, and of the members that hold them and the rows.
pub(super) struct Layout {
    pub(super) columns: Vec<String>,
    pub(super) columns_in: &'static str,
    pub(super) rows_in: &'static str,
}

/// How an object is laid out as a table, where it is one.
pub(super) fn layout(members: &Map<String, Value>, fields: &FieldClasses) -> Option<Layout> {
    if !fields.has_columns() {
        return None;
    }
    let (columns_in, columns) = ["columns", "fields", "header"]
        .into_iter()
        .find_map(|name| Some((name, column_names(members.get(name)?)?)))?;
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
                path.push(name.clone());
                let value = splitter.part(value, &place.descend(&name), path, fields.header(&name));
                path.pop();
                (name, value)
            });
            Value::Object(split.collect())
        }
        Value::Array(items) => {
            let split = items.into_iter().map(|item| header(splitter, item, place, path));
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
    let name = match &item {
        Value::Object(pair) => ["name", "key"]
            .into_iter()
            .find_map(|name| pair.get(name)?.as_str()),
        Value::Array(pair) => pair.first().and_then(Value::as_str),
        _ => None,
    };
    let Some(name) = name.map(str::to_owned) else {
        return splitter.part(item, place, path, None);
    };
    let class = splitter.fields.header(&name);
    path.push(name.clone());
    let mut value_of = |value: Value, splitter: &mut Splitter<'_>| splitter.part(value, place, path, class);
    let split = match item {
        Value::Object(pair) => {
            let members = pair.into_iter().map(|(key, value)| {
                let is_name = matches!(key.as_str(), "name" | "key");
                let value = if is_name { value } else { value_of(value, splitter) };
                (key, value)
            });
            Value::Object(members.collect())
        }
        Value::Array(pair) => {
            let cells = pair.into_iter().enumerate().map(|(index, value)| match index {
                0 => value,
                _ => value_of(value, splitter),
            });
            Value::Array(cells.collect())
        }
        other => value_of(other, splitter),
    };
    path.pop();
    split
}
