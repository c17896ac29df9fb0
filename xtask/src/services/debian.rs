//! Installing Debian's packages.

use std::path::Path;
use std::process::{Command, Stdio};

/// Whether this process may install packages and must give up its rights to run what refuses them.
pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Installs a package. The servers in it are not started: the tests start their own.
///
/// # Errors
/// Says what is missing and why it could not be installed.
pub fn install(package: &str) -> Result<(), String> {
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err(format!("{package} is not installed, and there is no apt-get"));
    }
    if !is_root() {
        return Err(format!(
            "{package} is not installed, and only root can install it (apt-get install {package})"
        ));
    }
    apt(&["install", "-y", "--no-install-recommends", package]).or_else(|_| {
        apt(&["update"]).and_then(|()| apt(&["install", "-y", "--no-install-recommends", package]))
    })
}

fn apt(args: &[&str]) -> Result<(), String> {
    let shown = format!("apt-get {}", args.join(" "));
    let status = Command::new("apt-get")
        .args(["-q", "-o", "DPkg::Lock::Timeout=300"])
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        // In run level 1 the packages' scripts start no server.
        .env("RUNLEVEL", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown} failed ({status})")),
        Err(error) => Err(format!("cannot run {shown}: {error}")),
    }
}
