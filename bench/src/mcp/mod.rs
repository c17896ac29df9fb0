//! What the benchmark of the MCP gateway is made of: a server to reach, the hops before it, and a client that counts.

pub mod hops;
pub mod load;
pub mod server;
