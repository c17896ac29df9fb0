//! The clients before the gateway: on this process's standard streams, or over HTTP.

mod belonging;
mod carried;
pub(crate) mod http;
mod lingering;
pub(crate) mod stdio;
mod streams;

pub(crate) use streams::Streams;
