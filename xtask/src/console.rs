//! The browser that the console is tested with, and the pictures of it in docs/images.

use std::path::Path;

use xtask::services::debian_package;

use crate::packages::{Place, npm};
use crate::steps::{cargo, root};

/// Debian's browser, where it puts it.
const BROWSER: &str = "/usr/bin/chromium";
/// What drives it, what looks for barriers on a page, and a provider that people sign in by.
const PACKAGES: [&str; 3] = [
    "playwright-core@1.65.0",
    "axe-core@4.14.0",
    "oidc-provider@9.13.3",
];

/// Installs them where they are missing. Without npm or apt that is an error only where CI=true.
pub(crate) fn install() -> Result<(), String> {
    let wanted = format!("{} {BROWSER}", PACKAGES.join(" "));
    let place = Place::below_target(
        "console-test",
        "the console's tests in a browser and with a provider",
        wanted,
    );
    place.fill(|place| {
        if !Path::new(BROWSER).exists() {
            debian_package("chromium")?;
        }
        npm(place, &PACKAGES)
    })
}

/// Runs the console's tests and keeps pictures of its pages.
pub(crate) fn screenshots() -> Result<(), String> {
    install()?;
    let images = root().join("docs/images");
    std::fs::create_dir_all(&images).map_err(|error| format!("cannot write in docs: {error}"))?;
    let images = images.to_str().ok_or("the path of the workspace is not UTF-8")?;
    let test = ["test", "--package", "tidegate", "--test", "console"];
    cargo(&test, &[("CI", "true"), ("TIDEGATE_SCREENSHOTS", images)])
}
