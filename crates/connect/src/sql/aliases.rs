//! Writes AS before every name that a query gives to what stands after FROM.
//!
//! Without it, a word that a database knows and the parser here does not passes for a table, and the table behind it for
//! that table's name: `FROM ONLY guests` reads guests in PostgreSQL, and a table "only" here. `FROM ONLY AS guests` is
//! nothing that any database reads.

use std::ops::ControlFlow;

use sqlparser::ast::{ObjectName, Statement, TableFactor, VisitMut, VisitorMut};

use super::Flavor;

/// Makes every alias of a statement an explicit one.
pub(super) fn spell_out(statement: &mut Statement) {
    let _ = VisitMut::visit(statement, &mut SpellOut);
}

struct SpellOut;

impl VisitorMut for SpellOut {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        // Every other kind is refused; see the guard.
        if let TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } = factor
            && let Some(alias) = alias
        {
            alias.explicit = true;
        }
        ControlFlow::Continue(())
    }
}

/// Whether a table's name is a word that stands before a table's name, and so never is one unless it is quoted.
pub(super) fn stands_before_a_table(flavor: Flavor, name: &ObjectName) -> bool {
    let word = match name.0.as_slice() {
        [part] => part.as_ident().filter(|ident| ident.quote_style.is_none()),
        _ => None,
    };
    flavor == Flavor::Postgres && word.is_some_and(|word| word.value.eq_ignore_ascii_case("only"))
}
