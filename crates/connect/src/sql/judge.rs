//! The class of a query's result, from what it touches and what the catalog says of that.
//!
//! A column of the result has the class of the columns that it is computed from. What the rest of the query looks at, in a
//! filter, a join or an order, shows in which rows there are and so counts for every column. Where a name could be
//! anything, it counts as everything in the tables that the query touches.

use tidegate_core::{Class, FieldClasses, FieldPattern, MAX_RAW};

use super::classes::TableClasses;
use super::reading::{Named, Output, Reading, References};

/// The most columns of a result that are told apart; beyond, all count as the highest.
const MOST_COLUMNS: usize = 200;

/// A relation as the database knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relation {
    /// Its schema, folded.
    pub(super) schema: String,
    /// Its name, folded.
    pub(super) name: String,
    /// Whether it holds its own rows; a view or a foreign table may show anything.
    pub(super) is_table: bool,
    /// Its columns, folded.
    pub(super) columns: Vec<String>,
    /// What the query calls it.
    pub(super) aliases: Vec<String>,
}

impl Relation {
    pub(super) fn new(named: &Named, schema: &str, name: &str, is_table: bool, columns: Vec<String>) -> Self {
        Self {
            schema: schema.to_lowercase(),
            name: name.to_lowercase(),
            is_table,
            columns: columns.into_iter().map(|column| column.to_lowercase()).collect(),
            aliases: named.aliases.iter().cloned().collect(),
        }
    }

    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|own| own == column)
    }

    pub(super) fn is_called(&self, name: &str) -> bool {
        self.aliases.iter().any(|alias| alias == name)
    }
}

/// What a result counts as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judgement {
    /// The highest class in it.
    pub(super) class: Class,
    /// The class of how many rows there are.
    pub(super) shape: Class,
    columns: Columns,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Columns {
    /// Each by its place.
    Placed(Vec<Class>),
    /// Each by its name.
    Named(Vec<(String, Class)>),
    /// All alike.
    Alike,
}

/// Judges a query on the relations that it names.
pub(super) fn judge(catalog: &TableClasses, reading: &Reading, relations: &[Relation]) -> Judgement {
    let scope = Scope {
        catalog,
        reading,
        relations,
    };
    let tables = relations.iter().map(|relation| scope.table(relation));
    let tables = tables.fold(Class::Public, Class::join);
    let mut touched = vec![false; relations.len()];
    let mut rest = scope.of(&reading.rest, &mut touched);
    let outputs: Vec<(&Output, Class)> = reading
        .outputs
        .iter()
        .flatten()
        .map(|output| (output, scope.of_output(output, &mut touched)))
        .collect();
    // Sorting or grouping by a column of the result looks at what that comes from.
    for (output, class) in &outputs {
        if let Output::One(Some(name), _) = output
            && reading.rest.columns.iter().any(|(_, column)| column == name)
        {
            rest = rest.join(*class);
        }
    }
    // That a table has rows at all is as good as a look at it.
    for (relation, touched) in relations.iter().zip(&touched) {
        if !touched {
            rest = rest.join(scope.table(relation));
        }
    }
    let class = outputs.iter().fold(rest, |class, (_, own)| class.join(*own));
    let has_all = outputs.iter().any(|(output, _)| matches!(output, Output::All(_)));
    let columns = match &reading.outputs {
        None => Columns::Alike,
        Some(_) if has_all => Columns::Named(scope.by_name(&outputs, rest)),
        Some(_) => Columns::Placed(outputs.iter().map(|(_, class)| class.join(rest)).collect()),
    };
    Judgement {
        class,
        shape: tables.join(rest).min(MAX_RAW),
        columns,
    }
}

struct Scope<'a> {
    catalog: &'a TableClasses,
    reading: &'a Reading,
    relations: &'a [Relation],
}

