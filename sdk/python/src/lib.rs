//! The part of the Python package `tidegate` that decides.
//!
//! Nothing is decided in Python: a decorated function asks `place::Place` before it runs, which asks the engine on the
//! store of a data directory; with a gateway by URL, `tool::decide` applies the same rule to the state that the gateway
//! gave. What is here only carries names and answers across.

mod place;
mod tool;
mod who;

use pyo3::prelude::*;

/// `tidegate._native`: see `python/tidegate/_native.pyi` for what Python sees of it.
#[pymodule(name = "_native")]
mod tidegate_native {
    #[pymodule_export]
    use crate::place::{NotReady, Place, State, StateError};
    #[pymodule_export]
    use crate::tool::{Refusal, Tool, decide};
    #[pymodule_export]
    use crate::who::Who;
}
