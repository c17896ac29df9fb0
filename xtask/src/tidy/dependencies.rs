//! Every crate that is let in is let in for a reason, and the reason is written down.

use toml::de::{DeTable, DeValue};

use super::Complaint;
use super::files::File;

const DOCUMENT: &str = "docs/dependencies.md";
const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// The section for what every crate may use.
const SHARED: &str = "Everywhere";

/// `docs/dependencies.md` names every direct dependency of every crate, in the section of that crate or the shared one.
pub(super) fn every_dependency_is_explained(files: &[File]) -> Vec<Complaint> {
    let document = files.iter().find(|file| file.path == DOCUMENT);
    let explained = document.map(|file| sections(&file.text)).unwrap_or_default();
    let mut complaints = Vec::new();
    let manifests = files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml") && !file.path.starts_with("fuzz/"));
    for file in manifests {
        let mut complain = |message: String| {
            complaints.push(Complaint {
                path: file.path.clone(),
                line: 1,
                message,
            })
        };
        let Some((package, dependencies)) = direct_dependencies(&file.text) else {
            complain("is no manifest of a package".into());
            continue;
        };
        let about = |heading: &str| heading == SHARED || heading.split(':').next() == Some(package.as_str());
        let known: Vec<_> = explained
            .iter()
            .filter(|(heading, _)| about(heading))
            .flat_map(|(_, words)| words)
            .collect();
        for dependency in dependencies
            .iter()
            .filter(|name| !known.contains(&&name.as_str()))
        {
            complain(format!(
                "{dependency} is not explained in the section {package} of {DOCUMENT}"
            ));
        }
    }
    complaints
}

/// The sections of the document, `## package` or `## package: part`, each with every word of its list.
fn sections(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut sections = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            sections.push((heading.trim().trim_matches('`'), Vec::new()));
        } else if let (true, Some((_, words))) = (line.starts_with("- "), sections.last_mut()) {
            words.extend(line.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_'));
        }
    }
    sections
}

/// The package of a manifest and the crates from elsewhere that it depends on.
fn direct_dependencies(manifest: &str) -> Option<(String, Vec<String>)> {
    let document = DeTable::parse(manifest).ok()?;
    let root = document.get_ref();
    let package = root
        .get("package")?
        .get_ref()
        .get("name")?
        .get_ref()
        .as_str()?
        .to_owned();
    let mut names = Vec::new();
    collect(root, &mut names);
    let targets = root.get("target").and_then(|target| target.get_ref().as_table());
    for target in targets
        .into_iter()
        .flat_map(|table| table.values())
        .filter_map(|value| value.get_ref().as_table())
    {
        collect(target, &mut names);
    }
    names.sort_unstable();
    names.dedup();
    Some((package, names))
}

fn collect(table: &DeTable<'_>, names: &mut Vec<String>) {
    let tables = TABLES
        .iter()
        .filter_map(|key| table.get(*key)?.get_ref().as_table());
    for (name, value) in tables.flatten() {
        let is_ours = name.get_ref().starts_with("tidegate") || has_path(value.get_ref());
        if !is_ours {
            names.push(name.get_ref().to_string());
        }
    }
}

fn has_path(value: &DeValue<'_>) -> bool {
    value.as_table().is_some_and(|table| table.contains_key("path"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unexplained_dependencies_are_found() {
        let manifest = "[package]\nname = \"p\"\n[dependencies]\na.workspace = true\nb = \"1\"\ntidegate-core.workspace = true\n\
                        [dev-dependencies]\nc = { version = \"1\" }\n[target.'cfg(unix)'.dependencies]\nd = \"1\"\n";
        let document =
            "# Why\n## Everywhere\n- c: tests\n## p: part\n- `a` (`std`), b: both\n## other\n- d: not here\n";
        let file = |path: &str, text: &str| File {
            path: path.into(),
            text: text.into(),
        };
        let complaints =
            every_dependency_is_explained(&[file("crates/p/Cargo.toml", manifest), file(DOCUMENT, document)]);
        let messages: Vec<_> = complaints
            .iter()
            .map(|complaint| complaint.message.as_str())
            .collect();
        assert_eq!(
            messages,
            ["d is not explained in the section p of docs/dependencies.md"]
        );
    }
}
