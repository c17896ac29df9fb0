//! What tests and benchmarks share with `cargo xtask`: the real servers they run against, and OpenFGA's
//! translator of models.

pub mod model;
pub mod services;
