//! Packages of others that tests speak with, below target/.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::steps::{root, say};

/// A directory of packages, and what is in it once it is filled.
pub(crate) struct Place {
    directory: PathBuf,
    needed_by: &'static str,
    wanted: String,
}

impl Place {
    /// A directory below target/, for tests that are skipped where it cannot be filled.
    pub(crate) fn below_target(name: &str, needed_by: &'static str, wanted: String) -> Self {
        Self {
            directory: root().join("target").join(name),
            needed_by,
            wanted,
        }
    }

    /// Fills it where it is not as wanted. That this fails is an error only where CI=true.
    pub(crate) fn fill(&self, fill: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
        let mark = self.directory.join("installed");
        if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == self.wanted) {
            return Ok(());
        }
        let written = |error| format!("cannot write in target: {error}");
        let filled = std::fs::create_dir_all(&self.directory)
            .map_err(written)
            .and_then(|()| fill(&self.directory))
            .and_then(|()| std::fs::write(&mark, &self.wanted).map_err(written));
        match filled {
            Err(why) if std::env::var("CI").as_deref() != Ok("true") => {
                say(&format!("==> {} will be skipped: {why}", self.needed_by));
                Ok(())
            }
            outcome => outcome,
        }
    }
}

/// Packages from npm.
pub(crate) fn npm(place: &Path, packages: &[&str]) -> Result<(), String> {
    let manifest = "{\"name\": \"tests\", \"private\": true}\n";
    std::fs::write(place.join("package.json"), manifest)
        .map_err(|error| format!("cannot write in target: {error}"))?;
    run(
        place,
        "npm",
        &[&["install", "--no-audit", "--no-fund"], packages].concat(),
    )
}

/// Packages from PyPI, in an environment of their own.
pub(crate) fn pip(place: &Path, packages: &[&str]) -> Result<(), String> {
    run(place, "python3", &["-m", "venv", "venv"])?;
    let pip = place.join("venv/bin/pip");
    let pip = pip.to_str().ok_or("the path of the workspace is not UTF-8")?;
    run(place, pip, &[&["install", "--quiet"], packages].concat())
}

/// Runs a program there.
pub(crate) fn run(place: &Path, program: &str, args: &[&str]) -> Result<(), String> {
    say(&format!("==> {program} {}", args.join(" ")));
    match Command::new(program).args(args).current_dir(place).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} failed ({status})")),
        Err(error) => Err(format!("cannot run {program}: {error}")),
    }
}
