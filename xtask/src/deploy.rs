//! Whether deploy/ can be read by those it is for: every file as YAML, every Kubernetes object against its
//! schema, the compose file by compose's own reader.
//!
//! The tools come from PyPI and from source by Go into target/deploy-lint; the schemas are in them, so nothing else is
//! fetched.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::steps::{root, say};

const TOOLS: [&str; 2] = ["kubernetes-validate==1.37.0", "yamllint==1.38.0"];

/// Compose's own reader of compose files.
const COMPOSE: &str = "github.com/compose-spec/compose-go/v2/cmd@v2.16.2";

/// The oldest version of Kubernetes that the manifests are meant for, and the newest that the schemas know.
const VERSIONS: [&str; 2] = ["1.30", "1.37"];

/// Checks the files. Without python and go that is an error only where CI=true.
pub(crate) fn lint() -> Result<(), String> {
    let place = root().join("target/deploy-lint");
    match install(&place) {
        Err(why) if std::env::var("CI").as_deref() != Ok("true") => {
            say(&format!("==> skipped: the linters of deploy/: {why}"));
            return Ok(());
        }
        installed => installed?,
    }
    let bin = place.join("bin");
    run(
        &bin.join("yamllint"),
        &["-s", "-c", "deploy/yamllint.yaml", "deploy"],
    )?;
    let manifests = manifests()?;
    let manifests: Vec<&str> = manifests.iter().map(String::as_str).collect();
    for version in VERSIONS {
        let args = [&["--strict", "--quiet", "-k", version][..], &manifests].concat();
        run(&bin.join("kubernetes-validate"), &args)?;
    }
    // Variables are left as they are: whoever deploys sets them.
    let compose = Command::new(bin.join("cmd"))
        .args(["-no-interpolation", "deploy/compose/compose.yaml"])
        .current_dir(root())
        .stdout(Stdio::null())
        .status();
    match compose {
        Ok(status) if status.success() => Ok(()),
        _ => Err("deploy/compose/compose.yaml is not for compose".into()),
    }
}

/// The files that hold objects of Kubernetes' own; kustomize's list of them is none.
fn manifests() -> Result<Vec<String>, String> {
    let directory = root().join("deploy/kubernetes");
    let entries = std::fs::read_dir(directory).map_err(|error| format!("deploy/kubernetes: {error}"))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut files: Vec<_> = names
        .filter(|name| name.ends_with(".yaml") && name != "kustomization.yaml")
        .map(|name| format!("deploy/kubernetes/{name}"))
        .collect();
    files.sort_unstable();
    Ok(files)
}

fn install(place: &Path) -> Result<(), String> {
    let mark = place.join("installed");
    let wanted = [&TOOLS[..], &[COMPOSE]].concat().join(" ");
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let shown = place.to_str().ok_or("the path of the workspace is not UTF-8")?;
    run(Path::new("python3"), &["-m", "venv", shown])?;
    run(
        &place.join("bin/pip"),
        &[&["install", "--quiet"][..], &TOOLS].concat(),
    )?;
    let built = Command::new("go")
        .args(["install", COMPOSE])
        .env("GOBIN", place.join("bin"))
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return Err(format!("go cannot install {COMPOSE}"));
    }
    std::fs::write(&mark, wanted).map_err(|error| format!("cannot write in target: {error}"))
}

fn run(program: &Path, args: &[&str]) -> Result<(), String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    say(&format!("==> {name} {}", args.join(" ")));
    match Command::new(program).args(args).current_dir(root()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} failed ({status})")),
        Err(error) => Err(format!("cannot run {name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_deployed_is_what_was_tested() {
        let image = format!("openfga/openfga:{}", xtask::services::OPENFGA_VERSION);
        for file in ["deploy/compose/compose.yaml", "deploy/kubernetes/openfga.yaml"] {
            let text = std::fs::read_to_string(root().join(file)).unwrap();
            assert_eq!(text.matches("openfga/openfga:").count(), 2, "{file}");
            assert_eq!(text.matches(&image).count(), 2, "{file}");
        }
    }

    #[test]
    fn every_manifest_is_in_the_list_that_kustomize_reads() {
        let list = std::fs::read_to_string(root().join("deploy/kubernetes/kustomization.yaml")).unwrap();
        let manifests = manifests().unwrap();
        assert!(manifests.len() > 3, "{manifests:?}");
        for file in manifests {
            let name = file.rsplit('/').next().unwrap();
            assert!(list.contains(&format!("  - {name}\n")), "{name}");
        }
    }
}
