//! Names behind a point, which PostgreSQL takes for functions where they are no columns.
//!
//! `('x').current_setting` and `FROM unnest(...) AS g`, `g.current_setting` call the function of that name with what stands
//! before the point, and so would pass by the list of functions. So a field is read of nothing but what stands after
//! FROM, and of the rows that a function gives only where it is plain that there is such a column. Of a table that is seen
//! from the database's own list: [`calls_something`].

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{AccessExpr, Ident, ObjectName, Query, TableAlias, TableFactor, Visit, Visitor};

use super::Flavor;
use super::functions;
use super::judge::Relation;
use super::reading::Reading;

/// The longest name that PostgreSQL tells from another.
const LONGEST: usize = 63;

/// Whether an access reads a field and not only elements of an array.
pub(super) fn reads_a_field(chain: &[AccessExpr]) -> bool {
    chain.iter().any(|access| matches!(access, AccessExpr::Dot(_)))
}

/// The functions after FROM, by what the query calls them, with the columns that they have for certain.
#[derive(Debug, Default)]
pub(super) struct Given(Vec<(String, BTreeSet<String>)>);

impl Given {
    pub(super) fn by(query: &Query) -> Self {
        let mut given = Self::default();
        let _ = query.visit(&mut given);
        given
    }

    /// Whether a name with its qualifiers is that of a column, as far as a function after FROM is concerned.
    pub(super) fn are_columns(&self, names: &[Ident]) -> bool {
        let [.., qualifier, name] = names else {
            return true;
        };
        let is_told_apart = names.iter().all(|name| name.value.len() <= LONGEST);
        let called = qualifier.value.to_lowercase();
        let mut meant = self.0.iter().filter(|(own, _)| *own == called);
        is_told_apart && meant.all(|(_, columns)| columns.contains(&known_as(name)))
    }

    fn add(&mut self, function: &ObjectName, alias: Option<&TableAlias>) {
        let function = function.0.last().and_then(|part| part.as_ident());
        let function = function.map(|name| name.value.to_lowercase()).unwrap_or_default();
        let called = alias.map_or_else(|| function.clone(), |alias| alias.name.value.to_lowercase());
        let columns = match alias.filter(|alias| !alias.columns.is_empty()) {
            Some(alias) => alias
                .columns
                .iter()
                .map(|column| known_as(&column.name))
                .collect(),
            None => own_columns(&function)
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
        };
        self.0.push((called, columns));
    }
}

impl Visitor for Given {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table {
                name,
                args: Some(_),
                alias,
                ..
            }
            | TableFactor::Function { name, alias, .. } => self.add(name, alias.as_ref()),
            TableFactor::UNNEST { alias, .. } => {
                self.add(&ObjectName::from(vec![Ident::new("unnest")]), alias.as_ref());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The columns that a function gives under names of its own, whatever the query calls it.
fn own_columns(function: &str) -> &'static [&'static str] {
    match function {
        "json_each" | "json_each_text" | "jsonb_each" | "jsonb_each_text" => &["key", "value"],
        "json_array_elements"
        | "json_array_elements_text"
        | "jsonb_array_elements"
        | "jsonb_array_elements_text" => &["value"],
        _ => &[],
    }
}

/// A name as PostgreSQL compares it.
fn known_as(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}

/// Whether a query names as a table's column what is none, and no function that only computes either.
pub(super) fn calls_something(reading: &Reading, relations: &[Relation]) -> bool {
    reading.columns().any(|(qualifier, name)| {
        let mut meant = relations
            .iter()
            .filter(|relation| {
                qualifier
                    .as_ref()
                    .is_some_and(|called| relation.is_called(called))
            })
            .peekable();
        meant.peek().is_some()
            && !meant.any(|relation| relation.has(name))
            && !functions::is_allowed(Flavor::Postgres, name)
    })
}
