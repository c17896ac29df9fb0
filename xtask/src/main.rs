//! `cargo xtask`: everything a contributor does twice.

mod ci;
mod steps;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND
  test   every test of the workspace
  lint   formatting, clippy and documentation, warnings denied
  tidy   what a program can check of the house style
  ci     test, then lint";

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let done = match command.as_str() {
        "test" => ci::test(),
        "lint" => ci::lint(),
        "tidy" => tidy::run(),
        "ci" => ci::test().and_then(|()| ci::lint()),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            steps::say(&message);
            ExitCode::FAILURE
        }
    }
}
