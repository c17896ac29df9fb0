//! The official MCP clients and servers that the tests of the gateway speak with, in target/mcp-test.

use std::path::Path;
use std::process::Command;

use crate::steps::{root, say};

const NODE: [&str; 5] = [
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
];
const PYTHON: [&str; 3] = [
    "mcp==2.3.0",
    "mcp-server-git==2026.10.19",
    "mcp-server-time==2026.10.19",
];

/// Installs them where they are missing. Without node or python that is an error only where CI=true.
pub(crate) fn install() -> Result<(), String> {
    let place = root().join("target/mcp-test");
    let mark = place.join("installed");
    let wanted = [NODE.join(" "), PYTHON.join(" ")].join(" ");
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let installed = install_in(&place).and_then(|()| {
        std::fs::write(&mark, wanted).map_err(|error| format!("cannot write in target: {error}"))
    });
    match installed {
        Err(why) if std::env::var("CI").as_deref() != Ok("true") => {
            say(&format!(
                "==> the tests with real MCP clients will be skipped: {why}"
            ));
            Ok(())
        }
        outcome => outcome,
    }
}

fn install_in(place: &Path) -> Result<(), String> {
    std::fs::create_dir_all(place).map_err(|error| format!("cannot write in target: {error}"))?;
    let manifest = "{\"name\": \"mcp-test\", \"private\": true}\n";
    std::fs::write(place.join("package.json"), manifest)
        .map_err(|error| format!("cannot write in target: {error}"))?;
    let npm = [["install", "--no-audit", "--no-fund"].as_slice(), &NODE].concat();
    run(place, "npm", &npm)?;
    run(place, "python3", &["-m", "venv", "venv"])?;
    let pip = place.join("venv/bin/pip");
    let pip = pip.to_str().ok_or("the path of the workspace is not UTF-8")?;
    run(place, pip, &[["install", "--quiet"].as_slice(), &PYTHON].concat())
}

fn run(place: &Path, program: &str, args: &[&str]) -> Result<(), String> {
    say(&format!("==> {program} {}", args.join(" ")));
    match Command::new(program).args(args).current_dir(place).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} failed ({status})")),
        Err(error) => Err(format!("cannot run {program}: {error}")),
    }
}
