//! Every crate that is let in is let in for a reason, and the reason is written down.

use toml::de::{DeTable, DeValue};

use super::Complaint;
use super::files::File;

const DOCUMENT: &str = "docs/dependencies.md";
const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// `docs/dependencies.md` names every direct dependency of every crate, in the section of that crate.
pub(super) fn every_dependency_is_explained(files: &[File]) -> Vec<Complaint> {
    let explained = files
        .iter()
        .find(|file| file.path == DOCUMENT)
        .map(|file| sections(&file.text))
        .unwrap_or_default();
    let mut complaints = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml") && !file.path.starts_with("fuzz/"))
    {
        let Some((package, dependencies)) = direct_dependencies(&file.text) else {
            let message = "is no manifest of a package".into();
            complaints.push(Complaint {
                path: file.path.clone(),
                line: 1,
                message,
            });
            continue;
        };
        let known = explained
            .iter()
            .find(|(name, _)| *name == package || package.strip_prefix("tidegate-") == Some(name))
            .map(|(_, names)| names.as_slice());
        for dependency in dependencies
            .iter()
            .filter(|name| !known.unwrap_or_default().contains(name))
        {
            let message = format!("{dependency} is not explained in the section {package} of {DOCUMENT}");
            complaints.push(Complaint {
                path: file.path.clone(),
                line: 1,
                message,
            });
        }
    }
    complaints
}

/// The sections of the document, each with the crates it names: `## package`, then `- crate: why` or a row of a table.
fn sections(text: &str) -> Vec<(String, Vec<String>)> {
    let mut sections = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            sections.push((heading.trim().trim_matches('`').to_owned(), Vec::new()));
        } else if let (Some(item), Some((_, names))) = (
            line.strip_prefix("- ").or_else(|| line.strip_prefix("| ")),
            sections.last_mut(),
        ) {
            // Several crates may share a reason: `- a, b: why`.
            let listed = item.split([':', '|']).next().unwrap_or(item).split(',');
            names.extend(listed.map(|name| name.trim().trim_matches(['`', '*']).to_owned()));
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
        let document = "# Why\n## p\n- `a`, **b**: both\n| c | tests |\n## other\n- d: not here\n";
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
