//! What went wrong, without what was in the statement.

use tidegate_store::StoreError;

/// A failure of a statement. The server's text may repeat a row, so only its code is told.
pub(crate) fn failed(error: &tokio_postgres::Error) -> StoreError {
    let text = match error.code() {
        Some(code) => format!("PostgreSQL refused (SQLSTATE {})", code.code()),
        None if error.is_closed() => "the connection to PostgreSQL is closed".to_owned(),
        None => "the connection to PostgreSQL failed".to_owned(),
    };
    StoreError::Backend(text)
}

/// A failure to connect. No statement was sent, so the server's own words say most.
pub(crate) fn unreachable(error: &tokio_postgres::Error) -> StoreError {
    let text = match error.as_db_error() {
        Some(refused) => format!("PostgreSQL refused the connection: {}", refused.message()),
        None => format!(
            "PostgreSQL cannot be reached: {}{}",
            deepest(error),
            remedy(error)
        ),
    };
    StoreError::Backend(text)
}

/// What to do about it, where that is plain.
fn remedy(error: &tokio_postgres::Error) -> &'static str {
    match deepest(error).as_str() {
        "server does not support TLS" => {
            "; on another machine it has to, unless sslmode=disable in store.url says that the way there is safe"
        }
        _ => "",
    }
}

/// The server did not answer.
pub(crate) fn too_slow() -> StoreError {
    StoreError::Backend("PostgreSQL did not answer in time".to_owned())
}

/// A row that is not as it was written.
pub(crate) const fn damaged() -> StoreError {
    StoreError::Corrupt { what: "a row" }
}

fn deepest(error: &tokio_postgres::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
