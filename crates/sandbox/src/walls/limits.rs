//! Bounds that the kernel keeps for each process.

use rustix::process::{Resource, Rlimit, setrlimit};

/// How much one process inside may use. What is left out is not bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Its own memory that it can write to, in bytes. Address space that is only reserved, as some runtimes do, is free.
    pub memory_bytes: Option<u64>,
    /// Its time on a processor, in seconds.
    pub cpu_seconds: Option<u64>,
    /// A file it writes, in bytes.
    pub file_bytes: Option<u64>,
}

/// A bound that could not be set.
#[derive(Debug, thiserror::Error)]
#[error("a bound on {what} cannot be set: {why}")]
pub struct LimitsError {
    what: &'static str,
    why: rustix::io::Errno,
}

/// Bounds this process and all it starts. Memory images of crashed programs are never written.
pub(crate) fn set_limits(limits: Limits) -> Result<(), LimitsError> {
    for (what, resource, most) in [
        ("memory", Resource::Data, limits.memory_bytes),
        ("processor time", Resource::Cpu, limits.cpu_seconds),
        ("the size of files", Resource::Fsize, limits.file_bytes),
        ("memory images", Resource::Core, Some(0)),
    ] {
        if most.is_some() {
            let limit = Rlimit {
                current: most,
                maximum: most,
            };
            setrlimit(resource, limit).map_err(|why| LimitsError { what, why })?;
        }
    }
    Ok(())
}
