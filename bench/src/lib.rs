//! What the benchmarks share: measuring, and the machine's own limits to set beside each figure.

pub mod corpus;
mod disk;
pub mod floor;
mod http;
pub mod mcp;
pub mod peers;
mod processor;
mod spread;
pub mod stand;

pub use disk::{Disk, fdatasync_spread};
pub use http::{HttpLoad, post};
pub use processor::{mean_time, of_children, of_process};
pub use spread::Spread;

/// The program's own: what is measured here is to be what runs there.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The resident memory of this process, in bytes, as the kernel counts it.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim()
        .strip_suffix(" kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1024)
}
