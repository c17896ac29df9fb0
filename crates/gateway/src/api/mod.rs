//! The HTTP API under /v1. Each handler parses, asks the engine once, and writes the answer.

pub(crate) mod calls;
pub(crate) mod connect;
pub(crate) mod context;
pub(crate) mod egress;
pub(crate) mod events;
pub(crate) mod gate_events;
pub(crate) mod gate_wire;
pub(crate) mod gates;
pub(crate) mod operator;
pub(crate) mod plan;
pub(crate) mod provenance;
pub(crate) mod reviews;
pub(crate) mod runs;
pub(crate) mod sessions;
pub(crate) mod veil;
pub(crate) mod wire;

pub(crate) use wire::rfc3339;
