//! `cargo xtask`: everything a contributor does twice.

fn main() {}
