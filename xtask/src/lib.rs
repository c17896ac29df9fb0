//! What tests and benchmarks share with `cargo xtask`: the real servers they run against.

pub mod services;
