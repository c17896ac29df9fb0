//! Runs a program whose network follows a label.
//!
//! The program gets namespaces of its own, set up by bubblewrap, and in them an empty network: no interface but its own
//! loopback. The one way out is a listening socket that was made inside and handed outside before the program began
//! ([`door`]). What connects to it is served by the process outside ([`Valve`]), which carries it to a proxy that decides; when
//! the valve shuts, the socket and every open connection are gone, whatever the program does. Nothing of the host's is mounted
//! for it, so there is nothing inside to misuse, to kill or to outlive the decision.
//!
//! This crate knows no session and no policy: it is told a [`Flow`] and follows it.
#![cfg(target_os = "linux")]

mod bwrap;
pub mod container;
pub mod door;
pub mod enter;
mod fixed;
mod launch;
pub mod machine;
mod outlet;
mod room;
mod stand_in;
mod valve;
mod walls;
mod watchdog;

pub use fixed::leads_through;
pub use launch::{Launch, LaunchError, Running, Streams};
pub use outlet::{Address, Outlet, UnixSocket};
pub use room::{Rights, Room, RoomError};
pub use valve::{Flow, PROXY_PORT, Valve};
pub use walls::Limits;
pub use watchdog::{Bounds, Exceeded};
