//! The clients before the gateway: on this process's standard streams, or over HTTP.

mod belonging;
pub(crate) mod http;
pub(crate) mod stdio;
mod streams;

pub(crate) use streams::Streams;
