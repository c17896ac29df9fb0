//! Whether a text is one query that only reads.
//!
//! What is judged and what is sent must be one thing, although the database reads text by other rules than the parser
//! here. So the text that came is never sent: it is read, written anew from what was understood, with an AS before every
//! alias ([`super::aliases`]), read again, and only that second reading is judged and its text sent. Comments, escapes and the rarer ways of quoting, on which readers
//! differ, are refused before ([`super::lexical`]). Everything in a query is on a list of what is allowed; what is on no list is refused.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArgumentClause, FunctionArguments, ObjectName, ObjectNamePart,
    Query, Select, SelectFlavor, SelectItem, SetExpr, Statement, TableAlias, TableFactor, TypedString, Visit,
    Visitor, WildcardAdditionalOptions,
};

use super::Flavor;
use super::aliases::{spell_out, stands_before_a_table};
use super::attributes::{Given, reads_a_field};
use super::functions;
use super::lexical::parse;
use super::types;
use crate::Failure;

/// A query that only reads.
#[derive(Debug)]
pub(super) struct Guarded {
    /// What was understood.
    pub(super) query: Box<Query>,
    /// Its text, written from that.
    pub(super) text: String,
}

/// Reads a text as one query that only reads. It needs a deep stack: see [`super::reading::read`].
pub(super) fn guard(flavor: Flavor, text: &str) -> Result<Guarded, Failure> {
    let mut first = parse(flavor, text)?;
    spell_out(&mut first);
    let written = first.to_string();
    let second = parse(flavor, &written)?;
    if second.to_string() != written {
        return Err(refused(
            "the query cannot be written down without doubt; put values into params",
        ));
    }
    let Statement::Query(query) = second else {
        return Err(refused(
            "only a query that begins with SELECT, WITH or VALUES is run",
        ));
    };
    let mut judge = Judge {
        flavor,
        queries: 0,
        named: Vec::new(),
        given: Given::by(&query),
    };
    match Visit::visit(&*query, &mut judge) {
        ControlFlow::Continue(()) => Ok(Guarded { query, text: written }),
        ControlFlow::Break(why) => Err(refused(&why)),
    }
}

pub(super) fn refused(why: &str) -> Failure {
    Failure::Refused(why.to_owned())
}

/// Walks a query and stops at the first thing that is not allowed.
struct Judge {
    flavor: Flavor,
    queries: usize,
    /// The relations that were met where relations may stand.
    named: Vec<String>,
    /// The functions whose rows it reads.
    given: Given,
}

type Verdict = ControlFlow<String>;

const FINE: Verdict = ControlFlow::Continue(());

fn no(why: &str) -> Verdict {
    ControlFlow::Break(why.to_owned())
}

impl Visitor for Judge {
    type Break = String;

    fn pre_visit_statement(&mut self, _statement: &Statement) -> Verdict {
        no("a statement inside the query would change data")
    }

