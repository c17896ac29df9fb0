//! The clients before the gateway: on this process's standard streams, or over HTTP.

pub(crate) mod http;
pub(crate) mod stdio;
