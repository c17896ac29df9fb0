//! The official MCP clients and servers that the tests of the gateway speak with, in target/mcp-test.

use crate::packages::{Place, npm, pip};

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
    let wanted = [NODE.join(" "), PYTHON.join(" ")].join(" ");
    let place = Place::below_target("mcp-test", "the tests with real MCP clients", wanted);
    place.fill(|place| npm(place, &NODE).and_then(|()| pip(place, &PYTHON)))
}