    fn pre_visit_query(&mut self, query: &Query) -> Verdict {
        self.queries += 1;
        let Query {
            with,
            body,
            order_by: _,
            limit_clause: _,
            fetch: _,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        let mut tables = with.iter().flat_map(|with| &with.cte_tables);
        if tables.any(|table| has_types(&table.alias)) {
            return no("the columns of an alias have no types here; cast them");
        }
        if !locks.is_empty() {
            return no("a query that locks rows (FOR UPDATE, FOR SHARE) is not run");
        }
        if for_clause.is_some() || settings.is_some() || format_clause.is_some() || !pipe_operators.is_empty()
        {
            return no("the query ends in a clause that is not allowed");
        }
        only_reads(body)
    }

    fn pre_visit_select(&mut self, select: &Select) -> Verdict {
        if select.into.is_some() {
            return no("SELECT INTO writes; leave INTO out");
        }
        let is_plain = select.lateral_views.is_empty()
            && select.prewhere.is_none()
            && select.connect_by.is_empty()
            && select.cluster_by.is_empty()
            && select.distribute_by.is_empty()
            && select.sort_by.is_empty()
            && select.qualify.is_none()
            && select.value_table_mode.is_none()
            && select.optimizer_hints.is_empty()
            && select.select_modifiers.is_none()
            && select.exclude.is_none()
            && select.top.is_none()
            && select.flavor == SelectFlavor::Standard;
        if !is_plain {
            return no("the query holds a clause that is not allowed");
        }
        for item in &select.projection {
            let is_plain = match item {
                SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => true,
                SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => {
                    has_no_options(options)
                }
                SelectItem::ExprWithAliases { .. } => false,
            };
            if !is_plain {
                return no("a column of the result is written in a way that is not allowed");
            }
        }
        FINE
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Verdict {
        if alias_of(factor).is_some_and(has_types) {
            return no("the columns of an alias have no types here; cast them");
        }
        match factor {
            TableFactor::Table { name, .. } if stands_before_a_table(self.flavor, name) => {
                no("ONLY is not run; name the table alone")
            }
            TableFactor::Table {
                name,
                args: None,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample: None,
                index_hints,
                alias: _,
            } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
                self.named.push(name.to_string());
                FINE
            }
            TableFactor::Table {
                name, args: Some(_), ..
            }
            | TableFactor::Function { name, .. } => {
                self.named.push(name.to_string());
                match plain_function(name) {
                    Some(function) if functions::gives_rows(self.flavor, function) => FINE,
                    _ => not_allowed(name),
                }
            }
            TableFactor::Derived { sample: None, .. }
            | TableFactor::UNNEST { .. }
            | TableFactor::NestedJoin { .. } => FINE,
            _ => no("something after FROM is not allowed: tables, queries and joins are"),
        }
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> Verdict {
        if self.named.contains(&relation.to_string()) {
            return FINE;
        }
        no("a table is named where none may stand")
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Verdict {
        match expr {
            Expr::Identifier(name) if name.value.starts_with('@') => no("variables cannot be read"),
            Expr::CompoundIdentifier(names) if names.iter().any(|name| name.value.starts_with('@')) => {
                no("variables cannot be read")
            }
            Expr::CompoundIdentifier(names)
                if self.flavor == Flavor::Postgres && !self.given.are_columns(names) =>
            {
                no("a column of a function's rows is named without what it is of, or listed: AS t(a, b)")
            }
            Expr::CompoundFieldAccess { access_chain, .. } if reads_a_field(access_chain) => {
                no("a field of a value is not read; name a column of a table")
            }
            Expr::BinaryOp {
                op:
                    BinaryOperator::Custom(_)
                    | BinaryOperator::PGCustomBinaryOperator(_)
                    | BinaryOperator::Assignment,
                ..
            } => no("the query holds an operator that is not allowed"),
            Expr::Cast { data_type, .. }
            | Expr::Convert {
                data_type: Some(data_type),
                ..
            }
            | Expr::TypedString(TypedString { data_type, .. })
                if !types::is_allowed(self.flavor, data_type) =>
            {
                no("the query casts to a type that is not on the list of types that look nothing up")
            }
            Expr::Function(function) if !returns_plainly(function) => {
                no("the query ends a function in a clause that is not allowed; cast instead")
            }
            Expr::Function(function) => match plain_function(&function.name) {
                Some(name) if functions::is_allowed(self.flavor, name) && !function.uses_odbc_syntax => FINE,
                _ => not_allowed(&function.name),
            },
            expr if is_known(expr) => FINE,
            _ => no("the query holds an expression that is not allowed"),
        }
    }
}

/// The expressions that compute from what they are given. Functions are looked at one by one.
const fn is_known(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::CompoundFieldAccess { .. }
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::InList { .. }
            | Expr::InSubquery { .. }
            | Expr::Between { .. }
            | Expr::BinaryOp { .. }
            | Expr::Like { .. }
            | Expr::ILike { .. }
            | Expr::SimilarTo { .. }
            | Expr::RLike { .. }
            | Expr::AnyOp { .. }
            | Expr::AllOp { .. }
            | Expr::UnaryOp { .. }
            | Expr::Convert { .. }
            | Expr::Cast { .. }
            | Expr::AtTimeZone { .. }
            | Expr::Extract { .. }
            | Expr::Ceil { .. }
            | Expr::Floor { .. }
            | Expr::Position { .. }
            | Expr::Substring { .. }
            | Expr::Trim { .. }
            | Expr::Overlay { .. }
            | Expr::Collate { .. }
            | Expr::Nested(_)
            | Expr::Value(_)
            | Expr::TypedString(_)
            | Expr::Case { .. }
            | Expr::Exists { .. }
            | Expr::Subquery(_)
            | Expr::GroupingSets(_)
            | Expr::Cube(_)
            | Expr::Rollup(_)
            | Expr::Tuple(_)
            | Expr::Array(_)
            | Expr::Interval(_)
    )
}

/// What the query calls something after FROM.
const fn alias_of(factor: &TableFactor) -> Option<&TableAlias> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
        _ => None,
    }
}

fn has_types(alias: &TableAlias) -> bool {
    alias.columns.iter().any(|column| column.data_type.is_some())
}

/// Whether a function gives back the type that it gives back by itself.
fn returns_plainly(function: &Function) -> bool {
    let FunctionArguments::List(list) = &function.args else {
        return true;
    };
    let returns =
        |clause: &FunctionArgumentClause| matches!(clause, FunctionArgumentClause::JsonReturningClause(_));
    !list.clauses.iter().any(returns)
}

fn only_reads(body: &SetExpr) -> Verdict {
    match body {
        SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => FINE,
        SetExpr::SetOperation { left, right, .. } => {
            only_reads(left)?;
            only_reads(right)
        }
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            no("a statement inside the query would change data")
        }
        SetExpr::Table(_) => no("TABLE is not run; write SELECT * FROM"),
    }
}

const fn has_no_options(options: &WildcardAdditionalOptions) -> bool {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude,
        opt_except,
        opt_replace,
        opt_rename,
        opt_alias,
    } = options;
    opt_ilike.is_none()
        && opt_exclude.is_none()
        && opt_except.is_none()
        && opt_replace.is_none()
        && opt_rename.is_none()
        && opt_alias.is_none()
}

/// A function's name, where it is a plain one or one of PostgreSQL's own.
fn plain_function(name: &ObjectName) -> Option<&str> {
    let parts: Option<Vec<&str>> = name.0.iter().map(part).collect();
    match parts?.as_slice() {
        [function] => Some(*function),
        [schema, function] if schema.eq_ignore_ascii_case("pg_catalog") => Some(*function),
        _ => None,
    }
}

fn part(part: &ObjectNamePart) -> Option<&str> {
    match part {
        ObjectNamePart::Identifier(ident) => Some(&ident.value),
        ObjectNamePart::Function(_) => None,
    }
}

fn not_allowed(name: &ObjectName) -> Verdict {
    let shown: String = name
        .to_string()
        .chars()
        .filter(|c| !c.is_control())
        .take(60)
        .collect();
    ControlFlow::Break(format!(
        "the function {shown} is not on the list of functions that only compute"
    ))
}
