//! What has to pass before a change is merged.

use crate::steps::{cargo, say};
use crate::{mcp_clients, mcp_conformance};

/// Every test of the workspace, the style checks of [`crate::tidy`] among them.
pub(crate) fn test() -> Result<(), String> {
    mcp_clients::install()?;
    mcp_conformance::install()?;
    cargo(&["test", "--workspace"], &[])?;
    say("==> all tests passed");
    Ok(())
}

/// Formatting, clippy and documentation, with warnings denied.
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
    say("==> formatted, linted and documented");
    Ok(())
}
