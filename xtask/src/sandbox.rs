//! What the tests of the sandbox need of Debian: bubblewrap, networks to make, and Podman with something to put in an image.

use xtask::services::debian_package;

use crate::steps::say;

/// Each program, and the package that has it.
const PROGRAMS: [(&str, &str); 6] = [
    ("bwrap", "bubblewrap"),
    ("ip", "iproute2"),
    ("runc", "runc"),
    ("busybox", "busybox-static"),
    ("netavark", "netavark"),
    ("podman", "podman"),
];

/// Where programs are that are in nobody's search path.
const ELSEWHERE: [&str; 2] = ["/usr/lib/podman", "/usr/sbin"];

/// Installs them where they are missing. That this fails is an error only where CI=true.
pub(crate) fn install() -> Result<(), String> {
    for (program, package) in PROGRAMS {
        if is_there(program) {
            continue;
        }
        say(&format!("==> installing {package}"));
        match debian_package(package) {
            Err(why) if std::env::var("CI").as_deref() != Ok("true") => {
                say(&format!(
                    "==> the tests that need {program} will be skipped: {why}"
                ));
            }
            installed => installed?,
        }
    }
    Ok(())
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let elsewhere = ELSEWHERE.iter().map(Into::into);
    std::env::split_paths(&path)
        .chain(elsewhere)
        .any(|place| place.join(program).is_file())
}
