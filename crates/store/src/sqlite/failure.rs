//! What SQLite reports, in the store's words.

use rusqlite::{Error, ErrorCode};

use crate::StoreError;

/// Nothing of a row's content can be in these messages: values are always bound, never part of a statement.
pub(super) fn failed(error: Error) -> StoreError {
    match error {
        Error::SqliteFailure(code, text) => match code.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Overloaded,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt { what: "a file" },
            _ => {
                let text = text.unwrap_or_else(|| code.to_string());
                StoreError::Backend(format!("{text} (sqlite code {})", code.extended_code))
            }
        },
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::Utf8Error(..)
        | Error::InvalidColumnType(..)
        | Error::QueryReturnedNoRows => StoreError::Corrupt { what: "a row" },
        _ => StoreError::Backend("the statement could not be run".to_owned()),
    }
}

/// For what a caller can do nothing about but look at the message.
pub(super) fn io(what: &str, error: &std::io::Error) -> StoreError {
    StoreError::Backend(format!("{what}: {}", error.kind()))
}
