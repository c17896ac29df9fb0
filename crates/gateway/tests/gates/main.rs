//! What is held waits for a person, and a person's word counts for exactly what it was given for, once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod calls;
mod house;
mod kinds;
mod mcp;
#[path = "../mcp_stand/mod.rs"]
mod mcp_stand;
mod seen;
#[path = "../stand/mod.rs"]
mod stand;
mod stream;
mod webhook;
mod who;
