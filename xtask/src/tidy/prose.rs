//! Rules about what is said, in code and beside it.

use super::Complaint;
use super::files::File;

/// The commands that set up a fresh machine, in the order of the README.
const SET_UP: [&str; 2] = ["cargo run --release -- demo", "cargo xtask test"];

/// Nothing points at a directory of the machine it was written on.
pub(super) fn no_path_of_one_machine(files: &[File]) -> Vec<Complaint> {
    // Written in halves so that this file does not complain about itself.
    let places = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/User", "s/"),
    ];
    find(files.iter(), &places, |before| {
        !before.is_some_and(|c| c.is_alphanumeric() || ".}_-*".contains(c))
    })
}

/// Where packages come from is each builder's own affair. Lock files and detection rules name hosts by nature.
pub(super) fn no_registry_by_name(files: &[File]) -> Vec<Complaint> {
    let hosts = [
        concat!("crates", ".io"),
        concat!("npm", "js."),
        concat!("pypi", ".org"),
        concat!("python", "hosted"),
    ];
    let settings = |file: &&File| {
        let kind = matches!(file.extension(), "toml" | "md" | "sh" | "yml" | "yaml")
            || file.path.ends_with(".ci/run");
        kind && !file.path.starts_with("crates/detect/")
    };
    find(files.iter().filter(settings), &hosts, |_| true)
}

/// The README's first block of commands is all that a newcomer types.
pub(super) fn two_commands_set_up(files: &[File]) -> Vec<Complaint> {
    let complain = |message: &str| {
        vec![Complaint {
            path: "README.md".into(),
            line: 1,
            message: message.into(),
        }]
    };
    let Some(readme) = files.iter().find(|file| file.path == "README.md") else {
        return complain("is missing");
    };
    let block = readme
        .text
        .split("```sh\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let commands: Vec<_> = block
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if commands == SET_UP {
        Vec::new()
    } else {
        complain("must begin with the two commands that set up, alone")
    }
}

fn find<'a>(
    files: impl Iterator<Item = &'a File>,
    words: &[&str],
    may_start_after: impl Fn(Option<char>) -> bool,
) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in files {
        for (line, text) in file.lines() {
            for word in words {
                let found = text.match_indices(word).any(|(start, _)| {
                    may_start_after(text.get(..start).and_then(|before| before.chars().next_back()))
                });
                if found {
                    let message = format!("says {word}");
                    complaints.push(Complaint {
                        path: file.path.clone(),
                        line,
                        message,
                    });
                }
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(rule: fn(&[File]) -> Vec<Complaint>, path: &str, text: &str) -> usize {
        rule(&[File {
            path: path.into(),
            text: text.into(),
        }])
        .len()
    }

    #[test]
    fn machine_paths() {
        let place = concat!("/wo", "rk/x");
        assert_eq!(
            count(no_path_of_one_machine, "a.rs", &format!("open(\"{place}\")")),
            1
        );
        assert_eq!(
            count(no_path_of_one_machine, "a.rs", &format!("open(\"some{place}\")")),
            0
        );
    }

    #[test]
    fn registries() {
        let host = concat!("crates", ".io");
        assert_eq!(count(no_registry_by_name, "docs/a.md", host), 1);
        assert_eq!(count(no_registry_by_name, "Cargo.lock", host), 0);
    }

    #[test]
    fn set_up() {
        let readme = |block: &str| {
            count(
                two_commands_set_up,
                "README.md",
                &format!("# X\n```sh\n{block}\n```\n"),
            )
        };
        assert_eq!(readme("cargo run --release -- demo\ncargo xtask test"), 0);
        assert_eq!(readme("cargo run --release -- demo\ncargo xtask test\nmake"), 1);
        assert_eq!(count(two_commands_set_up, "other.md", ""), 1);
    }
}
