//! What a query touches: the relations it names, and which columns each part of its result comes from.
//!
//! This knows names only. What they mean is settled with the database's own list of columns in [`super::judge`], and
//! whatever cannot be settled counts as everything.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Join, JoinConstraint, JoinOperator,
    ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor,
    TableWithJoins, Value, Visit, Visitor,
};

use super::Flavor;
use super::guard::{Guarded, guard};
use crate::Failure;

/// The stack for reading one query: chains of operators nest as deep as they are long.
const STACK_BYTES: usize = 64 << 20;

/// A query that was read.
#[derive(Debug)]
pub(super) struct Reading {
    /// The text to send.
    pub(super) text: String,
    /// The relations it names, each once.
    pub(super) relations: Vec<Named>,
    /// Names that the query gives to something itself.
    pub(super) defined: BTreeSet<String>,
    /// What each column of the result comes from, where the result is that of one plain SELECT.
    pub(super) outputs: Option<Vec<Output>>,
    /// What the rest of the query refers to; all of it where `outputs` is nothing.
    pub(super) rest: References,
}

impl Reading {
    /// Every column that it names, with what it is qualified by.
    pub(super) fn columns(&self) -> impl Iterator<Item = &(Option<String>, String)> {
        let outputs = self.outputs.iter().flatten().filter_map(|output| match output {
            Output::One(_, references) => Some(references),
            Output::All(_) => None,
        });
        outputs
            .chain([&self.rest])
            .flat_map(|references| &references.columns)
    }
}

/// A relation as the query names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// Its name as it is to be written: quoted where it was.
    pub(super) written: String,
    /// The schema, if it says one, and the name: folded, as catalogs are compared.
    pub(super) schema: Option<String>,
    pub(super) name: String,
    /// The names themselves, as the database may know them.
    pub(super) exact: (Option<String>, String),
    /// What the query calls it, beside its name.
    pub(super) aliases: BTreeSet<String>,
    /// Whether the query also defines something of that name, which it may mean instead.
    pub(super) may_be_defined: bool,
}

/// One or several columns of the result.
#[derive(Debug)]
pub(super) enum Output {
    /// One, under this name where the query says it.
    One(Option<String>, References),
    /// All columns of a relation, or of all relations.
    All(Option<String>),
}

/// What a part of a query refers to.
#[derive(Debug, Default)]
pub(super) struct References {
    /// Columns, with what they are qualified by.
    pub(super) columns: Vec<(Option<String>, String)>,
    /// Whether it may refer to any column.
    pub(super) everything: bool,
}

/// Reads a query on a stack of its own, which is deep enough for the longest.
pub(super) fn read(flavor: Flavor, text: &str) -> Result<Reading, Failure> {
    let text = text.to_owned();
    let unreadable = || Failure::Refused("the query cannot be understood".to_owned());
    let reading = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || guard(flavor, &text).map(understand));
    let reading =
        reading.map_err(|_| Failure::Unavailable("the query cannot be looked at now".to_owned()))?;
    reading.join().map_err(|_| unreadable())?
}

fn understand(guarded: Guarded) -> Reading {
    let Guarded { query, text } = guarded;
    let mut names = Names::default();
    let _ = Visit::visit(&*query, &mut names);
    for relation in &mut names.relations {
        relation.may_be_defined = relation.schema.is_none() && names.ctes.contains(&relation.name);
    }
    let outputs = outputs_of(&query);
    let rest = match &outputs {
        Some(_) => without_outputs(*query),
        None => references(&*query),
    };
    names.defined.extend(names.ctes);
    Reading {
        text,
        relations: names.relations,
        defined: names.defined,
        outputs,
        rest,
    }
}

/// What a query refers to beside the columns of its result.
fn without_outputs(mut query: Query) -> References {
    if let SetExpr::Select(select) = &mut *query.body {
        let one = Expr::Value(Value::Null.with_empty_span());
        select.projection = vec![SelectItem::UnnamedExpr(one)];
    }
    references(&query)
}

fn references(part: &impl Visit) -> References {
    let mut collector = References::default();
    let _ = part.visit(&mut collector);
    collector
}

/// The columns of the result, where they are those of one SELECT from tables. A number in ORDER BY or GROUP BY refers to
/// them by place, which is not followed.
fn outputs_of(query: &Query) -> Option<Vec<Output>> {
    let SetExpr::Select(select) = &*query.body else {
        return None;
    };
    let from_tables = select
        .from
        .iter()
        .all(|from| is_table(&from.relation) && from.joins.iter().all(|join| is_table(&join.relation)));
    if query.with.is_some() || !from_tables || mentions_place(query) {
        return None;
    }
    select.projection.iter().map(output).collect()
}

