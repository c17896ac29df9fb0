//! Notes, kinship and the origins of values: beside the sessions, in the same database and under the same fence.

mod memory;
mod origins;
mod query;

pub(crate) use query::AnnexQuery;
use tidegate_core::Class;
use tidegate_store::StoreError;

use crate::failure::damaged;

/// The first column of the only row: what a function came to.
pub(crate) fn verdict(rows: &[tokio_postgres::Row]) -> Result<&str, StoreError> {
    let row = rows.first().ok_or_else(damaged)?;
    match row.try_get(0).map_err(|_| damaged())? {
        "fenced" => Err(StoreError::Fenced),
        "no session" => Err(StoreError::NoSession),
        other => Ok(other),
    }
}

pub(crate) fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a tokio_postgres::Row,
    place: usize,
) -> Result<T, StoreError> {
    row.try_get(place).map_err(|_| damaged())
}

pub(crate) fn class_of(text: &str) -> Result<Class, StoreError> {
    let found = Class::ALL.into_iter().find(|class| class.as_str() == text);
    found.ok_or_else(damaged)
}
