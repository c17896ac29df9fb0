//! `cargo xtask`: everything a contributor does twice.

mod eval;

use std::process::ExitCode;

fn main() -> ExitCode {
    let task = std::env::args().nth(1);
    match task.as_deref() {
        Some("eval") => eval::run(),
        _ => {
            complain("usage: cargo xtask eval");
            ExitCode::FAILURE
        }
    }
}

/// Says something on the error stream.
#[expect(clippy::print_stderr, reason = "this is a command line program")]
fn complain(message: &str) {
    eprintln!("{message}");
}
