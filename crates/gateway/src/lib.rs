//! The only place that knows wires. Handlers parse, call one engine function, and write what came back: no rule
//! about who may do what or what may pass stands here.

mod api;
mod auth;
mod connect;
mod console;
pub mod egress;
mod extract;
mod health;
mod limits;
pub mod mcp;
mod page;
mod problem;
pub mod records;
mod router;
mod server;
pub mod telemetry;
pub mod webhook;

pub use auth::{NewToken, NoRandomness, digest, new_token};
pub use connect::{Connectors, ConnectorsError};
pub use console::{ConsoleOptions, Oidc, OidcError, OidcSettings, Proposal};
pub use limits::Limits;
pub use router::{App, openapi, router};
pub use server::{ServeError, Server};
