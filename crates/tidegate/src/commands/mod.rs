//! One module for each command: its arguments and what it does.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod init;
