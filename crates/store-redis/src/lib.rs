//! Sessions and tokens in Redis, for many gateways on one state.
//!
//! What a change is stands in [`tidegate_store::Shared`]; here is what the server has to do for it, each one script. A server that
//! could forget what it acknowledged (no append-only file that is synced before the answer, an eviction policy, keys that
//! expire) is refused when a connection is made.

mod address;
mod changes;
mod cluster;
mod durable;
mod failure;
mod keys;
mod lanes;
mod map;
mod question;
mod rows;
mod scripts;
mod tokens;
mod wire;

pub use rows::RedisRows;
use tidegate_store::{Remote, Shared, StoreError};

/// Sessions and tokens in Redis.
pub type RedisStore = Shared<RedisRows>;

/// Connects to a server (`redis://`, `rediss://`), to the primary that sentinels name (`redis+sentinel://`) or to a cluster
/// (`redis+cluster://`), and checks that it keeps what it acknowledges.
///
/// # Errors
/// When the address is none, the server cannot be reached, or it could forget what it acknowledged.
pub async fn connect(remote: &Remote) -> Result<RedisStore, StoreError> {
    RedisRows::connect(remote).await.map(Shared::new)
}
