//! `cargo xtask`: everything a contributor does twice.

mod bench;
mod ci;
mod console;
mod deploy;
mod eval;
mod fuzz;
mod learn;
mod mcp_clients;
mod mcp_conformance;
mod openapi_document;
mod packages;
mod sandbox;
mod sdk;
mod steps;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND
  test            every test of the workspace
  lint            formatting, clippy and documentation, warnings denied; the files of deploy/
  tidy            what a program can check of the house style
  ci              test, then lint
  fuzz [TARGET [SECONDS]]
                  looks for inputs that break the detector's laws; needs cargo-fuzz
  fga-model       writes the authorization model for OpenFGA's API from crates/authority/model/tidegate.fga
  learn           makes the weights of words that tell orders, from crates/detect/training and the documentation of
                  the crates in use
  mcp-clients     the official MCP clients and servers that some tests need, into target/mcp-test
  openapi-document
                  a public OpenAPI document that a test needs, into target/openapi-test
  mcp-conformance the official MCP conformance suite, directly and through the gateway
  screenshots     the console in a browser, as pictures in docs/images
  sdk             the tests of the SDKs, with the frameworks they are for
  sdk-types       writes the TypeScript package from the gateway's own description
  bench [NAME]    what things cost, beside the machine's own limits in the same run
  eval [model|agentdojo]
                  how well the detectors do on ../shared/eval, or a model beside them, or the whole gateway on replayed
                  traces; writes docs/quality.md, docs/quality-model.md, docs/agentdojo.md";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let done = match command.as_str() {
        "test" => ci::test(),
        "lint" => ci::lint(),
        "tidy" => tidy::run(),
        "fga-model" => xtask::model::install(steps::say).and_then(|()| xtask::model::write()),
        "mcp-clients" => mcp_clients::install(),
        "openapi-document" => openapi_document::install(),
        "screenshots" => console::screenshots(),
        "mcp-conformance" => mcp_conformance::run(),
        "sdk" => sdk::run_alone(),
        "sdk-types" => sdk::write_types(),
        "ci" => ci::test().and_then(|()| ci::lint()),
        "bench" => bench::run(words.next().as_deref()),
        "eval" => eval::run(words.next().as_deref()),
        "learn" => learn::run(),
        "fuzz" => fuzz::run(words.next().as_deref(), words.next().as_deref()),
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
