//! What went wrong, without what was in the command.

use redis::RedisError;
use tidegate_store::StoreError;

/// A failure of a command. The server's text may repeat an argument, so only its code is told.
pub(crate) fn failed(error: &RedisError) -> StoreError {
    let text = if error.is_timeout() {
        "Redis did not answer in time".to_owned()
    } else if error.is_connection_dropped() || error.is_io_error() {
        "the connection to Redis failed".to_owned()
    } else {
        let code = error.code().unwrap_or("no code");
        format!("Redis refused ({code})")
    };
    StoreError::Backend(text)
}

/// A failure to connect. No session's data was sent, so the message says most.
pub(crate) fn unreachable(error: &RedisError) -> StoreError {
    StoreError::Backend(format!("Redis cannot be reached: {error}"))
}

/// The server did not answer.
pub(crate) fn too_slow() -> StoreError {
    StoreError::Backend("Redis did not answer in time".to_owned())
}

/// Something is not as it was written.
pub(crate) const fn damaged() -> StoreError {
    StoreError::Corrupt { what: "an entry" }
}

/// Something about the server or its settings.
pub(crate) fn refused(text: &str) -> StoreError {
    StoreError::Backend(text.to_owned())
}