impl Scope<'_> {
    fn table(&self, relation: &Relation) -> Class {
        self.catalog
            .of_table(&relation.schema, &relation.name, relation.is_table)
    }

    fn column(&self, relation: &Relation, column: &str) -> Class {
        self.catalog
            .of_column(&relation.schema, &relation.name, column)
            .unwrap_or_else(|| self.table(relation))
    }

    fn everything(&self, relation: &Relation) -> Class {
        let columns = relation
            .columns
            .iter()
            .map(|column| self.column(relation, column));
        columns.fold(self.table(relation), Class::join)
    }

    /// The class of what a part of the query refers to.
    fn of(&self, references: &References, touched: &mut [bool]) -> Class {
        let mut class = Class::Public;
        let mut everything = references.everything;
        for (qualifier, column) in &references.columns {
            let mut is_found = false;
            for (relation, touched) in self.relations.iter().zip(touched.iter_mut()) {
                let is_meant = qualifier.as_ref().is_none_or(|called| relation.is_called(called));
                if is_meant && relation.has(column) {
                    (is_found, *touched) = (true, true);
                    class = class.join(self.column(relation, column));
                } else if is_meant && qualifier.is_some() {
                    // What is no column may be a way to write a function of the whole row.
                    everything = true;
                }
            }
            everything |= !is_found && !self.is_defined(qualifier.as_deref(), column);
        }
        if everything {
            for (relation, touched) in self.relations.iter().zip(touched.iter_mut()) {
                *touched = true;
                class = class.join(self.everything(relation));
            }
        }
        class
    }

    /// Whether a name that is no column's is one that the query gives itself. A relation's name stands for its rows.
    fn is_defined(&self, qualifier: Option<&str>, column: &str) -> bool {
        let name = qualifier.unwrap_or(column);
        let is_relation = self.relations.iter().any(|relation| relation.is_called(name));
        !is_relation && self.reading.defined.contains(name)
    }

    fn of_output(&self, output: &Output, touched: &mut [bool]) -> Class {
        match output {
            Output::One(_, references) => self.of(references, touched),
            Output::All(called) => {
                let mut class = Class::Public;
                let is_known = |name: &String| self.relations.iter().any(|relation| relation.is_called(name));
                let called = called.as_ref().filter(|name| is_known(name));
                for (relation, touched) in self.relations.iter().zip(touched) {
                    if called.is_none_or(|name| relation.is_called(name)) {
                        *touched = true;
                        class = class.join(self.everything(relation));
                    }
                }
                class
            }
        }
    }

    /// The classes of columns by the names that they will have.
    fn by_name(&self, outputs: &[(&Output, Class)], rest: Class) -> Vec<(String, Class)> {
        let mut named = Vec::new();
        for (output, class) in outputs {
            match output {
                Output::One(Some(name), _) => named.push((name.clone(), class.join(rest))),
                Output::One(None, _) => {}
                Output::All(called) => {
                    let meant =
                        |relation: &&Relation| called.as_ref().is_none_or(|name| relation.is_called(name));
                    for relation in self.relations.iter().filter(meant) {
                        for column in &relation.columns {
                            named.push((column.clone(), self.column(relation, column).join(rest)));
                        }
                    }
                }
            }
        }
        named
    }
}

impl Judgement {
    /// The class of whether the query came to its end: a value that it looked at may have ended it, and shows by that no
    /// more than the number of rows could.
    pub(super) fn of_failing(&self) -> Class {
        self.shape.join(self.class.min(MAX_RAW))
    }

    /// The classes of the parts of a result with these columns, in the shape that [`super::rows`] gives it.
    pub(super) fn fields(&self, columns: &[String]) -> FieldClasses {
        let said = ["columns", "note", "truncated"].map(|part| (part.to_owned(), Class::Public));
        let count = [("row_count".to_owned(), self.shape)];
        let parts = said.into_iter().chain(count);
        let read =
            |(path, class): (String, Class)| path.parse::<FieldPattern>().ok().map(|path| (path, class));
        let mut fields: Vec<_> = parts.filter_map(read).collect();
        if columns.len() <= MOST_COLUMNS {
            let cells: Option<Vec<_>> = columns
                .iter()
                .enumerate()
                .map(|(place, name)| read((format!("column:{name}"), self.of(place, name, columns.len()))))
                .collect();
            // Where one column has no name, none is told apart: the rows count as the highest of all.
            fields.extend(cells.into_iter().flatten());
        }
        FieldClasses::new(fields)
    }

    fn of(&self, place: usize, name: &str, columns: usize) -> Class {
        let found = match &self.columns {
            Columns::Placed(classes) if classes.len() == columns => classes.get(place).copied(),
            Columns::Named(named) => {
                let name = name.to_lowercase();
                let same = named.iter().filter(|(own, _)| *own == name);
                same.map(|(_, class)| *class).max()
            }
            Columns::Placed(_) | Columns::Alike => None,
        };
        found.unwrap_or(self.class)
    }
}
