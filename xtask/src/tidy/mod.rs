//! The parts of the house style that a program can check, so that no reviewer has to.
//!
//! Each rule is a function from the files of the project to a list of complaints. `cargo xtask tidy` prints them; a test
//! of the same name fails on them, so `cargo xtask test` covers them too.

mod dependencies;
mod files;
mod names;
mod prose;
mod source;

use std::fmt;

use crate::steps::{root, say};
use files::File;

/// Something that is not as the house wants it.
#[derive(Debug, PartialEq, Eq)]
struct Complaint {
    path: String,
    line: usize,
    message: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

type Rule = fn(&[File]) -> Vec<Complaint>;

const RULES: [(&str, Rule); 8] = [
    ("files stay small", source::files_stay_small),
    ("nothing is left for later", source::nothing_is_left_for_later),
    (
        "every exception has a reason",
        source::every_exception_has_a_reason,
    ),
    ("names come from the domain", names::names_come_from_the_domain),
    ("no path of one machine", prose::no_path_of_one_machine),
    ("no registry by name", prose::no_registry_by_name),
    ("two commands set up", prose::two_commands_set_up),
    (
        "every dependency is explained",
        dependencies::every_dependency_is_explained,
    ),
];

/// Checks every rule and says what is wrong.
pub(crate) fn run() -> Result<(), String> {
    let files = files::read_all(&root()).map_err(|error| format!("the project cannot be read: {error}"))?;
    let mut found = 0;
    for (name, rule) in RULES {
        let complaints = rule(&files);
        say(&format!(
            "{name}: {}",
            if complaints.is_empty() { "yes" } else { "no" }
        ));
        for complaint in &complaints {
            say(&format!("  {complaint}"));
        }
        found += complaints.len();
    }
    if found == 0 {
        Ok(())
    } else {
        Err(format!("{found} things to tidy up"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_tidy() {
        let files = files::read_all(&root()).unwrap();
        assert!(files.len() > 20, "only {} files were found", files.len());
        let complaints: Vec<_> = RULES
            .iter()
            .flat_map(|(_, rule)| rule(&files))
            .map(|c| c.to_string())
            .collect();
        assert!(complaints.is_empty(), "{complaints:#?}");
    }
}
