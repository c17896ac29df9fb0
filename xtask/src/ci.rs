//! What has to pass before a change is merged.

use xtask::{model, services};

use crate::steps::{cargo, root, say};
use crate::{console, deploy, mcp_clients, mcp_conformance, openapi_document, sandbox, sdk};

/// Every test of the workspace, the style checks of [`crate::tidy`] among them, with the real servers that some need.
pub(crate) fn test() -> Result<(), String> {
    mcp_clients::install()?;
    mcp_conformance::install()?;
    openapi_document::install()?;
    console::install()?;
    model::install(say)?;
    sdk::install()?;
    sandbox::install()?;
    let servers = services::start_all(&root(), say)?;
    cargo(&["test", "--workspace", "--no-fail-fast"], &servers.environment())?;
    drop(servers);
    sdk::test()?;
    say("==> all tests passed");
    Ok(())
}

/// Formatting, clippy and documentation, with warnings denied, and the files of deploy/.
pub(crate) fn lint() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    cargo(
        &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        &[],
    )?;
    cargo(
        &["doc", "--workspace", "--no-deps"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    deploy::lint()?;
    say("==> formatted, linted and documented");
    Ok(())
}
