//! Who may use which tool, asked of an OpenFGA server.
//!
//! The engine knows an authority by its trait; this crate is the one that asks over the network. [`Client`] holds the few
//! calls that are needed, typed and bounded; [`OpenFga`] answers the engine from them and remembers answers for as long
//! as the operator allows and never longer; [`bootstrap`] prepares a store. Whatever goes wrong is a typed error, and to
//! the engine it is "no answer", which denies.

mod answers;
pub mod bootstrap;
mod calls;
mod client;
mod credentials;
mod error;
mod id;
pub mod model;
mod openfga;
mod settings;
mod snapshot;

pub use calls::Tuple;
pub use client::Client;
pub use credentials::{ClientCredentials, Credentials};
pub use error::CallError;
pub use id::{BadId, agent_id, tool_id};
pub use openfga::OpenFga;
pub use settings::{Consistency, Settings};
