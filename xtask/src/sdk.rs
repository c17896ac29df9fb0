//! The SDKs, installed as their users install them and tested with the frameworks they are for.
//!
//! The packages of others are in target/sdk-test: a Python environment, and a copy of the TypeScript package with its development
//! packages and the examples, since a module finds packages from where it lies.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::packages::{Place, pip, run};
use crate::steps::{cargo, root, say};

const PLACE: &str = "sdk-test";
const PINS: &str = "sdk/python/tests/requirements.txt";
const LOCK: &str = "sdk/typescript/package-lock.json";

/// Installs what the tests need where it is missing. Without node or python that is an error only where CI=true.
pub(crate) fn install() -> Result<(), String> {
    let wanted = [read(PINS)?, read(LOCK)?].concat();
    Place::below_target(PLACE, "the tests of the SDKs", wanted).fill(|place| {
        pip(place, &["--requirement", text(&root().join(PINS))?])?;
        copy(&root().join("sdk/typescript"), &place.join("typescript"))?;
        run(
            &place.join("typescript"),
            "npm",
            &["ci", "--no-audit", "--no-fund"],
        )
    })
}

/// Builds the gateway and runs the tests of both SDKs with it.
pub(crate) fn run_alone() -> Result<(), String> {
    install()?;
    cargo(&["build", "--package", "tidegate"], &[])?;
    test()
}

/// The tests of both SDKs, with the gateway that the tests before left in target/debug.
pub(crate) fn test() -> Result<(), String> {
    let place = root().join("target").join(PLACE);
    if !place.join("installed").exists() {
        say("==> the tests of the SDKs are skipped: what they need is not installed");
        return Ok(());
    }
    let gateway = root().join("target/debug/tidegate");
    install_python(&place, &[("MATURIN_PEP517_ARGS", "--profile dev")])?;
    let tests = root().join("sdk/python/tests");
    check(
        python(&place)
            .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
            .current_dir(tests)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TIDEGATE_BIN", &gateway),
    )?;
    let typescript = place.join("typescript");
    copy(&root().join("sdk/typescript"), &typescript)?;
    copy(&root().join("examples/agents"), &typescript.join("examples"))?;
    check(
        Command::new("node")
            .args(["--test", "test/"])
            .current_dir(typescript)
            .env("TIDEGATE_ROOT", root())
            .env("TIDEGATE_BIN", &gateway),
    )
}

/// What the decorator costs: the package as it is released, in an environment of its own.
pub(crate) fn bench() -> Result<(), String> {
    let place = root().join("target/sdk-bench");
    std::fs::create_dir_all(&place).map_err(|error| format!("cannot write in target: {error}"))?;
    pip(&place, &["httpx==0.28.1"])?;
    install_python(&place, &[])?;
    check(python(&place).arg(root().join("sdk/python/bench/decorator.py")))
}

/// Writes the TypeScript package anew from the gateway's own description, and builds it.
pub(crate) fn write_types() -> Result<(), String> {
    install()?;
    cargo(&["build", "--package", "tidegate"], &[])?;
    let package = root().join("sdk/typescript");
    let copied = root().join("target").join(PLACE).join("typescript");
    copy(&package, &copied)?;
    check(
        Command::new("node")
            .arg("tools/write.mjs")
            .current_dir(&copied)
            .env("TIDEGATE_BIN", root().join("target/debug/tidegate")),
    )?;
    copy(&copied.join("src/generated"), &package.join("src/generated"))?;
    copy(&copied.join("dist"), &package.join("dist"))
}

fn install_python(place: &Path, env: &[(&str, &str)]) -> Result<(), String> {
    let package = root().join("sdk/python");
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--force-reinstall",
    ];
    check(python(place).args(pip).arg(package).envs(env.iter().copied()))
}

fn python(place: &Path) -> Command {
    Command::new(place.join("venv/bin/python"))
}

fn check(command: &mut Command) -> Result<(), String> {
    let shown: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect();
    let shown = shown.join(" ");
    say(&format!("==> {shown}"));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("==> failed: {shown} ({status})")),
        Err(error) => Err(format!("==> cannot run {shown}: {error}")),
    }
}

/// Copies a directory, except for packages that were installed into it. What is there already is replaced.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{} cannot be copied: {error}", from.display());
    std::fs::create_dir_all(to).map_err(failed)?;
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().map_err(failed)?.is_dir() {
            if entry.file_name() != "node_modules" {
                copy(&path, &copied)?;
            }
        } else {
            std::fs::copy(&path, copied).map_err(failed)?;
        }
    }
    Ok(())
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str()
        .ok_or_else(|| "the path of the workspace is not UTF-8".to_owned())
}
