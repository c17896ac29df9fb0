//! Ports nobody uses.

use std::net::{Ipv4Addr, TcpListener};

/// A port of the loopback address that is free now.
///
/// # Errors
/// When the system gives none.
pub fn free() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    listener
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| format!("there is no free port: {error}"))
}