fn mentions_place(query: &Query) -> bool {
    let mut without = query.clone();
    if let SetExpr::Select(select) = &mut *without.body {
        select.projection.clear();
        select.selection = None;
        select.from.clear();
        select.having = None;
    }
    without.limit_clause = None;
    without.fetch = None;
    struct Numbers;
    impl Visitor for Numbers {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Value(_) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    without.visit(&mut Numbers).is_break()
}

/// A table under its own columns' names.
fn is_table(factor: &TableFactor) -> bool {
    matches!(factor, TableFactor::Table { args: None, alias, .. }
        if alias.as_ref().is_none_or(|alias| alias.columns.is_empty()))
}

fn output(item: &SelectItem) -> Option<Output> {
    match item {
        SelectItem::UnnamedExpr(expr) => {
            let name = match expr {
                Expr::Identifier(name) => Some(fold(name)),
                Expr::CompoundIdentifier(names) => names.last().map(fold),
                _ => None,
            };
            Some(Output::One(name, references(expr)))
        }
        SelectItem::ExprWithAlias { expr, alias } => Some(Output::One(Some(fold(alias)), references(expr))),
        SelectItem::Wildcard(_) => Some(Output::All(None)),
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            Some(Output::All(Some(parts(name)?.1)))
        }
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::Expr(_), _)
        | SelectItem::ExprWithAliases { .. } => None,
    }
}

impl Visitor for References {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => self.columns.push((None, fold(name))),
            Expr::CompoundIdentifier(names) => match names.as_slice() {
                [.., qualifier, name] => self.columns.push((Some(fold(qualifier)), fold(name))),
                _ => self.everything = true,
            },
            Expr::CompoundFieldAccess { .. } => self.everything = true,
            Expr::Function(function) => {
                if let FunctionArguments::List(list) = &function.args {
                    let is_count = function.name.to_string().eq_ignore_ascii_case("count");
                    self.everything |= list.args.iter().any(|argument| takes_rows(argument, is_count));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.everything |= select
            .projection
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
        for from in &select.from {
            self.joins(from);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            // Columns under other names cannot be followed.
            TableFactor::Table {
                args: None,
                alias: Some(alias),
                ..
            } => self.everything |= !alias.columns.is_empty(),
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                self.everything |= alias.is_some();
                self.joins(table_with_joins);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl References {
    fn joins(&mut self, from: &TableWithJoins) {
        for Join { join_operator, .. } in &from.joins {
            match constraint(join_operator) {
                Some(JoinConstraint::Using(columns)) => {
                    let named = columns.iter().filter_map(parts);
                    self.columns.extend(named.map(|(_, name)| (None, name)));
                }
                Some(JoinConstraint::Natural) => self.everything = true,
                Some(JoinConstraint::On(_) | JoinConstraint::None) => {}
                None => self.everything = true,
            }
        }
    }
}

const fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::StraightJoin(constraint) => Some(constraint),
        _ => None,
    }
}

/// Whether an argument stands for whole rows. Counting rows does not look into them.
const fn takes_rows(argument: &FunctionArg, is_count: bool) -> bool {
    let (FunctionArg::Named { arg, .. } | FunctionArg::ExprNamed { arg, .. } | FunctionArg::Unnamed(arg)) =
        argument;
    match arg {
        FunctionArgExpr::Expr(_) => false,
        FunctionArgExpr::Wildcard => !is_count,
        FunctionArgExpr::QualifiedWildcard(_) | FunctionArgExpr::WildcardWithOptions(_) => true,
    }
}

/// The names in a query: of relations, and those that it gives itself.
#[derive(Default)]
struct Names {
    relations: Vec<Named>,
    ctes: BTreeSet<String>,
    defined: BTreeSet<String>,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.ctes.insert(fold(&cte.alias.name));
            self.define(&cte.alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.defined.insert(fold(alias));
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table {
                name,
                args: None,
                alias,
                ..
            } => self.relation(name, alias.as_ref()),
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => {
                if let Some(alias) = alias {
                    self.define(alias);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Names {
    fn define(&mut self, alias: &TableAlias) {
        self.defined.insert(fold(&alias.name));
        self.defined
            .extend(alias.columns.iter().map(|column| fold(&column.name)));
    }

    fn relation(&mut self, name: &ObjectName, alias: Option<&TableAlias>) {
        let Some((schema, folded)) = parts(name) else {
            return;
        };
        let written = name.to_string();
        let exact = exact(name);
        let alias = alias.map(|alias| fold(&alias.name));
        if let Some(known) = self.relations.iter_mut().find(|known| known.written == written) {
            known.aliases.extend(alias);
            return;
        }
        self.relations.push(Named {
            written,
            schema,
            name: folded.clone(),
            exact,
            aliases: alias.into_iter().chain([folded]).collect(),
            may_be_defined: false,
        });
    }
}

/// The last two parts of a name, folded.
fn parts(name: &ObjectName) -> Option<(Option<String>, String)> {
    let (schema, name) = exact(name);
    Some((schema.map(|schema| schema.to_lowercase()), name.to_lowercase()))
}

fn exact(name: &ObjectName) -> (Option<String>, String) {
    let mut parts = name.0.iter().rev().filter_map(|part| part.as_ident());
    let own = parts.next().map(|ident| ident.value.clone()).unwrap_or_default();
    (parts.next().map(|ident| ident.value.clone()), own)
}

/// A name without its case: what differs in case only is taken for one, and the higher class counts.
fn fold(ident: &Ident) -> String {
    ident.value.to_lowercase()
}
