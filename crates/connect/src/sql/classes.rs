//! What the catalog says of a database's tables and columns.

use tidegate_core::Class;

/// The classes of tables and columns. Names are compared without regard to case; where several lines mean one thing, the
/// highest counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableClasses {
    tables: Vec<(TableName, Class)>,
    columns: Vec<(TableName, String, Class)>,
    /// The class of a table that no line names.
    otherwise: Class,
}

/// A table in the catalog, in one schema or in any.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TableName {
    schema: Option<String>,
    table: String,
}

/// A name that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadTable {
    /// Of a table.
    #[error("a table is named table or schema.table")]
    Table,
    /// Of a column.
    #[error("a column is named table.column or schema.table.column")]
    Column,
}

impl TableClasses {
    /// A catalog that names nothing: everything is of this class.
    #[must_use]
    pub const fn new(otherwise: Class) -> Self {
        Self {
            tables: Vec::new(),
            columns: Vec::new(),
            otherwise,
        }
    }

    /// Adds a table.
    ///
    /// # Errors
    /// When the name is none.
    pub fn table(&mut self, name: &str, class: Class) -> Result<(), BadTable> {
        let name = table_name(&split(name)).ok_or(BadTable::Table)?;
        self.tables.push((name, class));
        Ok(())
    }

    /// Adds a column.
    ///
    /// # Errors
    /// When the name is none.
    pub fn column(&mut self, name: &str, class: Class) -> Result<(), BadTable> {
        let parts = split(name);
        let (column, table) = parts.split_last().ok_or(BadTable::Column)?;
        let table = table_name(table).ok_or(BadTable::Column)?;
        if column.is_empty() {
            return Err(BadTable::Column);
        }
        self.columns.push((table, column.clone(), class));
        Ok(())
    }

    /// The highest class in it.
    #[must_use]
    pub fn most(&self) -> Class {
        let tables = self.tables.iter().map(|(_, class)| *class);
        let columns = self.columns.iter().map(|(_, _, class)| *class);
        tables.chain(columns).fold(self.otherwise, Class::join)
    }

    /// The class of a table. One that is not named may be a view of any other, unless it is known to be none.
    pub(super) fn of_table(&self, schema: &str, table: &str, is_table: bool) -> Class {
        let named = self.tables.iter().filter(|(name, _)| name.is(schema, table));
        let unnamed = if is_table { self.otherwise } else { self.most() };
        named.map(|(_, class)| *class).max().unwrap_or(unnamed)
    }

    /// The class that is said of a column itself.
    pub(super) fn of_column(&self, schema: &str, table: &str, column: &str) -> Option<Class> {
        let named = self
            .columns
            .iter()
            .filter(|(name, own, _)| name.is(schema, table) && *own == column);
        named.map(|(_, _, class)| *class).max()
    }

    /// Whether a line names the table.
    pub(super) fn names(&self, schema: &str, table: &str) -> bool {
        self.tables.iter().any(|(name, _)| name.is(schema, table))
    }
}

impl TableName {
    fn is(&self, schema: &str, table: &str) -> bool {
        self.table == table && self.schema.as_deref().is_none_or(|own| own == schema)
    }
}

fn split(name: &str) -> Vec<String> {
    name.split('.').map(|part| part.trim().to_lowercase()).collect()
}

fn table_name(parts: &[String]) -> Option<TableName> {
    let (schema, table) = match parts {
        [table] => (None, table),
        [schema, table] => (Some(schema.clone()), table),
        _ => return None,
    };
    let is_empty = table.is_empty() || schema.as_ref().is_some_and(String::is_empty);
    (!is_empty).then(|| TableName {
        schema,
        table: table.clone(),
    })
}
