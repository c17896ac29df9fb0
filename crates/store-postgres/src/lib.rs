//! Sessions, tokens, notes, gates, class reviews and evidence in PostgreSQL, for many gateways on one state.
//!
//! What a change is stands in [`tidegate_store::Shared`]; here is what the server has to do for it, each one statement. Reads
//! and changes have connections of their own, so that a read never waits behind somebody's disk. A question that the server does
//! not answer in time is an error, and its connection is given up: the next question makes a new one.

mod annex;
mod changes;
mod failure;
mod gates;
mod lanes;
mod migrate;
mod query;
mod records;
mod reviews;
mod rows;
mod server;
mod tls;
mod tokens;
mod vault;

pub use rows::PostgresRows;
use tidegate_store::{Remote, Shared, StoreError};
pub use vault::PostgresVault;

/// Sessions and tokens in PostgreSQL.
pub type PostgresStore = Shared<PostgresRows>;

/// Connects, checks that the server keeps what it acknowledges, and brings its tables to this version.
///
/// # Errors
/// When the server cannot be reached, does not keep what it acknowledges, only reads, or is of a newer version.
pub async fn connect(remote: &Remote) -> Result<PostgresStore, StoreError> {
    PostgresRows::connect(remote).await.map(Shared::new)
}
