//! The tables of a database as an agent is told of them.

use serde_json::{Value, json};
use tidegate_core::Class;

use super::TableClasses;

/// The most columns that are told of.
const MOST_COLUMNS: usize = 20_000;

/// One column of one table.
pub(super) struct Table {
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) column: String,
    pub(super) kind: String,
    pub(super) is_table: bool,
}

/// Tables with their columns.
#[derive(Default)]
pub(super) struct Described {
    columns: Vec<Table>,
    is_cut: bool,
}

impl Described {
    pub(super) fn add(&mut self, column: Table) {
        if self.columns.len() < MOST_COLUMNS {
            self.columns.push(column);
        } else {
            self.is_cut = true;
        }
    }

    /// With the class of each, by the catalog.
    pub(super) fn into_content(self, classes: &TableClasses) -> Value {
        let mut tables: Vec<Value> = Vec::new();
        let mut last = None;
        for column in self.columns {
            let (schema, name) = (column.schema.to_lowercase(), column.name.to_lowercase());
            let of_table = classes.of_table(&schema, &name, column.is_table);
            let key = (column.schema.clone(), column.name.clone());
            if last.as_ref() != Some(&key) {
                tables.push(json!({
                    "table": format!("{}.{}", column.schema, column.name),
                    "class": of_table.as_str(),
                    "declared": classes.names(&schema, &name),
                    "columns": [],
                }));
                last = Some(key);
            }
            let own: Class = classes
                .of_column(&schema, &name, &column.column.to_lowercase())
                .unwrap_or(of_table);
            let described = json!({"name": column.column, "type": column.kind, "class": own.as_str()});
            let columns = tables.last_mut().and_then(|table| table.get_mut("columns"));
            if let Some(columns) = columns.and_then(Value::as_array_mut) {
                columns.push(described);
            }
        }
        let mut content = json!({"tables": tables});
        if let (true, Some(content)) = (self.is_cut, content.as_object_mut()) {
            content.insert("note".to_owned(), "there are more tables than are listed".into());
        }
        content
    }
}
