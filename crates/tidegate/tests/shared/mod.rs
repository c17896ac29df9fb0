//! Three gateways on one server, each behind a proxy that can be cut, and what happened on them.
#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod history;
pub(crate) mod knowledge;
pub(crate) mod load;
pub(crate) mod proxy;
pub(crate) mod stand;
pub(crate) mod trouble;
