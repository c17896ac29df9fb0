//! Asking a model what a text is. Opt-in: nothing here runs unless an operator names an endpoint.
//!
//! The detectors of `tidegate-detect` decide by themselves and touch no network. A model may add to what they found: its
//! opinion is joined by maximum ([`Opinion::raise`]), so it can raise a class and never lower one, and when it fails
//! the caller is left with what the detectors said and a typed error. The text goes to the endpoint as it is, so the
//! endpoint must be one that may see it.

mod endpoint;
mod opinion;

pub use endpoint::{ClassifyError, Endpoint, EndpointSettings};
pub use opinion::Opinion;
